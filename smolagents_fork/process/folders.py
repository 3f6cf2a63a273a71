"""Removing a folder in which untrusted code has worked, or still works.

``shutil.rmtree`` goes down by recursion: folders a thousand deep end it with a RecursionError, and
one that nobody may enter stays behind. Everything here goes by open folders, never by a path: code
that is about to be killed may put a link in the place of a folder that was just looked at.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

__all__ = ["remove_tree"]

_PERMISSIONS = 0o700
_MOVED = ".removing-"
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def remove_tree(folder: str, seconds: float = 2.0) -> bool:
    """Remove ``folder`` with all that is in it; follows no link and raises nothing.

    What is nested is moved up to ``folder`` level by level, so that no path grows.

    Args:
        folder: the folder.
        seconds: how long to try while somebody still writes to it, such as a process that is being
            killed.

    Returns:
        Whether it is gone.
    """
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError):
            _empty(folder)
            os.rmdir(folder)
        if not os.path.lexists(folder):
            return True
        if time.monotonic() > end:
            return False
        time.sleep(0.01)


def _empty(folder: str) -> None:
    with _opened(folder) as root:
        number = _emptied(root, root, 0)
        while waiting := [name for name in os.listdir(root) if name.startswith(_MOVED)]:
            for name in waiting:
                with _opened(name, root) as current:
                    number = _emptied(current, root, number)
                os.rmdir(name, dir_fd=root)


def _emptied(current: int, root: int, number: int) -> int:
    """Remove the files of a folder and move its folders to ``root``; the next free number."""
    with os.scandir(current) as found:  # closed, too, where somebody removes it meanwhile
        entries = list(found)
    for entry in entries:
        name = entry.name
        if current == root and name.startswith(_MOVED) and entry.is_dir(follow_symlinks=False):
            continue
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(name, dir_fd=current)
            continue
        _opened_for_all(name, current)
        while _there(f"{_MOVED}{number}", root):
            number += 1
        os.rename(name, f"{_MOVED}{number}", src_dir_fd=current, dst_dir_fd=root)
        number += 1
    return number


@contextlib.contextmanager
def _opened(name: str, parent: int | None = None) -> Iterator[int]:
    """A folder, and no link to one, open for listing."""
    _opened_for_all(name, parent)
    descriptor = os.open(name, os.O_RDONLY | _FOLDER, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _opened_for_all(name: str, parent: int | None) -> None:
    """Let its owner into a folder, and into no other that has taken its place."""
    if not hasattr(os, "O_PATH"):
        os.chmod(name, _PERMISSIONS, dir_fd=parent, follow_symlinks=False)
        return
    descriptor = os.open(name, os.O_PATH | _FOLDER, dir_fd=parent)
    try:
        if os.fstat(descriptor).st_mode & _PERMISSIONS != _PERMISSIONS:
            os.chmod(f"/proc/self/fd/{descriptor}", _PERMISSIONS)
    finally:
        os.close(descriptor)


def _there(name: str, parent: int) -> bool:
    try:
        os.lstat(name, dir_fd=parent)
    except FileNotFoundError:
        return False
    return True
