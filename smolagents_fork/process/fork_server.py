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
import resource
import select
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
from ..shortages import shortage_text
from . import confinement, file_attributes, seccomp, worker
from .call_supervisor import CallSupervisor, take_listener
from .confinement_report import Bounds
from .descriptor_passing import send_descriptors
from .libc import libc
from .sandbox_paths import OWN_PROCESS_FILES
from .user_counts import UserCounts

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
# Numbers in a child, above the standard ones; that of the fork server is open until it is ready.
_DATA, _LOG, _PARENT = 3, 4, 5


@dataclass(frozen=True)
class _Spare:
    """A process without a program, which becomes the next child.

    It has copied the memory it will write to, and its confinement has begun, as for the child
    before it. It is trusted as the fork server is, and confined as any child before it gets a
    program.
    """

    pid: int
    channel: socket.socket
    bounds: Bounds


@dataclass(frozen=True)
class _Starting:
    """A child that is not ready; it sends the listener of its filter."""

    channel: socket.socket
    pid: int
    bounds: Bounds


def main(control_number: int) -> None:
    """Serve the host until it closes the connection; never returns."""
    try:
        # The thread that started this process may block signals, which children would inherit.
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        # A child hands its listener over before it lowers this limit, see descriptor_passing.
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        _warm_up()
        ForkServer(socket.socket(fileno=control_number)).serve()
    except KeyboardInterrupt:
        pass
    except Exception as error:
        _write_failure("the fork server failed", error)
    finally:
        os._exit(0)


def _warm_up() -> None:
    # Children inherit it done.
    libc()
    seccomp.warm_up()
    worker.rehearse()
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
        self._folders: set[str] = set()
        # Child or spare -> descriptors, see _keep_process_files().
        self._process_files: dict[int, list[int]] = {}
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
                    elif isinstance(key.data, CallSupervisor):
                        if self._supervisors.get(key.data.pid) is key.data:
                            key.data.answer()
                    elif isinstance(key.data, _Starting):
                        self._progress(key.data)
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
            ours, pid = self._handed_over(data, descriptors, bounds) or _forked(
                lambda parent: _run_child(parent, bounds, descriptors)
            )
        except OSError:
            status.close()
            raise
        self._children[pid] = status
        self._keep_process_files(pid)
        # The host removes the folders; the rest are removed after the host has ended.
        self._folders = {folder for folder in self._folders if os.path.exists(folder)}
        self._folders.add(bounds.folder)
        starting = _Starting(ours, pid, bounds)
        try:
            self._selector.register(status, selectors.EVENT_READ, pid)
            self._selector.register(ours, selectors.EVENT_READ, starting)
        except OSError:
            _signal(pid, signal.SIGKILL)
            raise
        return pid

    def _handed_over(
        self, data: bytes, descriptors: list[int], bounds: Bounds
    ) -> tuple[socket.socket, int] | None:
        """Make the spare the child of a request; ``None`` if there is none for it."""
        spare, self._spare = self._spare, None
        if spare is None:
            return None
        taken = b""
        if bounds.same_namespace(spare.bounds):
            with contextlib.suppress(OSError):
                spare.channel.settimeout(_SPARE_SECONDS)
                sent = send_descriptors(spare.channel, data, descriptors)
                spare.channel.sendall(data[sent:])
                # One that was killed a moment ago still accepts data.
                taken = spare.channel.recv(1)
                spare.channel.settimeout(None)
        if taken == _TAKEN:
            return spare.channel, spare.pid
        spare.channel.close()
        _signal(spare.pid, signal.SIGKILL)
        return None

    def _prepare_spare(self, bounds: Bounds) -> None:
        if self._spare is not None:
            return
        # Without descriptors, processes or memory, the next child is forked when it is requested.
        with contextlib.suppress(OSError):
            ours, pid = _forked(lambda parent: _run_child(parent, bounds, None))
            self._spare = _Spare(pid, ours, bounds)
            self._keep_process_files(pid)

    def _keep_process_files(self, pid: int) -> None:
        """Keep open what a process may read about itself.

        A rule of Landlock is about an inode. Those in ``/proc`` are made again for the same name
        when the kernel has dropped its caches, except while a descriptor refers to them.
        """
        if pid not in self._process_files:
            self._process_files[pid] = found = []
            with contextlib.suppress(OSError):  # no more descriptors: the rules hold until then
                for name in OWN_PROCESS_FILES:
                    found.append(os.open(f"/proc/{pid}/{name}", os.O_PATH | os.O_CLOEXEC))

    def _progress(self, starting: _Starting) -> None:
        """Take the listener of a child; when it is ready, prepare the next one."""
        listener = take_listener(starting.channel)
        if listener is None:
            self._selector.unregister(starting.channel)
            starting.channel.close()
            self._prepare_spare(starting.bounds)
            return
        threads = starting.bounds.threads
        supervisor = CallSupervisor(listener, starting.pid, threads, self._counts)
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
        if self._spare is not None and self._spare.pid == pid:
            self._spare.channel.close()
            self._spare = None
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
        if self._spare is not None:
            _signal(self._spare.pid, signal.SIGKILL)
        for pid in self._children:
            _signal(pid, signal.SIGKILL)
        for folder in self._folders:
            remove_tree(folder)


