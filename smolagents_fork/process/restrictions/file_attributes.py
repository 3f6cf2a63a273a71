"""Modes, times and owners of a child's own files, which it cannot change.

Landlock does not restrict changes of modes, times and owners, so the system call filter refuses
them for every file. Programs and libraries that change those of their own files, as copies,
archives and spreadsheets do, work nevertheless: here the refusal is dropped for files in the
child's folders. They keep their mode and times.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

__all__ = ["drop_refusals", "use_folders"]

# Name -> whether the arguments after the file are the new owner and group.
_FUNCTIONS = {
    "chmod": False,
    "fchmod": False,
    "utime": False,
    "chown": True,
    "fchown": True,
    "lchown": True,
}
# Sets of functions that have an option; libraries look there before they use it.
_CAPABILITIES = (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks)
_folders: tuple[str, ...] = ()


def use_folders(*folders: str) -> None:
    """Set the child's folders.

    Args:
        *folders: absolute paths without links.
    """
    global _folders
    _folders = folders


def drop_refusals() -> None:
    """Replace the functions of ``os``; called once, before a child is forked."""
    for name, of_owner in _FUNCTIONS.items():
        original = getattr(os, name, None)
        if original is None:
            continue
        replaced = _without_refusal(original, of_owner)
        for functions in _CAPABILITIES:
            if original in functions:
                functions.add(replaced)
        setattr(os, name, replaced)


def _without_refusal(function: Callable[..., None], of_owner: bool) -> Callable[..., None]:
    @functools.wraps(function)
    def change(path: Any, *arguments: Any, **keywords: Any) -> None:
        try:
            function(path, *arguments, **keywords)
        except PermissionError:
            if not _is_own(path, keywords.get("dir_fd")):
                raise
            if not isinstance(path, int):
                os.stat(path, dir_fd=keywords.get("dir_fd"))  # the error of one that is absent
            if of_owner and not _keeps_owner(*arguments, **keywords):
                raise

    return change


def _is_own(path: Any, dir_fd: int | None) -> bool:
    """Tell whether a file is in one of the folders."""
    try:
        if isinstance(path, int):
            real_path = os.readlink(f"/proc/self/fd/{path}")
        else:
            start = os.getcwd() if dir_fd is None else os.readlink(f"/proc/self/fd/{dir_fd}")
            real_path = os.path.realpath(os.path.join(start, os.fsdecode(path)))
    except (OSError, ValueError, TypeError):
        return False
    if not os.path.isabs(real_path):  # a pipe or a socket
        return False
    return any(os.path.commonpath((folder, real_path)) == folder for folder in _folders)


def _keeps_owner(uid: int = -1, gid: int = -1, **_keywords: Any) -> bool:
    return uid in (-1, os.getuid()) and gid in (-1, os.getgid())
