"""Reader of containers' output as it comes, which notices the end of a container.

A container that ends by itself is removed by the engine, and its log with it, mostly before anybody
can ask. So the connection that holds its standard input (see the lease module) carries its output,
too. Somebody has to read that: the engine keeps about a megabyte of a stream that nobody reads, and
then the container's writes wait. One thread does it for all containers of the process. It starts
with the first of them and ends with the last.
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
    """One container's connection, as the reading thread knows it."""

    def __init__(self, handed_over: Any, tail: Tail) -> None:
        self.sock, leftover, _ = plain_socket(handed_over)
        self._held = AttachedConnection(handed_over)
        self.tail = tail
        self.unwanted = False
        self.released = False
        tail.feed(leftover)

    def read(self) -> bool:
        """Take what has come; whether there can be more."""
        try:
            while data := self.sock.recv(_READ_BYTES):
                self.tail.feed(data)
                # What TLS has decrypted already makes no socket readable.
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
        self._held.close()

    def abandon(self) -> None:
        """Close this process' copy of the descriptor only: no lock, no TLS, no farewell."""
        self.released = True
        with contextlib.suppress(OSError):
            os.close(self.sock.detach())


class _LogReader:
    """The thread that reads, and what it reads."""

    def __init__(self) -> None:
        # Held while the thread starts or ends. Never taken by discard(), which garbage collection
        # may call anywhere, also in the middle of what holds this.
        self._lock = threading.Lock()
        self._wake_lock = threading.RLock()
        self._changes: deque[_Source] = deque()
        self._sources: set[_Source] = set()
        self._thread: threading.Thread | None = None
        self._selector: selectors.BaseSelector | None = None
        self._waker: socket.socket | None = None
        self._woken: socket.socket | None = None

    def add(self, source: _Source) -> None:
        """Read it from now on.

        Raises:
            OSError: no descriptors are left.
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
        """Let the thread close it, soon. Safe anywhere, in a destructor too."""
        source.unwanted = True
        if source.released:
            return
        # As long as one is not released, the thread runs.
        self._changes.append(source)
        self._wake()

    def abandon(self) -> None:
        """Close what a forked child has of its parent's; the parent's own stays open.

        The lease ends with the process that holds it, even if a child of it lives on.
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
        # Under a lock, or the number of a closed socket could be another file's by now.
        with self._wake_lock:
            if self._waker is not None:
                with contextlib.suppress(OSError):  # full: it wakes anyway
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
            # Nobody would read them any more, and their containers would wait for ever.
            with self._lock:
                for source in self._sources:
                    source.tail.end(f"{type(error).__name__}: {error}")
                    source.release()
                self._sources.clear()
                self._changes.clear()
                self._stop()
            raise

    def _changed(self) -> selectors.BaseSelector | None:
        """The selector, with what was added and without what is not wanted; none at the end."""
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
    """A forked child has no reading thread: it begins anew, and what it inherited is not its."""
    global _log_reader
    inherited, _log_reader = _log_reader, _LogReader()
    inherited.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class LoggedConnection(AttachedConnection):
    """A connection that is kept open, and whose other end's output is read all the time.

    Args:
        handed_over: what docker-py returns for a connection it has given up.
        framed: whether the engine cuts the output into frames: it does, except for a terminal's.

    Raises:
        StreamUnsupported: there is no socket under it that a selector could wait for.
        ExecutorStartError: the process has no thread or descriptors left to read with.
    """

    def __init__(self, handed_over: Any, *, framed: bool = True) -> None:
        super().__init__(None)
        tail = Tail(framed)
        self._source = _Source(handed_over, tail)
        try:
            _log_reader.add(self._source)
        except (OSError, RuntimeError) as error:
            self._source.release()
            raise ExecutorStartError(
                f"the container's output cannot be read: {error}; close executors, or raise what "
                "this process may have (ulimit -n and -u)"
            ) from error
        self.tail = tail

    def close(self) -> None:
        """Have it closed, at once but in the reading thread. Safe at any time."""
        with contextlib.suppress(AttributeError):  # never opened
            _log_reader.discard(self._source)
