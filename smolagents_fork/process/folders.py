"""Removing a folder in which untrusted code has worked.

``shutil.rmtree`` goes down by recursion and by paths that grow: folders a thousand deep end it with
a RecursionError, and one that nobody may enter stays behind.
"""

from __future__ import annotations

import contextlib
import os
import time

__all__ = ["remove_tree"]

_PERMISSIONS = 0o700


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
    os.chmod(folder, _PERMISSIONS)
    number = 0
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        with os.scandir(current) as found:  # closed, too, where somebody removes it meanwhile
            entries = list(found)
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
                continue
            os.chmod(entry.path, _PERMISSIONS)
            # Both are below ``folder``, on one file system, so this is a change of name.
            number += 1
            moved = os.path.join(folder, f".removing-{number}")
            while os.path.lexists(moved) and moved != entry.path:
                number += 1
                moved = os.path.join(folder, f".removing-{number}")
            os.rename(entry.path, moved)
            waiting.append(moved)
        if current != folder:
            os.rmdir(current)
