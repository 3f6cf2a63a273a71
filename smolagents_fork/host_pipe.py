"""Programs that end with this process, however it ends.

PR_SET_PDEATHSIG follows the thread that started a program, which may end long before its process.
So the kernel watches a pipe: when its writing end is closed, which only this process has, the
kernel itself kills the program (``F_SETSIG``, Linux). What the program does meanwhile makes no
difference, and there is no second process that could be ended first. Other systems have no such
signal.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import IO

from .forks import forget, keep_open

if sys.platform == "linux":
    import fcntl

__all__ = ["HostPipe", "run_program"]

# Has the kernel watch the pipe, before this process becomes the program.
_WATCHED = """
import fcntl, os, select, signal, sys
pipe, program = int(sys.argv[1]), sys.argv[2:]
fcntl.fcntl(pipe, fcntl.F_SETOWN, -os.getpid())
fcntl.fcntl(pipe, fcntl.F_SETSIG, signal.SIGKILL)
fcntl.fcntl(pipe, fcntl.F_SETFL, os.O_ASYNC)
if select.select([pipe], [], [], 0)[0]:
    sys.exit("the process that started this has ended")
os.execvp(program[0], program)
"""


class HostPipe:
    """A pipe between this process and a program, which is killed when this process ends.

    Example:
        >>> pipe = HostPipe()
        >>> program = subprocess.Popen(
        ...     [sys.executable, "-c", "while True: pass"],
        ...     start_new_session=True,
        ...     pass_fds=pipe.inherited,
        ... )
        >>> pipe.watch(program.pid)
        >>> pipe.close()
        >>> program.wait() == -signal.SIGKILL
        True
    """

    def __init__(self) -> None:
        self._reading = -1
        self._writing: IO[bytes] | None = None
        if sys.platform == "linux":
            self._reading, writing = os.pipe()
            self._writing = open(writing, "wb", buffering=0)  # noqa: SIM115
            # A forked copy of this process must not have it, else the program outlives this one.
            keep_open((self._writing,))

    @property
    def inherited(self) -> tuple[int, ...]:
        """Descriptors that the program inherits, for ``pass_fds``: a pipe is watched while open."""
        return () if self._reading < 0 else (self._reading,)

    def watch(self, group: int) -> None:
        """Have the kernel kill the program and what it starts.

        Args:
            group: its process group, which it leads.
        """
        if sys.platform == "linux":
            fcntl.fcntl(self._reading, fcntl.F_SETOWN, -group)
            fcntl.fcntl(self._reading, fcntl.F_SETSIG, signal.SIGKILL)
            fcntl.fcntl(self._reading, fcntl.F_SETFL, os.O_ASYNC)
            os.close(self._reading)
            self._reading = -1

    def close(self) -> None:
        """Kill what is left of the program. Idempotent."""
        if self._reading >= 0:
            os.close(self._reading)
            self._reading = -1
        if self._writing is not None:
            self._writing.close()
            forget((self._writing,))
            self._writing = None


def run_program(
    command: Sequence[str],
    *,
    seconds: float,
    environment: Mapping[str, str] | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end; it and what it starts end with this process.

    Args:
        command: the program and its arguments.
        seconds: longest time it may take.
        environment: of the program; ``None`` for that of this process.
        folder: that it works in; ``None`` for that of this process.

    Raises:
        subprocess.TimeoutExpired: it took longer, and was killed.

    Example:
        >>> run_program(["echo", "done"], seconds=60.0).stdout
        b'done\\n'
    """
    with contextlib.closing(HostPipe()) as pipe:
        watched = [sys.executable, "-I", "-S", "-c", _WATCHED, *map(str, pipe.inherited)]
        return subprocess.run(
            [*(watched if pipe.inherited else ()), *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
            env=environment,
            cwd=folder,
            start_new_session=True,
            pass_fds=pipe.inherited,
        )
