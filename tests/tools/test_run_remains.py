"""What a run of the tests leaves: found by the run's name, and nobody else's is touched."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import docker
import pytest
from background import eventually

from smolagents_fork.sandboxes.docker.lifetime.labels import LABEL
from smolagents_fork.sandboxes.process_owner import this_machine
from smolagents_fork.system.proc_table import start_ticks
from tools.git import Git
from tools.run_all.run_remains import RUN_VARIABLE, RunWatch, processes_of

WAIT = "import sys; sys.stdin.read()"


@contextmanager
def process_of(run: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process with the name of a run in its environment."""
    environment = {**os.environ, RUN_VARIABLE: run}
    command = [sys.executable, "-c", WAIT]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def image_of(
    engine: Any, process: subprocess.Popen[bytes], name: str | None = None, *, rm: bool = True
) -> str:
    """Make an image that a process owns by its label, and return its id.

    Args:
        rm: whether the builder removes the containers of its steps.
    """
    owner = f"{this_machine()}:{process.pid}:{start_ticks(process.pid)}"
    text = f"FROM scratch\nLABEL {LABEL}={owner} unique={uuid.uuid4().hex}\nCMD true\n"
    image, _ = engine.images.build(fileobj=io.BytesIO(text.encode()), tag=name, rm=rm)
    return str(image.id)


def test_process_that_is_left_is_named(tmp_path: Path) -> None:
    watch = RunWatch(tmp_path / "images.json", grace_seconds=0)
    with process_of(watch.run) as left, process_of("another run"):
        assert eventually(lambda: left.pid in processes_of(watch.run))
        with watch:
            pass
        assert [line.partition(":")[0] for line in watch.left] == [f"process {left.pid}"]
    assert eventually(lambda: processes_of(watch.run) == {})


def test_new_file_of_the_checkout_is_named_unless_git_ignores_it(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    Git(root).init("main")
    (root / ".gitignore").write_text("reports/\n")
    watch = RunWatch(tmp_path / "images.json", grace_seconds=0, root=root)
    with watch:
        for name in ("audit.jsonl", "reports/tests.xml"):
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).touch()
    assert watch.left == ["file audit.jsonl"]


@pytest.mark.docker
def test_images_of_the_run_are_removed_and_its_cache_is_kept_for_the_next(
    engine: Any, tmp_path: Path
) -> None:
    mark = uuid.uuid4().hex
    cached, custom = f"smolagents-fork-jupyter:{mark[:20]}", f"smolagents-fork-test:{mark}"
    other = f"smolagents-fork-jupyter:{mark[12:]}"
    file = tmp_path / "images.json"

    def there(image: str) -> bool:
        with suppress(docker.errors.ImageNotFound):
            return bool(engine.api.inspect_image(image))
        return False

    first = RunWatch(file, grace_seconds=0)
    with process_of(first.run) as process, process_of("another run") as neighbour:
        with first:
            kept = image_of(engine, process, cached)
            removed = image_of(engine, process, custom)
            nameless = image_of(engine, process)
            others = image_of(engine, neighbour, other)
            # It has its image's labels, and is of no run: its own labels do not name it.
            inheriting = engine.containers.create(kept)
            assert eventually(lambda: {kept, removed, nameless} <= first._built)
        try:
            inheriting.remove()
            stays = [there(image) for image in (kept, removed, nameless, others)]
            assert stays == [True, False, False, True]
            assert [line.partition(" ")[0] for line in first.left] == ["process"]
            assert json.loads(file.read_text()) == [kept]
            with RunWatch(file, grace_seconds=0):
                pass
            assert not there(kept)
        finally:
            engine.images.remove(others, force=True)


@pytest.mark.docker
def test_containers_that_the_builder_leaves_are_named(engine: Any, tmp_path: Path) -> None:
    def steps_of(image: str) -> list[str]:
        listed = engine.api.history(image)
        return [engine.api.inspect_image(one["Id"])["Container"] for one in listed]

    watch = RunWatch(tmp_path / "images.json", grace_seconds=0)
    with process_of(watch.run) as process, process_of("another run") as neighbour:
        with watch:
            steps = steps_of(own := image_of(engine, process, rm=False))
            others = steps_of(neighbours := image_of(engine, neighbour, rm=False))
            parent = engine.api.inspect_image(own)["Parent"]
            assert eventually(lambda: own in watch._built)
        names = {one: engine.api.inspect_container(one)["Name"] for one in steps}
        for container in (*steps, *others):
            engine.api.remove_container(container)
        # The first step's image stays while the container of the second is there.
        for image in (parent, neighbours):
            engine.images.remove(image)
    named = {line for line in watch.left if line.startswith("container ")}
    assert len(steps) == 2
    assert named == {f"container {name}" for name in names.values()}
