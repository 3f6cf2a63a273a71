"""Removal of folders that untrusted code leaves behind."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest
from background import PATIENCE_SECONDS, eventually, run_python

from smolagents_fork.folders import removal
from smolagents_fork.folders.removal import REMOVING, discard_tree, remove_tree


def nested(top: Path, levels: int) -> None:
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d" * 60, dir_fd=here)
        below = os.open("d" * 60, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def test_a_folder_nested_deeper_than_recursion_and_paths_go_is_removed(tmp_path: Path) -> None:
    nested(tmp_path / "top", 3000)
    assert remove_tree(str(tmp_path / "top"), 60)
    assert not (tmp_path / "top").exists()


def test_a_large_folder_is_away_at_once_and_removed_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "_AT_ONCE_SECONDS", 0.0)
    nested(tmp_path / "top", 3000)
    discard_tree(str(tmp_path / "top"))
    (left,) = os.listdir(tmp_path)
    assert left.startswith(REMOVING)
    assert eventually(lambda: os.listdir(tmp_path) == [])
    discard_tree(str(tmp_path / "top"))
    assert os.listdir(tmp_path) == []


def test_a_small_folder_is_removed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "_AT_ONCE_SECONDS", PATIENCE_SECONDS)
    (tmp_path / "top" / "a").mkdir(parents=True)
    discard_tree(str(tmp_path / "top"))
    assert os.listdir(tmp_path) == []


def test_process_that_ends_removes_what_it_can(tmp_path: Path) -> None:
    nested(tmp_path / "top", 300)
    code = (
        "import atexit, sys\n"
        "from smolagents_fork.folders import removal\n"
        "removal._AT_ONCE_SECONDS = 0\n"
        "atexit.register(removal.discard_tree, sys.argv[1])\n"
    )
    run_python(code, str(tmp_path / "top"))
    assert os.listdir(tmp_path) == []


def test_any_names_and_many_folders_of_one_are_removed(tmp_path: Path) -> None:
    top = tmp_path / "top"
    for number in range(300):
        (top / f"{number}" / "inner").mkdir(parents=True)
    for name in (b"\xff\xfe", b"new\nline", b"\x1b[2J", b"a" * 255, b"-rf", b" "):
        os.mkdir(os.path.join(os.fsencode(top), name))
        Path(os.fsdecode(os.path.join(os.fsencode(top), name, b"\xff"))).touch()
    os.mkfifo(top / "pipe")
    (top / "dangling").symlink_to("nowhere")
    (top / "loop").symlink_to(".")
    assert remove_tree(str(top), 60)
    assert os.listdir(tmp_path) == []


def test_folder_that_is_moved_meanwhile_leads_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code that is being killed moves the folder out of which the removal would go up."""
    top, outside = tmp_path / "top", tmp_path / "outside"
    (top / "a" / "b").mkdir(parents=True)
    (outside / "b").mkdir(parents=True)
    (outside / "kept").touch()
    opened = removal._open_folder
    moves = iter([lambda: os.rename(top / "a" / "b", outside / "moved")])

    def moved(name: str, parent: int) -> int:
        descriptor = opened(name, parent)
        if name == "b":
            next(moves, lambda: None)()
        return descriptor

    monkeypatch.setattr(removal, "_open_folder", moved)
    assert remove_tree(str(top), 60)
    assert sorted(os.listdir(outside)) == ["b", "kept", "moved"]


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs root")
def test_user_without_rights_removes_read_only_folders() -> None:
    code = (
        "import os, sys\n"
        "from smolagents_fork.folders import removal\n"
        "from smolagents_fork.folders.removal import discard_tree, remove_tree\n"
        "removal._AT_ONCE_SECONDS = 60\n"  # not what a busy machine takes
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "for mode in (0, 0o555, 0o300, 0o400, 0o100):\n"
        "    for remove in (discard_tree, remove_tree):\n"
        "        os.makedirs(sys.argv[1] + '/a/b')\n"
        "        open(sys.argv[1] + '/a/file', 'w').close()\n"
        "        for path in ('/a/b', '/a', ''): os.chmod(sys.argv[1] + path, mode)\n"
        "        remove(sys.argv[1])\n"
        "        assert os.listdir(os.path.dirname(sys.argv[1])) == [], oct(mode)\n"
    )
    # The folder above those of pytest is for its user only, and every run of pytest sees to that.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        run_python(code, f"{folder}/top")


def test_links_are_not_followed_and_permissions_are_changed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    outside.chmod(0o755)
    top = tmp_path / "top"
    (top / "closed" / "inner").mkdir(parents=True)
    (top / "link").symlink_to(outside)
    (top / "closed" / "link").symlink_to(outside / "kept")
    (top / "closed" / "inner").chmod(0)
    (top / "closed").chmod(0)
    top.chmod(0)
    assert remove_tree(str(top))
    assert (outside / "kept").read_text() == "x"
    assert outside.stat().st_mode & 0o777 == 0o755


def test_unremovable_folder_is_reported_without_an_exception(tmp_path: Path) -> None:
    assert remove_tree(str(tmp_path / "never was"))
    file = tmp_path / "file"
    file.write_text("no folder")
    assert not remove_tree(str(file), seconds=0.05)
