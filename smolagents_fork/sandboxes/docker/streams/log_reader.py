"""Reader of containers' output, and writer to their first processes.

The engine removes a container that ends by itself, and its log with it, mostly before the log can
be read. So the connection to its standard input (see the lease module) carries its output, too.
The engine buffers about a megabyte of output that is not read; then the container's writes block.
One thread reads for all containers of the process. It starts with the first and ends with the
last. It also renews their leases and asks their first processes, by writing to the same
connections: only one thread may use a connection with TLS. When a connection is lost, or its first
process does not answer, and its container runs on, another thread attaches again.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from ....errors import ExecutorStartError
from ....first_process_link import END, RENEWAL, FirstProcess
from ....forks import reset_in_child
from .exec_stream import AttachedConnection
from .log_tail import Tail

__all__ = ["LoggedConnection", "Renewal"]

_READ_BYTES = 262_144
# Renewals of each lease. The host process may be late for all but one. A connection counts as cut
# at the renewal after which as many have had no answer.
_RENEWALS = 5
_UNANSWERED = 1.5
# Pauses between attempts to attach again.
_FIRST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 1.0


@dataclass(frozen=True)
class Renewal:
    """Renewal of a container's lease.

    Attributes:
        seconds: the lease.
        attach: returns another attached connection, or ``None`` when the container has ended;
            raises when the engine does not answer.
    """

    seconds: float
    attach: Callable[[], socket.socket | None]


@dataclass
class _Line:
    """The connections to one container, each in place of the one before.

    Attributes:
        tail: the end of the container's output.
        renewal: of its lease; ``None`` if that is not renewed.
        first_process: of the container; ``None`` if it cannot be written to.
        source: the present connection.
        closed: whether no other may follow.
    """

    tail: Tail
    renewal: Renewal | None
    first_process: FirstProcess | None = None
    source: _LogSource | None = None
    closed: bool = False


class _LogSource:
    """Connection to one container, of the reading thread."""

    def __init__(self, attached: socket.socket, line: _Line) -> None:
        self.sock = attached
        self._connection = AttachedConnection(attached)
        self.line = line
        self.unwanted = False
        self.released = False
        # Of the next renewal, on the monotonic clock; the first is due at once.
        self.due = 0.0 if line.renewal is not None else float("inf")
        # Requests to the first process.
        self.unsent: deque[bytes] = deque()

    def read(self) -> bool:
        """Read the bytes that have arrived; return whether there can be more."""
        try:
            while data := self.sock.recv(_READ_BYTES):
                self.line.tail.feed(data)
                # A socket is not readable because of bytes that TLS has decrypted already.
                if not (isinstance(self.sock, ssl.SSLSocket) and self.sock.pending()):
                    return True
        except (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return True
        except Exception as error:
            self.end(f"{type(error).__name__}: {error}")
            return False
        self.end()
        return False

    def end(self, broken: str = "") -> None:
        """Attach again if the lease has to be renewed; otherwise note the end of the output.

        Args:
            broken: the error, if the connection ended early.
        """
        line = self.line
        if line.first_process is not None:
            line.first_process.reconnect(False)
        if line.renewal is None or line.closed:
            line.tail.end(broken)
            return
        arguments = (line, line.renewal)
        try:
            threading.Thread(
                target=_attach_again, args=arguments, name="smolagents-fork-lease", daemon=True
            ).start()
        except RuntimeError as error:  # no thread can be started
            line.tail.end(f"{broken} ({error})")

    def write(self, now: float) -> None:
        """Send the requests, and renew the lease if that is due.

        Args:
            now: on the monotonic clock.
        """
        renewal, first = self.line.renewal, self.line.first_process
        if renewal is not None and now >= self.due:
            self.due = now + renewal.seconds / _RENEWALS
            if first is None or not first.ask():
                self.unsent.append(RENEWAL)
        # An error is met by the next read, too; a full connection is that of a hanging engine.
        with contextlib.suppress(OSError, ValueError):
            while self.unsent:
                self.sock.send(self.unsent.popleft())

    @property
    def is_silent(self) -> bool:
        """Tell whether the first process has been silent for so long that the connection is cut."""
        renewal, first = self.line.renewal, self.line.first_process
        if renewal is None or first is None:
            return False
        return first.silent_seconds > renewal.seconds * _UNANSWERED / _RENEWALS

    def end_container(self) -> None:
        """Ask the first process to end its container at once; the engine may take a while."""
        if self.line.first_process is not None and not self.unsent:
            with contextlib.suppress(OSError, ValueError):
                self.sock.send(END)

    def release(self) -> None:
        """Close the connection, and with it the container's standard input."""
        self.released = True
        self._connection.close()


