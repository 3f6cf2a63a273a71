"""Transfers that are repeated: what a lost attempt left, or still does, changes nothing."""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from smolagents_fork.errors import ExecutorError
from smolagents_fork.folders.work_folder import WorkFolder
from smolagents_fork.sandboxes.containers import container_files
from smolagents_fork.sandboxes.containers.stream_errors import StreamLost

# Only detects hangs.
SECONDS = 60.0
Write = Callable[..., None]


def run(
    argv: list[str], *, stdin: Iterable[bytes] = (), timeout: float, max_bytes: int
) -> tuple[int, bytes, bytes]:
    """Run a program on this machine; a lost stream leaves it waiting for more."""
    del max_bytes
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        for piece in stdin:
            process.stdin.write(piece)
            process.stdin.flush()
        output, errors = process.communicate(timeout=timeout)
        return process.returncode, output, errors


@pytest.fixture(params=["program", "folder"])
def write(request: pytest.FixtureRequest, tmp_path: Path) -> Write:
    if request.param == "folder":
        return WorkFolder(str(tmp_path)).write_file
    return functools.partial(container_files.write_file, run)


def test_lost_attempt_leaves_no_part_and_replaces_nothing(write: Write, tmp_path: Path):
    path, begun, go_on = tmp_path / "file", threading.Event(), threading.Event()
    errors: list[Exception] = []

    def slow() -> Iterator[bytes]:
        yield b"older"
        begun.set()
        assert go_on.wait(SECONDS)
        yield b"older"

    def attempt() -> None:
        try:
            write(str(path), slow(), 10, [".first.part"])
        except ExecutorError as error:
            errors.append(error)

    lost = threading.Thread(target=attempt)
    lost.start()
    assert begun.wait(SECONDS)
    while not (tmp_path / ".first.part").exists():
        begun.wait(0.01)
    write(str(path), iter([b"newer"]), 5, [".second.part", ".first.part"])
    assert os.listdir(tmp_path) == ["file"]
    go_on.set()
    lost.join()
    assert len(errors) == 1
    assert os.listdir(tmp_path) == ["file"]
    assert path.read_bytes() == b"newer"


def test_part_that_a_lost_attempt_makes_late_is_removed(write: Write, tmp_path: Path):
    late = tmp_path / ".first.part"

    def pieces() -> Iterator[bytes]:
        yield b"new"
        while not (tmp_path / ".second.part").exists():
            threading.Event().wait(0.01)
        late.write_bytes(b"old")
        yield b"er"

    write(str(tmp_path / "file"), pieces(), 5, [".second.part", late.name])
    assert os.listdir(tmp_path) == ["file"]


def test_each_attempt_names_its_part_and_those_of_the_lost_ones(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(container_files, "_PAUSE_SECONDS", 0.0)
    attempts: list[list[str]] = []

    def attempt(parts: list[str]) -> str:
        attempts.append(list(parts))
        if len(attempts) < 3:
            raise StreamLost("reset")
        return "written"

    assert container_files.repeat_write([b""], attempt) == "written"
    first, second, third = attempts
    assert third[1:] == second
    assert second[1:] == first
    assert len(set(third)) == 3
    attempts.clear()
    with contextlib.suppress(StreamLost):
        container_files.repeat_write(iter([b""]), attempt)
    assert len(attempts) == 1
