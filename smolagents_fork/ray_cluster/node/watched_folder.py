"""Folder of a supervisor that is removed when the supervisor has ended, however it ended."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from pathlib import Path

from ...folders.removal import remove_tree
from .watchdog import Watchdog

__all__ = ["PREFIX", "WatchedFolder"]

#: Begins the name of the folder.
PREFIX = "smolagents-ray-"
_NEW = 60.0
_REMOVE = "smolagents_fork.folders.removal:remove_tree"
_REMOVE_SECONDS = 30.0


class WatchedFolder:
    """A new folder for temporary files.

    Raises:
        OSError: it, or the process that watches, cannot be made.
    """

    def __init__(self) -> None:
        _remove_stale()
        #: Without links.
        self.path = os.path.realpath(tempfile.mkdtemp(prefix=PREFIX))
        self._lock = os.open(self.path, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            self._watchdog = Watchdog(_REMOVE, self.path, _REMOVE_SECONDS)
        except OSError:
            os.close(self._lock)
            os.rmdir(self.path)
            raise

    def close(self) -> None:
        """Remove the folder. Idempotent."""
        remove_tree(self.path)
        self._watchdog.close(clean=not os.path.lexists(self.path))
        with contextlib.suppress(OSError):
            os.close(self._lock)
        self._lock = -1


def _remove_stale() -> None:
    """Remove folders that nobody watched to the end: all processes of a node were killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        # A folder that was made just now has no lock yet.
        with contextlib.suppress(OSError):
            if path.stat().st_uid != os.getuid() or time.time() - path.stat().st_ctime < _NEW:
                continue
            number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_tree(str(path))
            finally:
                os.close(number)