def _run_child(parent: socket.socket, bounds: Bounds, descriptors: list[int] | None) -> None:
    """Do all that a child does, in a process that was forked for it.

    Args:
        parent: connection to the fork server.
        bounds: its limits; those of the child before it if it is a spare.
        descriptors: those of its request; ``None`` for a spare, which waits for a request.
    """
    code = 70
    try:
        confinement.die_with_parent()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _arrange(descriptors, parent.detach())
        parent = socket.socket(fileno=_PARENT)
        _reseed()
        threading.main_thread().name = "program"
        begun = confinement.Confinement(bounds)
        if descriptors is None:
            request = _taken_request(parent)
            if request is None:
                return
            bounds, descriptors = request
            _arrange(descriptors, _PARENT, begun.descriptors)
        os.setsid()
        for folder in (bounds.work_folder, bounds.temporary_folder):
            with contextlib.suppress(FileExistsError):  # the child before it has made it
                os.mkdir(folder, 0o700)
        _use_folders(bounds.work_folder, bounds.temporary_folder)
        worker.main(_DATA, _LOG, begun, bounds, parent)
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


def _taken_request(parent: socket.socket) -> tuple[Bounds, list[int]] | None:
    """Return a spare's request; ``None`` if there comes none that it can serve."""
    # Writes to the pages that a start writes to, which copies them, until a request comes.
    _use_folders("/", "/")
    worker.rehearse(lambda: bool(select.select([parent], [], [], 0)[0]))
    gc.collect()
    gc.freeze()
    request = _received(parent)
    if request is None or len(request[1]) != _DESCRIPTORS:
        return None
    parent.sendall(_TAKEN)
    return _bounds_of(request[0]), request[1]


def _use_folders(work: str, temporary: str) -> None:
    os.chdir(work)
    os.environ.update(HOME=work, TMPDIR=temporary)
    file_attributes.use_folders(work, temporary)
    tempfile.tempdir = None


def _arrange(descriptors: list[int] | None, parent: int, kept: tuple[int, ...] = ()) -> None:
    """Move the descriptors of a child to the numbers that they have in it; close all others.

    Args:
        descriptors: those of its request; ``None`` if they are not known yet.
        parent: of the connection to the fork server.
        kept: numbers above those, which stay open.
    """
    if descriptors is not None:
        os.dup2(descriptors[2], 2)  # first, so that the host learns of a failure
    null = os.open(os.devnull, os.O_RDONLY)
    data, _, output, log = descriptors or [null] * _DESCRIPTORS
    moves = ((null, 0), (output, 1), (output, 2), (data, _DATA), (log, _LOG), (parent, _PARENT))
    for source, target in _kept(moves):
        os.dup2(source, target)
    first = _PARENT + 1
    for number in (*sorted(kept), 1 << 16):
        os.closerange(first, number)
        first = number + 1


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
    numpy_random: Any = getattr(sys.modules.get("numpy"), "random", None)
    if numpy_random is not None:
        numpy_random.seed()


def preload(names: list[str]) -> None:
    """Import modules that children are likely to use; a failing import fails in the child, too."""
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
