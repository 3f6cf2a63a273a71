"""Process that cleans up once the supervisor has ended, however it ended.

Ray kills the children of a worker that it ends, fork servers included. The process that watches
here is not a child of the worker: its parent has ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from typing import Any

__all__ = ["Watchdog"]

_START_SECONDS = 60.0
# Imports nothing until there is something to do.
_WATCH = (
    "import json, os, sys\n"
    "if os.fork():\n"
    "    os._exit(0)\n"
    "os.setsid()\n"
    "path, module, function, arguments = json.loads(sys.argv[1])\n"
    "if os.read(0, 1):\n"
    "    os._exit(0)\n"
    "sys.path[:] = path\n"
    "from importlib import import_module\n"
    "getattr(import_module(module), function)(*arguments)\n"
)


class Watchdog:
    """A process that calls a function when this one has ended.

    Args:
        reference: Reference of the function, as ``module:name``.
        *arguments: plain data.

    Raises:
        OSError: the process cannot be started.
    """

    def __init__(self, reference: str, *arguments: Any) -> None:
        module, _, function = reference.partition(":")
        reading, self._writing = os.pipe()
        try:
            subprocess.run(
                [sys.executable, "-I", "-c", _WATCH,
                 json.dumps([sys.path, module, function, arguments])],
                stdin=reading, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                timeout=_START_SECONDS, check=True, cwd="/", env=os.environ,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            os.close(self._writing)
            raise OSError(f"the process that watches a supervisor did not start: {error}") from (
                error
            )
        finally:
            os.close(reading)

    def close(self, *, clean: bool) -> None:
        """End the process. Idempotent.

        Args:
            clean: whether nothing is left to do; otherwise the function is called now.
        """
        writing, self._writing = self._writing, -1
        if writing < 0:
            return
        with contextlib.suppress(OSError):
            if clean:
                os.write(writing, b".")
        os.close(writing)
