"""The host's access to a folder in which hostile code works."""

from __future__ import annotations

import itertools
import os
import threading
import time
from pathlib import Path

import pytest
from background import eventually
from test_removal import nested

from smolagents_fork.errors import ExecutorError, FileTooLargeError
from smolagents_fork.folders import work_folder
from smolagents_fork.folders.work_folder import WorkFolder


@pytest.fixture
def top(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    (tmp_path / "secret").write_text("of the host")
    return made


def listed(folder: WorkFolder, path: str = ".") -> list[tuple[str, int]]:
    return [(one.path, one.size) for one in folder.list_files(path)]


def test_link_is_replaced_and_its_target_is_not(top: Path) -> None:
    (top / "link").symlink_to(top.parent / "secret")
    (top / "folder").symlink_to(top.parent)
    folder = WorkFolder(str(top))
    folder.write_file("link", [b"new"], 3)
    with pytest.raises(ExecutorError, match="is a link or not a folder"):
        folder.write_file("folder/secret", [b"new"], 3)
    assert (top.parent / "secret").read_text() == "of the host"
    assert (top / "link").read_text() == "new"
    assert not (top / "link").is_symlink()


@pytest.mark.parametrize("path", ["../secret", "..", "/etc/passwd"])
def test_paths_outside_are_refused(top: Path, path: str) -> None:
    folder = WorkFolder(str(top))
    for use in (
        lambda: folder.read_file(path, 100),
        lambda: folder.write_file(path, [b""], 0),
        lambda: folder.list_files(path),
    ):
        with pytest.raises(ExecutorError, match="outside the code's work folder"):
            use()


def test_folder_that_is_replaced_by_a_link_meanwhile_gives_nothing_of_the_host(top: Path) -> None:
    (top / "mine").mkdir()
    (top / "mine" / "secret").write_text("of the code")
    (top / "other").symlink_to(top.parent)
    ended = threading.Event()

    def swap() -> None:
        for round_ in itertools.count():
            for a, b in (("mine", "kept"), ("other", "mine"), ("mine", "other"), ("kept", "mine")):
                os.rename(top / a, top / b)
            if ended.is_set():
                return
            # On a busy machine the reader would come only while a rename waits.
            time.sleep(0 if round_ % 20 else 0.001)

    def read() -> bytes:
        try:
            return folder.read_file("mine/secret", 100)
        except ExecutorError:
            return b"refused"

    thread = threading.Thread(target=swap)
    thread.start()
    folder = WorkFolder(str(top))
    try:
        found = {read() for _ in range(2_000)}
        assert eventually(lambda: read() == b"of the code")
    finally:
        ended.set()
        thread.join()
    assert b"of the host" not in found


def test_pipes_and_large_files_are_refused_at_once(top: Path) -> None:
    os.mkfifo(top / "pipe")
    with (top / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    folder = WorkFolder(str(top))
    with pytest.raises(ExecutorError, match="not a regular file"):
        folder.read_file("pipe", 100)
    with pytest.raises(FileTooLargeError, match="more than 100 bytes"):
        folder.read_file("sparse", 100)
    assert listed(folder) == [("sparse", 1 << 40)]


def test_failed_write_leaves_the_old_file_and_no_part(top: Path) -> None:
    (top / "file").write_text("old")

    def pieces():
        yield b"new"
        raise ExecutorError("the source has gone")

    folder = WorkFolder(str(top))
    with pytest.raises(ExecutorError, match="the source has gone"):
        folder.write_file("file", pieces(), 10)
    with pytest.raises(ExecutorError, match="7 bytes are missing"):
        folder.write_file("file", [b"new"], 10)
    assert [one.name for one in top.iterdir()] == ["file"]
    assert (top / "file").read_text() == "old"


def test_list_is_bounded(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_folder, "MOST_LISTED", 5)
    for number in range(5):
        (top / str(number)).touch()
    folder = WorkFolder(str(top))
    assert len(folder.list_files(".")) == 5
    (top / ".hidden").touch()
    with pytest.raises(ExecutorError, match="more than 5 files"):
        folder.list_files(".")


def test_deep_folders_are_refused(top: Path) -> None:
    nested(top / "deep", 200)
    with pytest.raises(ExecutorError, match="100 levels of folders"):
        WorkFolder(str(top)).list_files(".")