class _LogReader:
    """The reading thread and its connections."""

    def __init__(self) -> None:
        # Acquired while the thread starts or ends. Never by discard(), which garbage collection may
        # call anywhere, also in a thread that has the lock.
        self._lock = threading.Lock()
        self._wake_lock = threading.RLock()
        self._changes: deque[_LogSource] = deque()
        self._sources: set[_LogSource] = set()
        self._thread: threading.Thread | None = None
        self._selector: selectors.BaseSelector | None = None
        self._waker: socket.socket | None = None
        self._woken: socket.socket | None = None

    def add(self, source: _LogSource) -> None:
        """Start to read a connection.

        Raises:
            OSError: the process has no free descriptors.
            RuntimeError: no thread can be started.
        """
        with self._lock:
            self._sources.add(source)
            self._changes.append(source)
            try:
                if self._thread is None:
                    self._start()
            except BaseException:
                self._sources.discard(source)
                self._changes.remove(source)
                self._stop()
                raise
        self._wake()

    def discard(self, source: _LogSource) -> None:
        """Have the thread close a connection. Safe anywhere, also in a destructor."""
        source.unwanted = True
        if source.released:
            return
        # The thread runs as long as one connection is not released.
        self._changes.append(source)
        self._wake()

    def send(self, source: _LogSource, data: bytes) -> None:
        """Have the thread send a request."""
        source.unsent.append(data)
        self._wake()

    def abandon(self) -> None:
        """Forget the connections in a forked child, which has no copies of them."""
        for source in self._sources:
            source.released = True
        for part in (self._selector, self._waker, self._woken):
            if part is not None:
                part.close()

    def _start(self) -> None:
        self._waker, self._woken = socket.socketpair()
        self._waker.setblocking(False)
        self._woken.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._woken, selectors.EVENT_READ)
        thread = threading.Thread(target=self._work, name="smolagents-fork-output", daemon=True)
        thread.start()
        self._thread = thread

    def _stop(self) -> None:
        self._thread = None
        with self._wake_lock:
            parts = (self._selector, self._waker, self._woken)
            self._selector = self._waker = self._woken = None
            for part in parts:
                if part is not None:
                    part.close()

    def _wake(self) -> None:
        # Under a lock: the descriptor of a closed socket could be another file's by now.
        with self._wake_lock:
            if self._waker is not None:
                with contextlib.suppress(OSError):  # full: the thread wakes anyway
                    self._waker.send(b"\0")

    def _work(self) -> None:
        try:
            while selector := self._changed():
                for key, _ in selector.select(self._written(selector)):
                    source: _LogSource | None = key.data
                    if source is None:
                        assert self._woken is not None
                        self._woken.recv(4096)
                    elif not source.read():
                        self._drop(source, selector)
        except BaseException as error:
            # Their output would not be read, and the containers' writes would block for ever.
            with self._lock:
                for source in self._sources:
                    source.line.tail.end(f"{type(error).__name__}: {error}")
                    source.release()
                self._sources.clear()
                self._changes.clear()
                self._stop()
            raise

    def _written(self, selector: selectors.BaseSelector) -> float | None:
        """Send requests and renew leases; return the seconds until the next renewal."""
        with self._lock:
            sources = tuple(self._sources)  # others add theirs meanwhile, and wake this thread
        now = time.monotonic()
        for source in sources:
            source.write(now)
            if source.is_silent:
                source.end("the first process does not answer")
                self._drop(source, selector)
        due = min((source.due for source in sources), default=float("inf"))
        return None if due == float("inf") else max(0.0, due - now)

    def _changed(self) -> selectors.BaseSelector | None:
        """Apply additions and removals; return the selector, or ``None`` without connections."""
        with self._lock:
            selector = self._selector
            assert selector is not None
            while self._changes:
                source = self._changes.popleft()
                if source.released:
                    continue
                if source.unwanted:
                    source.end_container()
                    self._drop(source, selector)
                    continue
                try:
                    selector.register(source.sock, selectors.EVENT_READ, source)
                except (OSError, ValueError) as error:
                    source.end(f"{type(error).__name__}: {error}")
                    self._drop(source, selector)
                    continue
                # TLS may have decrypted bytes of the stream together with the answer's head.
                if not source.read():
                    self._drop(source, selector)
            if self._sources:
                return selector
            self._stop()
            return None

    def _drop(self, source: _LogSource, selector: selectors.BaseSelector) -> None:
        with contextlib.suppress(KeyError, ValueError):  # not registered yet
            selector.unregister(source.sock)
        source.release()
        self._sources.discard(source)


