"""Fork server: a process with all modules imported, which forks a child on request.

It runs no untrusted code and has no secrets: its environment is empty and it inherits no
descriptors. It has one thread. For every child it has a *status socket*, on which the host requests
signals and receives the exit code. When the host closes the socket or dies, the child is killed.

The host starts it as ``python -I -c <bootstrap>`` with the control socket's number as argument.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gc
import importlib
import json
import os
import random
import selectors
import signal
import socket
import struct
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..folders.removal import remove_tree
from ..guest.guest_worker import warm_up
from . import confinement, seccomp, worker
from .confinement_report import Bounds
from .libc import libc
from .thread_limit import ThreadLimit, take_listener

__all__ = ["main"]

#: Seconds without a child or a request after which a fork server exits.
IDLE_SECONDS = 300.0
#: Requests on a status socket, and the corresponding signals.
SIGNALS = {b"I": signal.SIGINT, b"K": signal.SIGKILL}
EXIT = struct.Struct("!i")
#: Answer to a request for a child: its process number, or the negative number of the error.
ANSWER = struct.Struct("!i")
# Length of a request for a child, sent before the request.
_LENGTH = struct.Struct("!I")
# Of the spare, when it has received its request; and the longest wait for that, in seconds. Other
# children wait meanwhile, and forking one without the spare takes some milliseconds more.
_TAKEN = b"T"
_SPARE_SECONDS = 1.0
_DESCRIPTORS = 4  # data socket, status socket, standard output, output log


@dataclass(frozen=True)
class _Spare:
    """A process without a program, which becomes the next child: it has copied what it will use.

    It is trusted as the fork server is, and confined as any child before it gets a program.
    """

    pid: int
    channel: socket.socket


@dataclass(frozen=True)
class _Starting:
    """A child that has not yet sent the listener of its filter."""

    channel: socket.socket
    pid: int
    threads: int


def main(control_number: int) -> None:
    """Serve the host until it closes the connection; never returns."""
    try:
        # The thread that started this process may block signals, which children would inherit.
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        _warm_up()
        ForkServer(socket.socket(fileno=control_number)).serve()
    except KeyboardInterrupt:
        pass
    finally:
        os._exit(0)


def _warm_up() -> None:
    # The first use of anything costs more than the later ones; children inherit it done.
    libc()
    seccomp.warm_up()
    warm_up()
    # A collection in a child would visit every object of the fork server, and so copy the pages
    # of all. None of them becomes garbage.
    gc.collect()
    gc.freeze()


class ForkServer:
    """The loop of a fork server.

    Args:
        control: the socket on which the host asks for children.
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._selector = selectors.DefaultSelector()
        self._children: dict[int, socket.socket] = {}
        self._limits: dict[int, ThreadLimit] = {}
        self._folders: set[str] = set()
        self._spare: _Spare | None = None
        self._wake, wake_up = socket.socketpair()
        for end in (self._wake, wake_up):
            end.setblocking(False)
        self._wake_up = wake_up
        signal.set_wakeup_fd(wake_up.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        # Ctrl-C on a terminal signals the whole group; only the host decides about children.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._selector.register(control, selectors.EVENT_READ, "control")
        self._selector.register(self._wake, selectors.EVENT_READ, "wake")

    def serve(self) -> None:
        """Serve requests until the host closes the control socket, or the server is idle."""
        self._control.sendall(b"R")
        try:
            while True:
                events = self._selector.select(IDLE_SECONDS)
                if not events and not self._children:
                    return
                for key, _ in events:
                    if key.data == "control":
                        if not self._request():
                            return
                    elif key.data == "wake":
                        self._reap()
                    elif isinstance(key.data, ThreadLimit):
                        if self._limits.get(key.data.pid) is key.data:
                            key.data.answer()
                    elif isinstance(key.data, _Starting):
                        self._started(key.data)
                    elif self._children.get(key.data) is key.fileobj:
                        # A child reaped earlier in the same batch no longer has one.
                        self._status(key.data)
        finally:
            self._end_all()

    def _request(self) -> bool:
        request = _received(self._control)
        if request is None:
            return False
        data, descriptors = request
        try:
            answer = self._start(data, descriptors)
        except OSError as error:
            # The other children go on: only this request is refused.
            answer = -(error.errno or errno.EAGAIN)
        for descriptor in descriptors:
            os.close(descriptor)
        self._control.sendall(ANSWER.pack(answer))
        return True

    def _start(self, data: bytes, descriptors: list[int]) -> int:
        """Start a child, which has copies of the descriptors; return its process number.

        Raises:
            OSError: the system has no descriptor, process or memory left.
        """
        bounds = _bounds_of(data)
        if len(descriptors) != _DESCRIPTORS:  # the kernel drops those for which no number is left
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        status = socket.socket(fileno=os.dup(descriptors[1]))
        try:
            ours, pid = self._handed_over(data, descriptors) or _forked(
                lambda parent: self._become_child(descriptors, bounds, parent)
            )
        except OSError:
            status.close()
            raise
        self._children[pid] = status
        # The host removes the folders; the rest are removed after the host has ended.
        self._folders = {folder for folder in self._folders if os.path.exists(folder)}
        self._folders.add(bounds.folder)
        starting = _Starting(ours, pid, bounds.threads)
        try:
            self._selector.register(status, selectors.EVENT_READ, pid)
            self._selector.register(ours, selectors.EVENT_READ, starting)
        except OSError:
            _signal(pid, signal.SIGKILL)
            raise
        return pid

    def _handed_over(self, data: bytes, descriptors: list[int]) -> tuple[socket.socket, int] | None:
        """Make the spare the child of a request; ``None`` if there is none."""
        spare, self._spare = self._spare, None
        if spare is None:
            return None
        taken = b""
        with contextlib.suppress(OSError):
            spare.channel.settimeout(_SPARE_SECONDS)
            sent = socket.send_fds(spare.channel, [data], descriptors)
            spare.channel.sendall(data[sent:])
            # One that was killed a moment ago still accepts data.
            taken = spare.channel.recv(1)
            spare.channel.settimeout(None)
        if taken == _TAKEN:
            return spare.channel, spare.pid
        spare.channel.close()
        _signal(spare.pid, signal.SIGKILL)
        return None

    def _prepare_spare(self) -> None:
        if self._spare is not None:
            return
        # Without descriptors, processes or memory, the next child is forked when it is requested.
        with contextlib.suppress(OSError):
            ours, pid = _forked(self._become_spare)
            self._spare = _Spare(pid, ours)

    def _become_spare(self, parent: socket.socket) -> None:
        try:
            confinement.die_with_parent()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            # The ends of other children's connections.
            os.closerange(3, parent.fileno())
            os.closerange(parent.fileno() + 1, 1 << 16)
            # Writes to the pages that a program's start writes to, which copies them.
            warm_up()
            gc.collect()
            gc.freeze()
            request = _received(parent)
            if request is not None and len(request[1]) == _DESCRIPTORS:
                parent.sendall(_TAKEN)
                data, descriptors = request
                self._become_child(descriptors, _bounds_of(data), parent)
        finally:
            os._exit(70)

    def _started(self, starting: _Starting) -> None:
        self._selector.unregister(starting.channel)
        listener = take_listener(starting.channel)
        starting.channel.close()
        self._prepare_spare()
        if listener is None:
            return
        limit = ThreadLimit(listener, starting.pid, starting.threads)
        if starting.pid not in self._children:  # it ended meanwhile
            limit.close()
            return
        self._limits[starting.pid] = limit
        self._selector.register(limit, selectors.EVENT_READ, limit)

    def _become_child(self, descriptors: list[int], bounds: Bounds, parent: socket.socket) -> None:
        code = 70
        try:
            confinement.die_with_parent()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            os.setsid()
            null = os.open(os.devnull, os.O_RDONLY)
            data, _, output, log = descriptors
            # Only descriptors 0 to 5 stay open; the last one until the child is confined.
            for source, target in _kept(
                ((null, 0), (output, 1), (output, 2), (data, 3), (log, 4), (parent.detach(), 5))
            ):
                os.dup2(source, target)
            os.closerange(6, 1 << 16)
            os.chdir(bounds.folder)
            os.environ.update(HOME=bounds.folder, TMPDIR=bounds.folder)
            tempfile.tempdir = None
            _reseed()
            threading.main_thread().name = "program"
            worker.main(3, 4, bounds, socket.socket(fileno=5))
            code = 0
        except SystemExit:
            code = 71
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.write(2, f"child failed: {type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(code)

    def _status(self, pid: int) -> None:
        status = self._children[pid]
        try:
            asked = status.recv(64)
        except OSError:
            asked = b""
        if not asked:
            asked = b"K"  # the host closed the socket, or died
            self._selector.unregister(status)
        for letter in asked:
            number = SIGNALS.get(bytes([letter]))
            if number is not None:
                _signal(pid, number)

    def _reap(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._wake.recv(4096):
                pass
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._ended(pid, os.waitstatus_to_exitcode(status))

    def _ended(self, pid: int, code: int) -> None:
        if self._spare is not None and self._spare.pid == pid:
            self._spare.channel.close()
            self._spare = None
        status = self._children.pop(pid, None)
        if status is None:
            return
        limit = self._limits.pop(pid, None)
        if limit is not None:
            self._selector.unregister(limit)
            limit.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)  # all processes it started
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(status)
        with contextlib.suppress(OSError):
            status.send(EXIT.pack(code))
        status.close()

    def _end_all(self) -> None:
        # The host has ended or no longer needs this process: leave nothing behind.
        if self._spare is not None:
            _signal(self._spare.pid, signal.SIGKILL)
        for pid in self._children:
            _signal(pid, signal.SIGKILL)
        for folder in self._folders:
            remove_tree(folder)


def _forked(run: Callable[[socket.socket], None]) -> tuple[socket.socket, int]:
    """Fork a process that only calls ``run`` with its connection; return ours, and its number.

    Raises:
        OSError: the system has no descriptor, process or memory left.
    """
    ours, theirs = socket.socketpair()
    try:
        pid = os.fork()
    except OSError:
        ours.close()
        raise
    else:
        if pid == 0:
            run(theirs)
        return ours, pid
    finally:
        theirs.close()


def _received(connection: socket.socket) -> tuple[bytes, list[int]] | None:
    """Receive a request and its descriptors; ``None`` if the other side has closed."""
    try:
        # Descriptors arrive with the first bytes of a message, and recv_fds() stops after them.
        data, descriptors, _, _ = socket.recv_fds(connection, 1 << 16, _DESCRIPTORS)
        while data and len(data[4:]) < _LENGTH.unpack(data[:4].ljust(4, b"\xff"))[0]:
            more = connection.recv(1 << 16)
            if not more:
                return None
            data += more
    except OSError:
        return None
    return (data, descriptors) if data else None


def _bounds_of(request: bytes) -> Bounds:
    return Bounds.from_data(json.loads(request[_LENGTH.size :]))


def _signal(pid: int, number: int) -> None:
    # Not reaped yet, so the number still belongs to this child. Its group exists after setsid().
    if number == signal.SIGKILL:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, number)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _kept(moves: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """Plan moves of descriptors, first copying sources to free numbers above the targets."""
    above = 1 + max(target for _, target in moves)
    return [(fcntl.fcntl(source, fcntl.F_DUPFD, above), target) for source, target in moves]


def _reseed() -> None:
    # Children of one fork server would draw the same numbers. random reseeds itself after a fork.
    random.seed()
    numpy_random: Any = getattr(sys.modules.get("numpy"), "random", None)
    if numpy_random is not None:
        numpy_random.seed()


def preload(names: list[str]) -> None:
    """Import modules that children are likely to use; a failing import fails in the child, too."""
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
