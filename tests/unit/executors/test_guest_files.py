"""Files of a guest, piece by piece, over the requests that its worker answers."""

from __future__ import annotations

import os
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import pytest

from smolagents_fork.errors import ExecutorError
from smolagents_fork.executors.session.guest_files import GuestFiles
from smolagents_fork.guest import worker_files


class Worker:
    """A worker in this process, whose refusals are those of a guest."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.before = lambda: None

    def ask(self, body: bytes) -> bytes:
        self.before()
        try:
            return worker_files.answer(body, str(self.root))
        except OSError as error:
            raise ExecutorError(str(error)) from None


@pytest.fixture
def worker(tmp_path: Path) -> Worker:
    return Worker(tmp_path)


@pytest.fixture
def files(worker: Worker) -> GuestFiles:
    return GuestFiles(worker.ask, memory=None)


def test_files_are_listed_by_the_absolute_path_too(files: GuestFiles, tmp_path: Path):
    for data in (b"longer", b"four"):
        files.write_file("top/a/new folder/\u00e4", [data], len(data))
    for path in ("top", f"{tmp_path}/top"):
        found = [(one.path, one.size) for one in files.list_files(path)]
        assert found == [("top/a/new folder/\u00e4", 4)]


def test_folder_is_not_made_over_a_file(files: GuestFiles):
    for _ in range(2):
        files.make_folder("top/in a/-folder")
    files.write_file("top/small", [b"x"], 1)
    with pytest.raises(ExecutorError, match="exists"):
        files.make_folder("top/small")


def test_failed_write_leaves_the_older_file_and_nothing_else(files: GuestFiles, tmp_path: Path):
    files.write_file("file", [b"older"], 5)

    def broken() -> Iterator[bytes]:
        yield b"x" * 10
        raise ExecutorError("the source broke")

    with pytest.raises(ExecutorError, match="the source broke"):
        files.write_file("file", broken(), 20)
    assert os.listdir(tmp_path) == ["file"]
    assert files.read_file("file", 10) == b"older"


def test_file_is_written_where_a_link_leads(files: GuestFiles, tmp_path: Path):
    (tmp_path / "link").symlink_to("target")
    files.write_file("link", [b"new"], 3)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_file_that_is_replaced_while_it_is_read_is_an_error(
    files: GuestFiles, worker: Worker, tmp_path: Path
):
    path = tmp_path / "file"
    path.write_bytes(bytes(3 << 20))

    def replace() -> None:
        (tmp_path / "newer").write_bytes(b"x" * (3 << 20))
        os.replace(tmp_path / "newer", path)

    worker.before = replace
    with pytest.raises(ExecutorError, match="another file has replaced it while it was read"):
        files.read_file("file", 1 << 30)


def test_file_without_room_is_an_error(
    files: GuestFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    room = namedtuple("room", "f_bavail f_frsize")
    monkeypatch.setattr(os, "statvfs", lambda _folder: room(1, 4))
    (tmp_path / "file").write_bytes(b"older")
    with pytest.raises(ExecutorError, match=r"No space left: 4 bytes are free.*older file stays"):
        files.write_file("file", [b"newer"], 5)
    assert os.listdir(tmp_path) == ["file"]
