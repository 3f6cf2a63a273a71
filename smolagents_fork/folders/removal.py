"""Removal of a folder in which untrusted code has worked, or still works.

``shutil.rmtree`` is recursive: a thousand nested folders cause a RecursionError. It also leaves
folders without permissions behind. This module uses open directory descriptors, never paths. Code
that is about to be killed may replace a folder by a link after it was checked.
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
    """Remove ``folder`` and its contents, without following links; never raises.

    Nested folders are moved up to ``folder`` level by level, so that paths stay short.

    Args:
        folder: the folder.
        seconds: time limit in seconds, for the case that a process being killed still writes to it.

    Returns:
        Whether the folder is removed.
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
    """Remove a folder's files and move its folders to ``root``; return the next free number."""
    with os.scandir(current) as found:  # closed even if the folder is removed meanwhile
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
    """Open a folder, but not a link to one, for listing."""
    _opened_for_all(name, parent)
    descriptor = os.open(name, os.O_RDONLY | _FOLDER, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _opened_for_all(name: str, parent: int | None) -> None:
    """Give the owner access to a folder, but not to another one that has replaced it."""
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
