"""Transfers that are repeated: what a lost attempt left, or still does, changes nothing."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from smolagents_fork.errors import ExecutorError
from smolagents_fork.folders.work_folder import WorkFolder

# Only detects hangs.
SECONDS = 60.0
Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    return WorkFolder(str(tmp_path)).write_file


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
