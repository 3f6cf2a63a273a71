"""A build that does not end is ended, with its last words, and leaves no container."""

from __future__ import annotations

import socket
import subprocess
import sys
import uuid

import pytest
from background import eventually

from smolagents_fork.errors import ImageBuildError
from smolagents_fork.executors.docker import DockerExecutor

pytestmark = pytest.mark.images

# Deadlines to try one after the other: a busy engine may not have begun before the first.
LONGER = (4, 15, 60)


def test_build_past_its_deadline(image, engine):
    mark = uuid.uuid4().hex
    content = f"FROM {image}\nRUN echo about to sleep && sleep 300 && echo {mark}\n"
    for seconds in LONGER:
        with pytest.raises(ImageBuildError) as caught:
            DockerExecutor.setup(
                dockerfile_content=content,
                build_timeout_seconds=seconds,
                progress=lambda _line: None,
            )
        assert f"was not built in build_timeout_seconds={seconds}" in str(caught.value)
        if "about to sleep" in str(caught.value):
            break
    assert "about to sleep" in str(caught.value)
    assert eventually(
        lambda: not any(mark in str(s["Command"]) for s in engine.api.containers(all=True))
    )


def test_step_without_output_for_long_does_not_fail(image, monkeypatch):
    # docker-py gives up after a minute without output; a step may take longer.
    from smolagents_fork.sandboxes.docker import engine

    monkeypatch.setattr(engine.connect, "__defaults__", (None, 3))
    content = f"FROM {image}\nRUN sleep 5 # {uuid.uuid4().hex}\n"
    assert DockerExecutor.setup(dockerfile_content=content, progress=lambda _line: None)


def test_waiting_for_another_builder_has_the_same_deadline(image):
    content = f"FROM {image}\nRUN sleep 120 # {uuid.uuid4().hex}\n"
    code = (
        "from smolagents_fork.executors.docker import DockerExecutor\n"
        "DockerExecutor.setup(dockerfile_content={!r}, build_timeout_seconds={}, "
        "progress=lambda line: print(line, flush=True))"
    )
    first = subprocess.Popen(
        [sys.executable, "-c", code.format(content, 60)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert first.stdout.readline().startswith("==> building ")
        with pytest.raises(ImageBuildError, match="built by another process") as caught:
            DockerExecutor.setup(
                dockerfile_content=content, build_timeout_seconds=1, progress=lambda _line: None
            )
        assert "build_timeout_seconds=1" in str(caught.value)
    finally:
        first.kill()
        first.wait(120)
        first.stdout.close()


def test_pull_from_a_registry_that_says_nothing_has_the_same_deadline(base_image):
    lines: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as registry:
        name = f"127.0.0.1:{registry.getsockname()[1]}/sleeping:image"
        with pytest.raises(ImageBuildError) as caught:
            DockerExecutor.setup(image=name, build_timeout_seconds=2, progress=lines.append)
    assert f"image {name} was not pulled in build_timeout_seconds=2" in str(caught.value)
    assert lines == [f"==> pulling {name}"]