_log_reader = _LogReader()


@reset_in_child
def _after_fork() -> None:
    """Reset a forked child, which has no reading thread and does not own the connections."""
    global _log_reader
    inherited, _log_reader = _log_reader, _LogReader()
    inherited.abandon()


def _attach_again(line: _Line, renewal: Renewal) -> None:
    """Replace a lost connection, unless the container has ended or its lease is over."""
    end = time.monotonic() + renewal.seconds
    pause = _FIRST_PAUSE_SECONDS
    while not line.closed:
        # First a pause: the engine closes the output before it reports the end of the container.
        time.sleep(pause)
        pause = min(_LONGEST_PAUSE_SECONDS, pause * 2)
        try:
            attached = renewal.attach()
            if attached is None:
                break
            _replace(line, attached)
        except Exception as error:
            if time.monotonic() < end:
                continue
            line.tail.end(f"{type(error).__name__}: {error}")
            return
        return
    line.tail.end()


def _replace(line: _Line, attached: socket.socket) -> None:
    """Continue a line with another connection.

    Raises:
        OSError, RuntimeError: the process can have no more threads or descriptors.
    """
    line.tail.restart()
    line.source = source = _LogSource(attached, line)
    if line.first_process is not None:
        line.first_process.reconnect(True)
    try:
        _log_reader.add(source)
    except BaseException:
        source.release()
        raise
    if line.closed:
        _log_reader.discard(source)


def _send(line: _Line, data: bytes) -> None:
    if line.source is not None:
        _log_reader.send(line.source, data)


class LoggedConnection(AttachedConnection):
    """A connection that is kept open and whose output is read all the time.

    If it is lost while the container's lease is renewed, another takes its place.

    Args:
        attached: its socket, which does not block.
        framed: whether the engine sends the output in frames, which it does except for a terminal.
        renewal: of the container's lease; ``None`` if that is not renewed.

    Raises:
        ExecutorStartError: the process can have no more threads or descriptors.
    """

    def __init__(
        self, attached: socket.socket, *, framed: bool = True, renewal: Renewal | None = None
    ) -> None:
        super().__init__(None)
        # Not a method: a destructor closes this object, which must be in no cycle.
        first = FirstProcess(lambda data: _send(line, data)) if framed and renewal else None
        line = _Line(Tail(framed, first.feed if first is not None else None), renewal, first)
        line.source = source = _LogSource(attached, line)
        try:
            _log_reader.add(source)
        except (OSError, RuntimeError) as error:
            source.release()
            raise ExecutorStartError(
                f"the container's output cannot be read: {error}; close executors, or raise the "
                "limits of this process (ulimit -n and -u)"
            ) from None
        self._line = line
        self.tail = line.tail
        #: The container's first process; ``None`` where it cannot be written to.
        self.first_process = first

    def close(self) -> None:
        """Have the reading thread close it. Idempotent, at any time."""
        with contextlib.suppress(AttributeError):  # never opened
            # In this order: a thread that attaches again reads the mark after it sets the source.
            self._line.closed = True
            if self._line.source is not None:
                _log_reader.discard(self._line.source)
