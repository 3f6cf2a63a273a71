"""Removal of a folder in which untrusted code has worked, or still works.

``shutil.rmtree`` is recursive: a thousand nested folders cause a RecursionError. It also leaves
folders without permissions behind. This module goes down and up again with one open directory
descriptor, never with paths. Code that is about to be killed may replace a folder by a link, or
move it, after it was checked; so the way up is compared with the way down.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["REMOVING", "discard_tree", "remove_behind", "remove_tree"]

#: Begins the name of a folder that is being removed.
REMOVING = ".removing-"
_PERMISSIONS = 0o700
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
# Folders of one folder that are remembered at a time: there may be millions.
_REMEMBERED = 64
# What ordinary programs leave is removed within the first; the second limits a removal behind.
_AT_ONCE_SECONDS, _BEHIND_SECONDS = 0.05, 600.0
_EXIT_SECONDS = 2.0


def discard_tree(folder: str) -> None:
    """Rename ``folder`` at once, and remove it and its contents behind the caller; never raises.

    What a large folder needs longer for than this process lives is removed by the next one, where
    the folder is in :func:`~smolagents_fork.folders.user_folder.user_folder`.

    Example:
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> discard_tree(folder)
        >>> os.path.exists(folder)
        False
    """
    aside = os.path.join(os.path.dirname(folder), f"{REMOVING}{secrets.token_hex(8)}")
    try:
        os.rename(folder, aside)
    except OSError:
        aside = folder
    if not remove_tree(aside, _AT_ONCE_SECONDS):
        remove_behind([aside])


def remove_tree(folder: str, seconds: float = 2.0) -> bool:
    """Remove ``folder`` and its contents, without following links; never raises.

    Args:
        folder: the folder.
        seconds: time limit in seconds, also for a process being killed that still writes to it.

    Returns:
        Whether the folder is removed.
    """
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError):
            _remove(folder, end)
        if not os.path.lexists(folder):
            return True
        if time.monotonic() > end:
            return False
        time.sleep(0.01)


@dataclass
class _Level:
    """A folder on the way down.

    Attributes:
        name: in the folder above it.
        identity: device and number of the folder.
        folders: in it, which have been seen and not been removed.
    """

    name: str
    identity: tuple[int, int]
    folders: list[str] = field(default_factory=list)


def _remove(folder: str, end: float) -> None:
    above, name = os.path.split(os.path.abspath(folder))
    current = os.open(above, os.O_RDONLY | _FOLDER & ~getattr(os, "O_NOFOLLOW", 0))
    try:
        levels = [_Level("", _identity(current), [name])]
        while True:
            _check_time(end)
            level = levels[-1]
            if level.folders:
                name = level.folders.pop()
                current = _swap(current, _open_folder(name, current))
                levels.append(_Level(name, _identity(current)))
                continue
            if len(levels) == 1:
                return
            level.folders = _remove_files(current, end)
            if not level.folders:
                levels.pop()
                current = _swap(current, os.open("..", os.O_RDONLY | _FOLDER, dir_fd=current))
                if _identity(current) != levels[-1].identity:
                    raise OSError(errno.ESTALE, "the folder was moved while it was removed")
                os.rmdir(level.name, dir_fd=current)
    finally:
        os.close(current)


def _remove_files(current: int, end: float) -> list[str]:
    """Remove a folder's files until some folders were seen; return their names."""
    folders: list[str] = []
    with os.scandir(current) as entries:
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.name, dir_fd=current)
                _check_time(end)
                continue
            folders.append(entry.name)
            if len(folders) == _REMEMBERED:
                break
    return folders


def _check_time(end: float) -> None:
    if time.monotonic() > end:
        raise TimeoutError


def _swap(old: int, new: int) -> int:
    os.close(old)
    return new


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _open_folder(name: str, parent: int) -> int:
    """Open a folder, but not a link to one, to remove what it has."""
    with contextlib.suppress(PermissionError):
        descriptor = os.open(name, os.O_RDONLY | _FOLDER, dir_fd=parent)
        try:
            if os.fstat(descriptor).st_mode & _PERMISSIONS != _PERMISSIONS:
                os.fchmod(descriptor, _PERMISSIONS)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor
    _permit(name, parent)
    return os.open(name, os.O_RDONLY | _FOLDER, dir_fd=parent)


def _permit(name: str, parent: int) -> None:
    """Give the owner access to a folder, but not to another one that has replaced it."""
    if not hasattr(os, "O_PATH"):
        os.chmod(name, _PERMISSIONS, dir_fd=parent, follow_symlinks=False)
        return
    descriptor = os.open(name, os.O_PATH | _FOLDER, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{descriptor}", _PERMISSIONS)
    finally:
        os.close(descriptor)


def remove_behind(folders: Sequence[str]) -> None:
    """Remove folders in the background, or at once where this process ends; never raises.

    Args:
        folders: Folders which no process uses any more.
    """
    if threading.main_thread().is_alive():
        with contextlib.suppress(RuntimeError):  # there can be no more threads
            threading.Thread(
                target=_remove_all, args=(folders, _BEHIND_SECONDS), name="folders", daemon=True
            ).start()
            return
    _remove_all(folders, _EXIT_SECONDS)


def _remove_all(folders: Sequence[str], seconds: float) -> None:
    for folder in folders:
        remove_tree(folder, seconds)
