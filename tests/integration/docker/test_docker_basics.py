"""Code goes in, output comes out, state stays."""

from __future__ import annotations

import contextlib
import io
import os

import docker
import pytest
from smolagents.local_python_executor import PythonExecutor
from smolagents.utils import AgentError

from smolagents_fork.errors import ExecutorStartError
from smolagents_fork.executors.docker import DockerExecutor


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("quit(1)", "1"),
        ("exit()", None),
        ("import asyncio\nawait asyncio.sleep(0)\nraise SystemExit", None),
    ],
)
def test_leaving_ends_the_step_and_the_kernel_stays(shared, code, status):
    shared("kept = 'yes'")
    if status is None:
        assert (shared(code).output, shared(code).logs) == (None, "")
    else:
        with pytest.raises(AgentError, match=rf"SystemExit: {status} \(exit status {status}\)"):
            shared(code)
    assert shared("kept").output == "yes"


@pytest.fixture
def name(engine):
    """A name for an image that nobody else uses, who may run the same test on the same engine."""
    chosen = f"localhost:5000/smolagents-fork/test-name-{os.getpid()}:v1"
    yield chosen
    with contextlib.suppress(docker.errors.ImageNotFound):
        engine.api.remove_image(chosen, force=True, noprune=True)


def test_upstreams_contract_and_keywords(name, make, image, engine):
    assert issubclass(DockerExecutor, PythonExecutor)
    assert DockerExecutor.supports_managed_agents
    executor = make(
        additional_imports=[],
        logger=None,
        allow_pickle=False,
        host="127.0.0.1",
        port=None,
        image_name=name,
        build_new_image=True,
        container_run_kwargs={"environment": ["SEEN=yes"], "labels": {"mine": "1"}},
        dockerfile_content=None,
    )
    assert executor("import os; os.environ['SEEN']").output == "yes"
    executor.container.reload()
    assert executor.container.labels["mine"] == "1"
    named = engine.api.inspect_image(name)
    assert named["Id"] == engine.api.inspect_image(image)["Id"]
    assert executor.is_alive()
    executor.delete()


def test_stats(shared):
    before = shared.stats()
    shared("sum(i * i for i in range(2_000_000))")
    after = shared.stats()
    assert 10_000_000 < after.memory_bytes < 2 << 30
    assert after.memory_limit_bytes == 2 << 30
    assert after.cpu_seconds > before.cpu_seconds
    assert after.pids >= 3


def test_image_without_a_command_says_what_it_has_to_start(engine):
    tag = "smolagents-fork-test-no-command"
    engine.images.build(fileobj=io.BytesIO(b"FROM scratch\nLABEL a=1\n"), tag=tag, rm=True)
    try:
        message = f"image '{tag}' has no command .*Jupyter kernel gateway on port 8888"
        with pytest.raises(ExecutorStartError, match=message):
            DockerExecutor(image=tag)
    finally:
        engine.images.remove(tag)


def test_code_in_any_letters_and_what_is_no_code(shared):
    assert shared("größe = '漢字 😀'\r\ngröße * 2").output == "漢字 😀" * 2
    with pytest.raises(AgentError, match="null bytes"):
        shared("1\0 + 1")
    assert shared("1 + 1").output == 2
