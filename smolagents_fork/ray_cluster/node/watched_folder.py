"""Folder of a supervisor that is removed when the supervisor has ended, however it ended."""

from __future__ import annotations

import os

from ...folders.removal import remove_tree
from ...folders.user_folder import temporary_folder
from .watchdog import Watchdog

__all__ = ["WatchedFolder"]

_REMOVE = "smolagents_fork.folders.removal:remove_tree"
_REMOVE_SECONDS = 30.0


class WatchedFolder:
    """A new folder for temporary files.

    Raises:
        ExecutorStartError: it cannot be made.
        OSError: the process that watches cannot be made.
    """

    def __init__(self) -> None:
        #: Without links.
        self.path = temporary_folder("ray-")
        try:
            self._watchdog = Watchdog(_REMOVE, self.path, _REMOVE_SECONDS)
        except OSError:
            os.rmdir(self.path)
            raise

    def close(self) -> None:
        """Remove the folder. Idempotent."""
        remove_tree(self.path)
        self._watchdog.close(clean=not os.path.lexists(self.path))
