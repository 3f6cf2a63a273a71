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
import errno
import fcntl
import functools
import gc
import importlib
import os
import resource
import selectors
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ..guest.guest_worker import warm_up
from ..system.descriptor_passing import receive_descriptor
from ..system.shortages import shortage_text
from . import confinement, worker
from .restrictions import file_attributes, seccomp
from .restrictions.call_supervisor import CallSupervisor
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
_DESCRIPTORS = 4  # data socket, status socket, socket for runs to stop, output
# First of the numbers that a child's own descriptors have. They are above its limit of descriptors:
# a program that closes all that it may have opened does not close them.
_FIRST_OWN = 1000
# Numbers above the first.
_NUMBERS_ABOVE = 16


@dataclass
class _Child:
    """A child, as its fork server knows it.

    Attributes:
        pid: its process number.
        status: connection to the host.
        channel: connection to the child, which sends the listener of its filter.
        threads: largest number of its threads.
        supervisor: answers its filter; ``None`` before the listener has come.
        files: what it may read about itself, kept open. A rule of Landlock is about an inode; those
            in ``/proc`` are made again for the same name when the kernel has dropped its caches,
            except while a descriptor refers to them.
    """

    pid: int
    status: socket.socket
    channel: socket.socket
    threads: int
    supervisor: CallSupervisor | None = None
    files: list[int] = field(default_factory=list)


class _Forked(BaseException):
    """Raised in a child, to leave the frames of the fork server; has all that the child has of it.

    Args:
        server: process id of the fork server.
        parent: descriptor of the connection to it.
        descriptors: those of the request.
    """

    def __init__(self, server: int, parent: int, descriptors: list[int]) -> None:
        super().__init__()
        self.server = server
        self.parent = parent
        self.descriptors = descriptors


