"""Folder of a supervisor that is removed when the supervisor has ended, however it ended.

Ray kills the children of a worker that it ends, fork servers included. The process that watches
here is not a child of the worker: its parent has ended.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ...folders.removal import remove_tree

__all__ = ["PREFIX", "WatchedFolder"]

#: Begins the name of the folder.
PREFIX = "smolagents-ray-"
_START_SECONDS = 60.0
_NEW = 60.0
# Imports nothing until there is something to remove.
_WATCH = (
    "import json, os, sys\n"
    "if os.fork():\n"
    "    os._exit(0)\n"
    "os.setsid()\n"
    "path, folder = json.loads(sys.argv[1])\n"
    "while os.read(0, 1):\n"
    "    pass\n"
    "sys.path[:] = path\n"
    "from smolagents_fork.folders.removal import remove_tree\n"
    "remove_tree(folder, 30.0)\n"
)


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
        arguments = json.dumps([sys.path, self.path])
        reading, self._writing = os.pipe()
        try:
            subprocess.run(
                [sys.executable, "-I", "-c", _WATCH, arguments],
                stdin=reading, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                timeout=_START_SECONDS, check=True, cwd="/",
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            os.close(self._writing)
            os.rmdir(self.path)
            raise OSError(f"the process that watches a folder did not start: {error}") from error
        finally:
            os.close(reading)

    def close(self) -> None:
        """Remove the folder. Idempotent."""
        remove_tree(self.path)
        for number in (self._writing, self._lock):
            with contextlib.suppress(OSError):
                os.close(number)
        self._writing = self._lock = -1


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
