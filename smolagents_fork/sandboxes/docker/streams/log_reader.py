"""Reader of containers' output, which keeps its end and notices the end of a container.

The engine removes a container that ends by itself, and its log with it, mostly before the log can
be read. So the connection to its standard input (see the lease module) carries its output, too.
The engine buffers about a megabyte of output that is not read; then the container's writes block.
One thread reads for all containers of the process. It starts with the first and ends with the
last.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import ssl
import threading
from collections import deque
from typing import Any

from ....errors import ExecutorStartError
from .exec_stream import AttachedConnection, plain_socket
from .log_tail import Tail

__all__ = ["LoggedConnection"]

_READ_BYTES = 262_144


class _Source:
    """Connection to one container, of the reading thread."""

    def __init__(self, attached: Any, tail: Tail) -> None:
        self.sock, leftover, _ = plain_socket(attached)
        self._connection = AttachedConnection(attached)
        self.tail = tail
        self.unwanted = False
        self.released = False
        tail.feed(leftover)

    def read(self) -> bool:
        """Read the bytes that have arrived; return whether there can be more."""
        try:
            while data := self.sock.recv(_READ_BYTES):
                self.tail.feed(data)
                # A socket is not readable because of bytes that TLS has decrypted already.
                if not (isinstance(self.sock, ssl.SSLSocket) and self.sock.pending()):
                    return True
        except (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return True
        except Exception as error:
            self.tail.end(f"{type(error).__name__}: {error}")
            return False
        self.tail.end()
        return False

    def release(self) -> None:
        """Close the connection, and with it the container's standard input."""
        self.released = True
        self._connection.close()

    def abandon(self) -> None:
        """Close this process's copy of the descriptor only, without locks and TLS messages."""
        self.released = True
        with contextlib.suppress(OSError):
            os.close(self.sock.detach())


class _LogReader:
    """The reading thread and its connections."""

    def __init__(self) -> None:
        # Acquired while the thread starts or ends. Never by discard(), which garbage collection may
        # call anywhere, also in a thread that has the lock.
        self._lock = threading.Lock()
        self._wake_lock = threading.RLock()
        self._changes: deque[_Source] = deque()
        self._sources: set[_Source] = set()
        self._thread: threading.Thread | None = None
        self._selector: selectors.BaseSelector | None = None
        self._waker: socket.socket | None = None
        self._woken: socket.socket | None = None

    def add(self, source: _Source) -> None:
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

    def discard(self, source: _Source) -> None:
        """Have the thread close a connection. Safe anywhere, also in a destructor."""
        source.unwanted = True
        if source.released:
            return
        # The thread runs as long as one connection is not released.
        self._changes.append(source)
        self._wake()

    def abandon(self) -> None:
        """Close a forked child's copies of its parent's connections; the parent's stay open.

        Otherwise the lease would not end with the parent while the child runs.
        """
        for source in self._sources:
            source.abandon()
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
                for key, _ in selector.select():
                    source: _Source | None = key.data
                    if source is None:
                        assert self._woken is not None
                        self._woken.recv(4096)
                    elif not source.read():
                        self._drop(source, selector)
        except BaseException as error:
            # Their output would not be read, and the containers' writes would block for ever.
            with self._lock:
                for source in self._sources:
                    source.tail.end(f"{type(error).__name__}: {error}")
                    source.release()
                self._sources.clear()
                self._changes.clear()
                self._stop()
            raise

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
                    self._drop(source, selector)
                    continue
                try:
                    selector.register(source.sock, selectors.EVENT_READ, source)
                except (OSError, ValueError) as error:
                    source.tail.end(f"{type(error).__name__}: {error}")
                    self._drop(source, selector)
            if self._sources:
                return selector
            self._stop()
            return None

    def _drop(self, source: _Source, selector: selectors.BaseSelector) -> None:
        with contextlib.suppress(KeyError, ValueError):  # not registered yet
            selector.unregister(source.sock)
        source.release()
        self._sources.discard(source)


_log_reader = _LogReader()


def _after_fork() -> None:
    """Reset a forked child, which has no reading thread and does not own the connections."""
    global _log_reader
    inherited, _log_reader = _log_reader, _LogReader()
    inherited.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class LoggedConnection(AttachedConnection):
    """A connection that is kept open and whose output is read all the time.

    Args:
        attached: docker-py's object for it.
        framed: whether the engine sends the output in frames, which it does except for a terminal.

    Raises:
        StreamUnsupported: the connection is not a plain socket.
        ExecutorStartError: the process can have no more threads or descriptors.
    """

    def __init__(self, attached: Any, *, framed: bool = True) -> None:
        super().__init__(None)
        tail = Tail(framed)
        self._source = _Source(attached, tail)
        try:
            _log_reader.add(self._source)
        except (OSError, RuntimeError) as error:
            self._source.release()
            raise ExecutorStartError(
                f"the container's output cannot be read: {error}; close executors, or raise the "
                "limits of this process (ulimit -n and -u)"
            ) from error
        self.tail = tail

    def close(self) -> None:
        """Have the reading thread close it. Idempotent, at any time."""
        with contextlib.suppress(AttributeError):  # never opened
            _log_reader.discard(self._source)
