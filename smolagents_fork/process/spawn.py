"""Host side of fork servers: one per layout, started on demand, ended at exit."""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import json
import os
import socket
import struct
import subprocess
import sys
import threading
from typing import Any

from ..codec import encode
from ..errors import ExecutorStartError
from ..guest.frames import Kind
from ..system.closing import close_on_error
from ..system.descriptor_passing import send_descriptors
from ..system.forks import ForkSafeLock, Owner, forget, keep_open, reset_in_child
from ..system.free_threading import check_global_lock
from ..system.shortages import is_shortage, naming_shortages, shortage_text
from .child import Child
from .confinement_report import Bounds
from .sandbox_paths import Layout

__all__ = ["BOOTSTRAP", "spawn", "stop_fork_servers"]

_KEPT_STDERR = 8 * 1024
# Request to a fork server: how many threads a child may have. Answer: a process number, or the
# negative number of an error.
_NUMBER, _ANSWER = struct.Struct("!I"), struct.Struct("!i")
# Time limit for the fork server's imports, in seconds; a cold disk is slow.
_START_SECONDS = 60.0
#: Program of a fork server; its command line tells it and its children from other processes.
BOOTSTRAP = (
    "import json, sys\n"
    "fd, layout = json.loads(sys.argv[1])\n"
    "sys.path[:] = layout['path']\n"
    "from smolagents_fork.process import fork_server\n"
    "fork_server.main(fd, layout)\n"
)


class _ServerProcess:
    """Host side of a running fork server, whose children have one layout."""

    def __init__(self, layout: Layout) -> None:
        self._owner = Owner()
        self._lock = threading.Lock()
        ours, theirs = socket.socketpair()
        with theirs, close_on_error(ours):
            arguments = json.dumps([theirs.fileno(), dataclasses.asdict(layout)])
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-X", "utf8", "-c", BOOTSTRAP, arguments],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()], env=_ENVIRONMENT, cwd="/",
                start_new_session=True,
            )  # fmt: skip
        self._control = ours
        keep_open((ours, self.process))
        ours.settimeout(_START_SECONDS)
        stderr: Any = self.process.stderr
        try:
            ready = ours.recv(1)
        except OSError:
            ready = b""
        except BaseException:  # an interrupt: nobody else has this server
            self.process.kill()
            self.close()
            raise
        if ready != b"R":
            self.process.kill()
            text = stderr.read(_KEPT_STDERR).decode(errors="replace").strip()
            self.close()
            raise ExecutorStartError(
                f"the fork server did not start within {_START_SECONDS} s: {text or 'it ended'}"
            )
        stderr.close()

    def fork(self, threads: int, descriptors: list[int]) -> int | None:
        """Request a child; return its process number, or ``None`` if this server has ended.

        Args:
            threads: how many it may have at once.
            descriptors: of the child.

        Raises:
            ExecutorStartError: the server has no descriptor, process or memory for a child.
            OSError: this process lacks them; the server goes on.
        """
        with self._lock:
            try:
                send_descriptors(self._control, _NUMBER.pack(threads), descriptors)
            except OSError as error:
                if is_shortage(error):
                    raise
                return None
            try:
                answer = self._control.recv(_ANSWER.size, socket.MSG_WAITALL)
            except OSError:
                return None
        if len(answer) < _ANSWER.size:
            return None
        (number,) = _ANSWER.unpack(answer)
        if number < 0:
            refusal = OSError(-number, os.strerror(-number))
            raise ExecutorStartError(
                f"the fork server (process {self.process.pid}) could not start a child: "
                f"{shortage_text(refusal)}"
            )
        return int(number)

    def close(self) -> None:
        """End the fork server and its children."""
        if self._owner.inherited:
            return  # a forked copy of the host does not own the server
        self._control.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5)
        if self.process.stderr is not None:
            self.process.stderr.close()
        forget((self._control, self.process))


# One thread each for numerical libraries: children are confined to one, and threads do not survive
# a fork.
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # Each further arena reserves 64 MB, and the memory limit counts reserved memory.
    "MALLOC_ARENA_MAX": "2",
    # Memory of a value that is gone serves the next one: new pages cost as much as the copy.
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(64 << 20),
    "MPLBACKEND": "module://smolagents_fork.interpreter.plain.figure_backend",
}


_fork_servers: dict[Layout, _ServerProcess] = {}
_fork_servers_lock = ForkSafeLock()


def _fork_server(layout: Layout) -> _ServerProcess:
    with _fork_servers_lock:
        # Also those of other layouts: a process that has ended is there until its host asks for it.
        for other, fork_server in list(_fork_servers.items()):
            if fork_server.process.poll() is not None:
                del _fork_servers[other]
                fork_server.close()
        if layout not in _fork_servers:
            _fork_servers[layout] = _ServerProcess(layout)
        return _fork_servers[layout]


def stop_fork_servers() -> None:
    """End every fork server of this process; the next child starts a new one."""
    with _fork_servers_lock:
        for fork_server in _fork_servers.values():
            fork_server.close()
        _fork_servers.clear()


atexit.register(stop_fork_servers)


@reset_in_child
def _after_fork() -> None:
    """Reset a forked child, which has none of its parent's fork servers."""
    _fork_servers.clear()


def spawn(layout: Layout, bounds: Bounds, kinds: dict[Kind, int]) -> Child:
    """Fork a child from the fork server, which is started if necessary.

    Args:
        layout: paths of the child's modules; each layout has its fork server.
        bounds: limits of the child.
        kinds: frames that are accepted from the child.

    Raises:
        ExecutorStartError: the fork server or the child did not start.
    """
    check_global_lock("ProcessExecutor")
    with naming_shortages("the child cannot be started"):
        for _ in range(2):
            fork_server = _fork_server(layout)
            child = _fork(fork_server, bounds, kinds)
            if child is not None:
                return child
            fork_server.close()  # it has exited after a long idle time, or was killed
    raise ExecutorStartError("the fork server ended before it forked a child")


def _fork(fork_server: _ServerProcess, bounds: Bounds, kinds: dict[Kind, int]) -> Child | None:
    with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
        # When descriptors run out, those made before are closed one by one.
        near, far = [], []
        for _ in ("data", "status", "stops"):
            ends = socket.socketpair()
            near.append(ours.enter_context(ends[0]))
            far.append(theirs.enter_context(ends[1]).fileno())
        output, their_output = os.pipe()
        ours.callback(os.close, output)
        theirs.callback(os.close, their_output)
        pid = fork_server.fork(bounds.threads, [*far, their_output])
        if pid is None:
            return None
        data, status, stops = near
        child = Child(pid, data, status, stops, output, kinds, bounds.cpu_seconds)
        ours.pop_all()  # they are the child's now
    child.put(Kind.SETUP, 0, encode(bounds))
    return child
