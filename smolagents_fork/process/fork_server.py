"""Fork server: a process with all modules imported, which forks a child on request.

It runs no untrusted code and has no secrets: its environment has fixed names and it inherits no
descriptors. It has one thread. For every child it has a *status socket*, on which the host requests
signals and receives the exit code. When the host closes the socket or dies, the child is killed.

A child's memory begins as a copy of this process's. So this process never reads what a child is
asked for: it learns how many threads a child may have, and passes descriptors on. A child reads its
own folder, files and limits after the fork, in a frame of its connection to the host. And it leaves
the frames of this process, in which are the children before it, before it does anything.

The host starts it as ``python -I -c <bootstrap>`` with the control socket's number as argument.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import fcntl
import gc
import importlib
import os
import resource
import selectors
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import Any, NoReturn

from ..deadline import Deadline
from ..errors import ForkError
from ..folders.user_folder import remove_abandoned
from ..guest.guest_worker import warm_up
from ..system.shortages import shortage_text
from . import confinement, worker
from .restrictions import file_attributes, seccomp
from .restrictions.call_supervisor import CallSupervisor, take_listener
from .restrictions.libc import libc
from .restrictions.user_counts import UserCounts
from .sandbox_paths import OWN_PROCESS_FILES, Layout

__all__ = ["main"]

#: Seconds without a child or a request after which a fork server exits.
IDLE_SECONDS = 300.0
#: Requests on a status socket, and the corresponding signals.
SIGNALS = {b"I": signal.SIGINT, b"K": signal.SIGKILL}
EXIT = struct.Struct("!i")
#: Request for a child: how many threads it may have. Its descriptors are sent with it.
REQUEST = struct.Struct("!I")
#: Answer to a request for a child: its process number, or the negative number of the error.
ANSWER = struct.Struct("!i")
# Longest wait for the end of a host that has closed its connection, in seconds.
_HOST_SECONDS = 5.0
_DESCRIPTORS = 4  # data socket, status socket, output, socket for runs to stop
# First of the numbers that a child's own descriptors have. They are above its limit of descriptors:
# a program that closes all that it may have opened does not close them.
_FIRST_OWN = 1000
# Numbers above the first.
_NUMBERS_ABOVE = 16


@dataclass(frozen=True)
class _Starting:
    """A child that is not ready; it sends the listener of its filter."""

    channel: socket.socket
    pid: int
    threads: int


class _ServerEnd(enum.Enum):
    """Reasons for the end of a fork server: nobody needs it any more, or its host has ended."""

    ORDERLY, HOST = range(2)


class _Forked(BaseException):
    """Raised in a child, to leave the frames of the fork server; has all that the child has of it.

    Args:
        server: process id of the fork server.
        parent: connection to it.
        descriptors: those of the request.
    """

    def __init__(self, server: int, parent: socket.socket, descriptors: list[int]) -> None:
        super().__init__()
        self.server = server
        self.parent = parent
        self.descriptors = descriptors


def main(control_number: int, data: dict[str, Any], temporary: str) -> None:
    """Serve the host until it closes the connection.

    Args:
        control_number: descriptor of the connection.
        data: of the :class:`Layout` of its children.
        temporary: folder of the system in which the user's own is.
    """
    host = os.getppid()
    try:
        layout = Layout.from_data(data)
        for name in layout.preload:
            with contextlib.suppress(Exception):  # such an import fails in the child, too
                importlib.import_module(name)
        # The thread that started this process may block signals, which children would inherit.
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        # A child hands its listener over before it lowers this limit, see descriptor_passing.
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        _warm_up()
        end = ForkServer(socket.socket(fileno=control_number)).serve()
    except KeyboardInterrupt:
        os._exit(0)
    except Exception as error:
        _write_failure("the fork server failed", error)
        os._exit(0)
    if isinstance(end, _Forked):
        _run_child(end, layout)
    if end is not _ServerEnd.HOST:
        os._exit(0)
    # The files of a process that ends are closed some time before it has no children.
    deadline = Deadline(_HOST_SECONDS)
    while os.getppid() == host and not deadline.expired():
        time.sleep(0.01)
    tempfile.tempdir = temporary
    with contextlib.suppress(ForkError):
        remove_abandoned()


def _warm_up() -> None:
    # Children inherit it done.
    libc()
    seccomp.warm_up()
    warm_up()
    file_attributes.drop_refusals()
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
        self._counts = UserCounts()
        self._supervisors: dict[int, CallSupervisor] = {}
        # Child -> descriptors, see _keep_process_files().
        self._process_files: dict[int, list[int]] = {}
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

    def serve(self) -> _Forked | _ServerEnd:
        """Serve requests until the host closes the control socket, or the server is idle.

        Returns:
            Why it ended; in a child, what the child begins with.
        """
        self._control.sendall(b"R")
        is_child = False
        try:
            while True:
                events = self._selector.select(IDLE_SECONDS)
                if not events and not self._children:
                    return _ServerEnd.ORDERLY
                for key, _ in events:
                    if key.data == "control":
                        end = self._request()
                        if end is not None:
                            return end
                    elif key.data == "wake":
                        self._reap()
                    elif isinstance(key.data, CallSupervisor):
                        if self._supervisors.get(key.data.pid) is key.data:
                            key.data.answer()
                    elif isinstance(key.data, _Starting):
                        self._progress(key.data)
                    elif self._children.get(key.data) is key.fileobj:
                        # A child reaped earlier in the same batch no longer has one.
                        self._status(key.data)
        except _Forked as forked:
            is_child = True
            self._selector.close()  # it refers to itself
            return forked.with_traceback(None)
        finally:
            if not is_child:
                self._end_all()

    def _request(self) -> _ServerEnd | None:
        data, descriptors = _received(self._control, REQUEST.size)
        if len(data) < REQUEST.size:
            return _ServerEnd.ORDERLY if data else _ServerEnd.HOST
        (threads,) = REQUEST.unpack(data)
        try:
            answer = self._start(threads, descriptors)
        except OSError as error:
            # The other children go on: only this request is refused.
            answer = -(error.errno or errno.EAGAIN)
        for descriptor in descriptors:
            os.close(descriptor)
        self._control.sendall(ANSWER.pack(answer))
        return None

    def _start(self, threads: int, descriptors: list[int]) -> int:
        """Start a child, which has copies of the descriptors; return its process number.

        Raises:
            OSError: the system has no descriptor, process or memory left.
        """
        if len(descriptors) != _DESCRIPTORS:  # the kernel drops those for which no number is left
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        status = socket.socket(fileno=os.dup(descriptors[1]))
        try:
            ours, pid = _forked(descriptors)
        except OSError:
            status.close()
            raise
        self._children[pid] = status
        self._keep_process_files(pid)
        starting = _Starting(ours, pid, threads)
        try:
            self._selector.register(status, selectors.EVENT_READ, pid)
            self._selector.register(ours, selectors.EVENT_READ, starting)
        except OSError:
            _signal(pid, signal.SIGKILL)
            raise
        return pid

    def _keep_process_files(self, pid: int) -> None:
        """Keep open what a process may read about itself.

        A rule of Landlock is about an inode. Those in ``/proc`` are made again for the same name
        when the kernel has dropped its caches, except while a descriptor refers to them.
        """
        self._process_files[pid] = found = []
        with contextlib.suppress(OSError):  # no more descriptors: the rules hold until then
            for name in OWN_PROCESS_FILES:
                found.append(os.open(f"/proc/{pid}/{name}", os.O_PATH | os.O_CLOEXEC))

    def _progress(self, starting: _Starting) -> None:
        """Take the listener of a child, until the child is ready."""
        listener = take_listener(starting.channel)
        if listener is None:
            self._selector.unregister(starting.channel)
            starting.channel.close()
            return
        supervisor = CallSupervisor(listener, starting.pid, starting.threads, self._counts)
        if starting.pid not in self._children:  # it ended meanwhile
            supervisor.close()
            return
        self._supervisors[starting.pid] = supervisor
        self._selector.register(supervisor, selectors.EVENT_READ, supervisor)

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
        for descriptor in self._process_files.pop(pid, []):
            os.close(descriptor)
        status = self._children.pop(pid, None)
        if status is None:
            return
        supervisor = self._supervisors.pop(pid, None)
        if supervisor is not None:
            self._selector.unregister(supervisor)
            supervisor.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)  # all processes it started
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(status)
        with contextlib.suppress(OSError):
            status.send(EXIT.pack(code))
        status.close()

    def _end_all(self) -> None:
        # The host has ended or no longer needs this process: leave nothing behind.
        for pid in self._children:
            _signal(pid, signal.SIGKILL)


def _run_child(forked: _Forked, layout: Layout) -> NoReturn:
    """Do all that a child does, in a process that was forked for it."""
    code = 70
    try:
        confinement.die_with_parent(forked.server)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        gc.collect()  # what is left of the fork server, before its descriptors have other files
        data, stops, parent = _arrange(forked.descriptors, forked.parent.detach())
        _reseed()
        threading.main_thread().name = "program"
        worker.main(data, stops, parent, layout)
        code = 0
    except SystemExit:
        code = 71
    except BaseException as error:
        _write_failure("child failed", error)
    finally:
        os._exit(code)


def _write_failure(what: str, error: BaseException) -> None:
    """Write to standard error, which the host reads, why a process ends."""
    with contextlib.suppress(OSError):
        os.write(2, f"{what}: {shortage_text(error)}\n".encode())


def _arrange(descriptors: list[int], parent: int) -> list[socket.socket]:
    """Close all descriptors but those of a child, which get the numbers that they have in it.

    Args:
        descriptors: those of its request.
        parent: of the connection to the fork server.

    Returns:
        Its connection to the host, that for runs to stop, and that to the fork server.
    """
    data, _, output, stops = descriptors
    for number in (2, 1):  # the errors first, so that the host learns of a failure
        os.dup2(output, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    first = 3
    for number in (*sorted((data, stops, parent)), 1 << 16):
        os.closerange(first, number)
        first = number + 1
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    first = _FIRST_OWN
    if most != resource.RLIM_INFINITY:
        first = min(first, most - _NUMBERS_ABOVE)
    ends = []
    for number in (data, stops, parent):
        ends.append(socket.socket(fileno=fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, first)))
        os.close(number)
    return ends


def _forked(descriptors: list[int]) -> tuple[socket.socket, int]:
    """Fork a child; return the connection to it, and its number.

    Args:
        descriptors: those of its request.

    Raises:
        OSError: the system has no descriptor, process or memory left.
        _Forked: this is the child.
    """
    server = os.getpid()
    ours, theirs = socket.socketpair()
    try:
        pid = os.fork()
    except OSError:
        ours.close()
        theirs.close()
        raise
    if pid == 0:
        signal.set_wakeup_fd(-1)
        raise _Forked(server, theirs, descriptors)
    theirs.close()
    return ours, pid


def _received(connection: socket.socket, size: int) -> tuple[bytes, list[int]]:
    """Receive so many bytes, and descriptors; fewer if the other side has closed."""
    try:
        data, descriptors, _, _ = socket.recv_fds(
            connection, size, _DESCRIPTORS, socket.MSG_WAITALL
        )
    except OSError:
        return b"", []
    return data, descriptors


def _signal(pid: int, number: int) -> None:
    # Not reaped yet, so the number still belongs to this child. Its group exists after setsid().
    if number == signal.SIGKILL:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, number)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _reseed() -> None:
    # Children of one fork server would draw the same numbers. random reseeds itself after a fork.
    numpy_random: Any = getattr(sys.modules.get("numpy"), "random", None)
    if numpy_random is not None:
        numpy_random.seed()
