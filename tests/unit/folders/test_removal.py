"""Removal of folders that untrusted code leaves behind."""

from __future__ import annotations

import os
from pathlib import Path

from smolagents_fork.folders.removal import remove_tree


def test_a_folder_nested_deeper_than_recursion_and_paths_go_is_removed(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d" * 60, dir_fd=here)
        below = os.open("d" * 60, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    assert remove_tree(str(top))
    assert not top.exists()


def test_temporary_names_do_not_collide(tmp_path: Path) -> None:
    top = tmp_path / "top"
    for name in (".removing-1/.removing-2", ".removing-2/.removing-1/x", "a/b", "c"):
        (top / name).mkdir(parents=True)
    (top / ".removing-3").write_text("a file")
    (top / "a" / "b" / ".removing-1").write_text("a file")
    assert remove_tree(str(top))
    assert not top.exists()


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
