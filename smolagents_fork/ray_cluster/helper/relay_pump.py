"""Helper process's end of a relayed stream."""

from __future__ import annotations

import contextlib
import functools
import itertools
import select
import socket
import threading
from collections.abc import Callable

from ...deadline import Deadline
from ...errors import ExecutorError, ExecutorStartError, ProtocolError
from ..links.relay_frames import RelayAnswer
from ..links.relayed_transport import CHUNK_BYTES, WAIT_SECONDS, WINDOW, ChunkOrder

__all__ = ["Arrived", "Exchange", "RelayPump"]

# Calls that wait for the sandbox at once. The second is there for a chunk that comes before the
# host has answered the first.
_MOST_WAITING = 2
# Time that a call may take, in seconds.
_CALL_SECONDS = WAIT_SECONDS + 30.0
# Pause while the sandbox does not read, in seconds.
_BUSY_SECONDS = 0.02
# Time for the sandbox to take what the host sent before it closed its end, in seconds.
_REST_SECONDS = 30.0
# Wait for a host that does not read, in seconds; its end is noticed.
_TICK_SECONDS = 60.0

#: Takes a function that returns the answer to a call, or raises why there is none.
Arrived = Callable[[Callable[[], RelayAnswer]], None]
#: Begins a call: number, chunk, whether it waits for the sandbox, and what takes the answer.
Exchange = Callable[[int, bytes, bool, Arrived], None]


class RelayPump:
    """Passes bytes on between the host and a node, in calls.

    A call takes a chunk there and brings another back, so a question of the sandbox and the host's
    answer cost one. The thread in which an answer arrives gives its chunk to the host. It is one
    that Ray needs, and never waits.

    Args:
        end: the host's end of the stream; closed at the end.
        exchange: begins a call.
        close: ends the node's end.
    """

    def __init__(self, end: socket.socket, exchange: Exchange, close: Callable[[], None]) -> None:
        self._end = end
        self._exchange = exchange
        self._close = close
        self._woken, self._waker = socket.socketpair()
        for one in (end, self._woken, self._waker):
            one.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._woken, select.POLLIN)
        self._polled = 0
        self._host_ended = False
        self._rest = self._pause = Deadline(0.0)
        self._keys = itertools.count()
        # What follows is changed under the lock.
        self._lock = threading.Lock()
        self._calls: dict[int, Deadline] = {}
        self._waiting = 0
        self._sent = 0
        self._written = 0
        self._order = ChunkOrder()
        self._unread = bytearray()
        self._node_ended = False
        self._closed = False

    def run(self) -> None:
        """Pass bytes on until the stream ends; blocks."""
        try:
            while not self._finished():
                self._begin_due()
                self._wait()
        except (OSError, ExecutorError):
            pass
        finally:
            with self._lock:
                self._closed = True
            self._close()
            with contextlib.suppress(OSError):
                self._end.shutdown(socket.SHUT_RDWR)
            for one in (self._end, self._woken, self._waker):
                one.close()

    # -- in the thread of run() --

    def _finished(self) -> bool:
        """Return whether the stream has ended at one end, and the other has all of it."""
        with self._lock:
            if self._host_ended:
                return self._node_ended or self._written == self._sent or self._rest.expired()
            return self._node_ended and not self._unread

    def _lags(self) -> bool:
        """Return whether the sandbox must read before more is sent. The caller has the lock."""
        most = 0 if self._host_ended else WINDOW - 1
        return self._sent - self._written > most

    def _is_stalled(self) -> bool:
        """Return whether it lags, and no call says when that ends. The caller has the lock."""
        return self._lags() and len(self._calls) == self._waiting

    def _begin_due(self) -> None:
        with self._lock:
            waits = not (self._waiting or self._unread or self._host_ended)
            asks = self._is_stalled() and self._pause.expired()
        if waits or asks:
            self._begin(b"", waits=waits)
        if asks:
            self._pause = Deadline(_BUSY_SECONDS)

    def _begin(self, chunk: bytes, *, waits: bool) -> None:
        with self._lock:
            key, number = next(self._keys), self._sent
            self._calls[key] = Deadline(_CALL_SECONDS)
            self._waiting += waits
            self._sent += bool(chunk)
        self._exchange(number, chunk, waits, functools.partial(self._arrived, key, waits))

    def _wait(self) -> None:
        """Wait for the host, an answer or the next moment at which something is due."""
        with self._lock:
            lags, unread = self._lags(), bool(self._unread)
            oldest = next(iter(self._calls.values()), Deadline(_TICK_SECONDS))
            paused = self._is_stalled()
        if oldest.expired():
            raise ExecutorStartError(f"its node did not answer within {_CALL_SECONDS:.0f} s")
        # At its end a socket is always ready: it is not asked while nothing is done about that.
        reads = not lags and not self._host_ended
        self._poll_end((select.POLLIN if reads else 0) | (select.POLLOUT if unread else 0))
        seconds = (self._pause if paused else oldest).at_most(_TICK_SECONDS)
        if self._host_ended:
            seconds = self._rest.at_most(seconds)
        for number, _ in self._poll.poll(seconds * 1000 + 1):
            if number == self._woken.fileno():
                self._woken.recv(4096)
                continue
            if unread:
                with self._lock:
                    self._flush()
            if reads:
                self._read()

    def _poll_end(self, events: int) -> None:
        if events == self._polled:
            return
        if events:
            self._poll.register(self._end, events)
        else:
            self._poll.unregister(self._end)
        self._polled = events

    def _read(self) -> None:
        try:
            data = self._end.recv(CHUNK_BYTES)
        except BlockingIOError:
            return
        if data:
            # Without the lock, for answers alone change it meanwhile: to fewer.
            self._begin(data, waits=self._waiting < _MOST_WAITING and not self._unread)
        else:
            self._host_ended, self._rest = True, Deadline(_REST_SECONDS)

    # -- in threads of Ray --

    def _arrived(self, key: int, waits: bool, answer: Callable[[], RelayAnswer]) -> None:
        found: RelayAnswer | None = None
        # Without an answer the stream has ended, or the node is lost, which is said elsewhere.
        with contextlib.suppress(Exception):
            found = answer()
        with self._lock:
            if self._closed:
                return
            lagged = self._lags()
            del self._calls[key]
            self._waiting -= waits
            try:
                self._take(found)
            except ExecutorError:
                self._node_ended = True
            if lagged or self._node_ended or self._unread or not self._waiting:
                with contextlib.suppress(BlockingIOError):
                    self._waker.send(b"\0")

    def _take(self, found: RelayAnswer | None) -> None:
        """Give the host what is in order now."""
        if found is None:
            raise ExecutorError("there is no answer")
        if found.written > self._sent:
            raise ProtocolError(f"{found.written} chunks taken, of {self._sent}")
        self._written = max(self._written, found.written)
        for data in self._order.add(found.number, found.chunk) if found.brings else ():
            if not data:
                self._node_ended = True
                return
            self._deliver(data)

    def _deliver(self, data: bytes) -> None:
        count = 0
        if not self._unread:
            try:
                count = self._end.send(data)
            except BlockingIOError:
                pass
            except OSError:
                return  # The host reads no more, and its end is noticed.
        self._unread += memoryview(data)[count:]

    def _flush(self) -> None:
        try:
            count = self._end.send(self._unread)
        except BlockingIOError:
            return
        except OSError:
            count = len(self._unread)
        del self._unread[:count]