def main(control_number: int, data: dict[str, Any]) -> None:
    """Serve the host until it closes the connection.

    Args:
        control_number: descriptor of the connection.
        data: of the :class:`Layout` of its children.
    """
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
        forked = ForkServer(socket.socket(fileno=control_number)).serve()
    except KeyboardInterrupt:
        os._exit(0)
    except Exception as error:
        _write_failure("the fork server failed", error)
        os._exit(0)
    if forked is None:
        os._exit(0)
    _run_child(forked, layout)


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
        self._children: dict[int, _Child] = {}
        self._counts = UserCounts()
        self._is_over = False
        self._wake, self._wake_up = socket.socketpair()
        for end in (self._wake, self._wake_up):
            end.setblocking(False)
        signal.set_wakeup_fd(self._wake_up.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        # Ctrl-C on a terminal signals the whole group; only the host decides about children.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._selector.register(control, selectors.EVENT_READ, (None, self._answer))
        self._selector.register(self._wake, selectors.EVENT_READ, (None, self._reap))

    def serve(self) -> _Forked | None:
        """Serve requests until the host closes the control socket, or the server is idle.

        Returns:
            what a child begins with; ``None`` in the server, at its end.
        """
        server = os.getpid()
        self._control.sendall(b"R")
        try:
            while not self._is_over:
                events = self._selector.select(IDLE_SECONDS)
                if not events and not self._children:
                    self._is_over = True
                for key, _ in events:
                    child, action = key.data
                    # One that was reaped earlier in the same batch has nothing any more.
                    if child is None or self._children.get(child.pid) is child:
                        action()
            return None
        except _Forked as forked:
            self._selector.close()  # it refers to itself
            return forked.with_traceback(None)
        finally:
            if os.getpid() == server:
                # The host has ended or no longer needs this process: leave nothing behind.
                for pid in self._children:
                    _signal(pid, signal.SIGKILL)

    def _watch(self, child: _Child, source: Any, action: Callable[[], None]) -> None:
        self._selector.register(source, selectors.EVENT_READ, (child, action))

    def _answer(self) -> None:
        """Answer a request for a child; note the end of the host."""
        data, descriptors = _receive(self._control, REQUEST.size)
        if len(data) < REQUEST.size:
            self._is_over = True
            return
        (threads,) = REQUEST.unpack(data)
        try:
            answer = self._start(threads, descriptors)
        except OSError as error:
            # The other children go on: only this request is refused.
            answer = -(error.errno or errno.EAGAIN)
        for descriptor in descriptors:
            os.close(descriptor)
        self._control.sendall(ANSWER.pack(answer))

    def _start(self, threads: int, descriptors: list[int]) -> int:
        """Start a child, which has copies of the descriptors; return its process number.

        Raises:
            OSError: the system has no descriptor, process or memory left.
            _Forked: this is the child.
        """
        if len(descriptors) != _DESCRIPTORS:  # the kernel drops those for which no number is left
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        server = os.getpid()
        with contextlib.ExitStack() as failed:
            status = failed.enter_context(socket.socket(fileno=os.dup(descriptors[1])))
            ours, theirs = socket.socketpair()
            failed.enter_context(ours)
            with theirs:
                pid = os.fork()
                if pid == 0:
                    failed.pop_all()
                    signal.set_wakeup_fd(-1)
                    raise _Forked(server, theirs.detach(), descriptors)
            failed.pop_all()
        self._adopt(_Child(pid, status, ours, threads))
        return pid

    def _adopt(self, child: _Child) -> None:
        """Serve a child that was forked; kill it if a descriptor is missing."""
        self._children[child.pid] = child
        try:
            self._watch(child, child.status, functools.partial(self._obey, child))
            self._watch(child, child.channel, functools.partial(self._supervise, child))
        except OSError:
            _signal(child.pid, signal.SIGKILL)
            raise
        with contextlib.suppress(OSError):  # no more descriptors: the rules hold until then
            for name in OWN_PROCESS_FILES:
                child.files.append(os.open(f"/proc/{child.pid}/{name}", os.O_PATH))

    def _supervise(self, child: _Child) -> None:
        """Take the listener of a child, until the child is ready."""
        listener = receive_descriptor(child.channel)
        if listener is None:
            self._selector.unregister(child.channel)
            child.channel.close()
            return
        child.supervisor = CallSupervisor(listener, child.pid, child.threads, self._counts)
        self._watch(child, child.supervisor, child.supervisor.answer)

    def _obey(self, child: _Child) -> None:
        """Send a child the signals that its host has asked for."""
        try:
            commands = child.status.recv(64)
        except OSError:
            commands = b""
        if not commands:
            commands = b"K"  # the host closed the socket, or died
            self._selector.unregister(child.status)
        for letter in commands:
            number = SIGNALS.get(bytes([letter]))
            if number is not None:
                _signal(child.pid, number)

    def _reap(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._wake.recv(4096):
                pass
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                child = self._children.pop(pid, None)
                if child is not None:
                    self._bury(child, os.waitstatus_to_exitcode(status))

    def _bury(self, child: _Child, code: int) -> None:
        """Tell the host how a child has ended, and close what was its."""
        ends: list[socket.socket | CallSupervisor] = [child.status, child.channel]
        if child.supervisor is not None:
            ends.append(child.supervisor)
        for end in ends:
            with contextlib.suppress(KeyError, ValueError):  # not watched any more
                self._selector.unregister(end)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)  # all processes it started
        with contextlib.suppress(OSError):
            child.status.send(EXIT.pack(code))
        for number in child.files:
            os.close(number)
        for end in ends:
            end.close()


def _run_child(forked: _Forked, layout: Layout) -> NoReturn:
    """Do all that a child does, in a process that was forked for it."""
    code = 70
    try:
        confinement.die_with_parent(forked.server)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        gc.collect()  # what is left of the fork server, before its descriptors have other files
        data, stops, parent = _arrange(forked.descriptors, forked.parent)
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
    data, _, stops, output = descriptors
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


def _receive(connection: socket.socket, size: int) -> tuple[bytes, list[int]]:
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
