"""Programs that end with this process, however it ends.

PR_SET_PDEATHSIG follows the thread that started a program, which may end long before its process.
So the kernel watches a pipe: when its writing end is closed, which only this process has, the
kernel itself kills the program (``F_SETSIG``, Linux), whatever the program does meanwhile. No
second process is needed, which could be ended first. Other systems do not have this signal.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import IO

from .forks import forget, keep_open

if sys.platform == "linux":
    import fcntl

__all__ = ["HostPipe", "find_program", "run_program"]

# Most bytes that are kept of what a program prints: the last ones.
_KEPT_BYTES = 1 << 20
# Time in which a program that was killed lets go of its output, in seconds.
_OUTPUT_SECONDS = 5.0

# Has the kernel watch the pipe, before this process becomes the program.
_WATCHED = """
import fcntl, os, select, signal, sys
pipe, program = int(sys.argv[1]), sys.argv[2:]
fcntl.fcntl(pipe, fcntl.F_SETOWN, -os.getpid())
fcntl.fcntl(pipe, fcntl.F_SETSIG, signal.SIGKILL)
fcntl.fcntl(pipe, fcntl.F_SETFL, os.O_ASYNC)
if select.select([pipe], [], [], 0)[0]:
    sys.exit("the process that started this has ended")
os.execv(program[0], program)
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
        # In this order: the kernel watches for as long as somebody has the other end.
        if self._writing is not None:
            self._writing.close()
            forget((self._writing,))
            self._writing = None
        if self._reading >= 0:
            os.close(self._reading)
            self._reading = -1


def find_program(name: str) -> str | None:
    """Find a program; return its absolute path, or ``None`` if there is none.

    Args:
        name: Name of a program on PATH, or its path. Folders of PATH that are not absolute do not
            count: what lies in the current folder may be anybody's.

    Example:
        >>> os.path.isabs(find_program("sh"))
        True
    """
    if os.path.dirname(name):
        path = shutil.which(name)
        return None if path is None else os.path.abspath(path)
    folders = filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep))
    path = shutil.which(name, path=os.pathsep.join(folders))
    return path if path is not None and os.path.isabs(path) else None


def run_program(
    command: Sequence[str],
    *,
    seconds: float,
    environment: Mapping[str, str],
    folder: str | os.PathLike[str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; it and what it starts end with this process.

    It can read nothing from this process. ``stdout`` of the result is the last MiB of what it
    printed, errors included.

    Args:
        command: the program by its absolute path, and its arguments.
        seconds: longest time it may take.
        environment: all that its environment has.
        folder: Folder that it works in; ``None`` for that of this process.

    Raises:
        ValueError: the program is not named by an absolute path.
        OSError: it cannot be started.
        subprocess.TimeoutExpired: it took longer, and was killed.

    Example:
        >>> run_program(["/bin/echo", "done"], seconds=60.0, environment={}).stdout
        'done\\n'
    """
    if not os.path.isabs(command[0]):
        raise ValueError(f"{command[0]!r} is not an absolute path: find_program() returns that")
    with contextlib.closing(HostPipe()) as pipe:
        watched = [sys.executable, "-I", "-S", "-c", _WATCHED, *map(str, pipe.inherited)]
        process = subprocess.Popen(
            [*(watched if pipe.inherited else ()), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            # One pipe: two would lose the order in which it printed.
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
            start_new_session=True,
            pass_fds=pipe.inherited,
        )
        kept = bytearray()
        assert process.stdout is not None
        reader = threading.Thread(target=_read_end, args=(process.stdout, kept), daemon=True)
        reader.start()
        try:
            code = process.wait(seconds)
        finally:
            # What it left running has its output, too.
            pipe.close()
            process.kill()
            process.wait()
            reader.join(_OUTPUT_SECONDS)
    return subprocess.CompletedProcess(command, code, kept.decode("utf-8", "replace"))


def _read_end(stream: IO[bytes], kept: bytearray) -> None:
    """Read a stream, and keep its end."""
    with stream:
        while data := os.read(stream.fileno(), 1 << 16):
            kept += data
            del kept[:-_KEPT_BYTES]
