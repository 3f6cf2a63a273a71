"""Folder of a supervisor that is removed when the supervisor has ended, however it ended.

Ray kills the children of a worker that it ends, fork servers included. The process that watches
here is not a child of the worker: its parent has ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile

from ...folders.removal import remove_tree

__all__ = ["PREFIX", "WatchedFolder"]

#: Begins the name of the folder.
PREFIX = "smolagents-ray-"
_START_SECONDS = 60.0
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
        #: Without links.
        self.path = os.path.realpath(tempfile.mkdtemp(prefix=PREFIX))
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
        with contextlib.suppress(OSError):
            os.close(self._writing)
        self._writing = -1
