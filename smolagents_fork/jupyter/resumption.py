"""Conversation with a kernel that survives the loss of its connections.

A byte stream to a sandbox may be cut at any time: an engine on another machine is restarted, a
router forgets a connection, a node's link fails for some seconds. Both ends of a conversation count
the messages that they receive, and keep those that they have sent until the other end acknowledges
them. After a loss another connection is opened, both say how many messages they have, and those
that are missing are sent again. None is lost and none comes twice, so a call that was running goes
on, and its code runs once.

An engine gives no more than :meth:`~smolagents_fork.sandboxes.provisioner.Sandbox.open_stream`,
which is called again for each connection. The other end is ``docker/jupyter/kernel_server.py``. An
acknowledgement is a pong without an answer, sent for many messages or many bytes at once, so it
costs no round trip.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from ..errors import ExecutorError, ProtocolError
from ..system.closing import close_on_error
from ..system.forks import Owner
from .websocket import Connection, ConnectionClosed, ConnectionLost, SendTimeout, WaitTimeout

__all__ = ["ResumableConnection"]

# Messages, or bytes of them, that are received before they are acknowledged.
_ACKNOWLEDGED_MESSAGES = 32
_ACKNOWLEDGED_BYTES = 1 << 16
# Bytes of messages that are kept besides the last one, and of the objects of each. The other end
# acknowledges far fewer at a time, unless the code in the sandbox keeps it from that.
_MOST_KEPT_BYTES, _BYTES_EACH = 64 << 20, 1024
# Longest time of one attempt to open another connection. The pause before it doubles at each
# attempt of the conversation: a kernel may close every connection at once.
_ATTEMPT_SECONDS = 5.0
_FIRST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 1.0


class ResumableConnection:
    """Messages to and from one kernel, over connections that follow one another.

    It has the methods of :class:`.websocket.Connection`. Any thread may send; one at a time
    receives.

    Args:
        connection: the first connection, whose other end acknowledges messages.
        reopen: opens another one; takes the number of messages that have been received, and
            seconds. It raises ``ConnectionLost``, ``OSError`` or ``ExecutorError`` when that fails.
        may_run: returns whether the sandbox may still run; called after a loss.
        heard_at: returns when the sandbox was last heard of by another connection, on the monotonic
            clock; ``None`` if it has no other. A kernel that cannot answer is waited for as long as
            its sandbox is heard of.
        patience: seconds after which a sandbox that is not heard of is given up; without another
            connection they begin with the loss.
    """

    def __init__(
        self,
        connection: Connection,
        reopen: Callable[[int, float], Connection],
        *,
        may_run: Callable[[], bool],
        heard_at: Callable[[], float] | None,
        patience: float,
    ) -> None:
        self._reopen, self._may_run, self._heard_at = reopen, may_run, heard_at
        self._patience = patience
        self._owner = Owner()
        # Keeps messages in order, over the connection and among those that are kept.
        self._send_lock = threading.Lock()
        self._changed = threading.Condition()
        self._connection: Connection | None = connection
        self._pause = _FIRST_PAUSE_SECONDS
        # Bytes that were received over earlier connections.
        self._bytes_before = 0
        self._ended: ConnectionLost | None = None
        self._closed = False
        # Messages that the other end has not acknowledged, and the number of those that it has.
        self._kept: deque[Sequence[bytes | memoryview]] = deque()
        self._kept_bytes = self._forgotten = 0
        self._received = self._acknowledged = self._unacknowledged_bytes = 0

    @property
    def lost(self) -> bool:
        """Tell whether the connection was lost and no other has taken its place yet."""
        return self._connection is None and self._ended is None

    @property
    def received(self) -> int:
        """Bytes received so far, including those of an incomplete message."""
        connection = self._connection
        return self._bytes_before + (0 if connection is None else connection.received)

    def send(
        self,
        pieces: Sequence[bytes | memoryview],
        *,
        timeout: float,
        stop: Callable[[], bool] | None = None,
    ) -> None:
        """Send one message, now or when there is a connection again.

        Arguments as for :meth:`.websocket.Connection.send`; the pieces must not change until the
        message is answered.

        Raises:
            SendTimeout: the other end did not read this message in time, or an earlier one.
            ConnectionLost: the connection was lost, and no other could be opened in time.
        """
        if not self._send_lock.acquire(timeout=timeout):
            raise SendTimeout("earlier messages could not be sent in time")
        try:
            connection = self._connection
            if self._ended is not None:
                raise self._ended
            self._keep(pieces)
            if connection is None:
                return
            try:
                connection.send(pieces, timeout=timeout, stop=stop)
            except (SendTimeout, ConnectionClosed):
                raise
            except ConnectionLost as error:
                self._lose(connection, error)
        finally:
            self._send_lock.release()

    def ping(self, timeout: float = 1.0) -> None:
        """Send a ping over the present connection; see :meth:`.websocket.Connection.ping`."""
        connection = self._connection
        if connection is not None:
            try:
                connection.ping(timeout)
            except ConnectionLost as error:
                self._lose(connection, error)

    def receive(self, timeout: float) -> tuple[bytearray, int] | None:
        """Wait for one message; see :meth:`.websocket.Connection.receive`.

        Raises:
            WaitTimeout: no complete message arrived, or the connection was lost; the next call
                waits for another.
            ConnectionLost: it was lost, and no other could be opened in time.
            ConnectionClosed: the kernel closed it.
        """
        deadline = time.monotonic() + timeout
        with self._changed:
            self._changed.wait_for(lambda: not self.lost, timeout if self.lost else 0)
            if self._ended is not None:
                raise self._ended
            connection = self._connection
        if connection is None:
            raise WaitTimeout
        try:
            self._acknowledge(connection)
            message = connection.receive(max(0.0, deadline - time.monotonic()))
        except ConnectionClosed as error:
            self._end(error)
            raise
        except ConnectionLost as error:
            self._lose(connection, error)
            raise WaitTimeout from None
        self._forget(connection.peer_received or 0)
        if message is not None:
            self._count(connection, message)
        return message

    def lose(self, reason: str) -> None:
        """Give the present connection up and open another."""
        connection = self._connection
        if connection is not None:
            self._lose(connection, ConnectionLost(reason))

    def close(self) -> None:
        """End the conversation at once; a waiting thread gets ``ConnectionLost``. Idempotent."""
        self._closed = True
        self._end(ConnectionLost("the connection has been closed"))

    def _count(self, connection: Connection, message: tuple[bytearray, int]) -> None:
        payload, skipped = message
        with self._changed:
            if self._connection is not connection:
                raise WaitTimeout  # another thread has lost it: the message comes again
            self._received += 1
            self._unacknowledged_bytes += len(payload) + skipped
        with contextlib.suppress(ConnectionLost):  # the next call meets it, too
            self._acknowledge(connection)

    def _acknowledge(self, connection: Connection) -> None:
        if (
            self._unacknowledged_bytes >= _ACKNOWLEDGED_BYTES
            or self._received - self._acknowledged >= _ACKNOWLEDGED_MESSAGES
        ) and connection.acknowledge(self._received):
            self._acknowledged, self._unacknowledged_bytes = self._received, 0

    def _keep(self, pieces: Sequence[bytes | memoryview]) -> None:
        """Keep a message, without which the conversation could not go on over another connection.

        If more are kept than an honest end leaves unacknowledged, the oldest are forgotten.
        """
        with self._changed:
            before, self._kept_bytes = self._kept_bytes, self._kept_bytes + _kept_size(pieces)
            self._kept.append(pieces)
            while before > _MOST_KEPT_BYTES:
                before -= self._forget_first()

    def _forget(self, count: int) -> None:
        """Forget the messages that the other end has received."""
        with self._changed:
            while self._kept and self._forgotten < count:
                self._forget_first()

    def _forget_first(self) -> int:
        """Forget the oldest message; return its size."""
        size = _kept_size(self._kept.popleft())
        self._kept_bytes -= size
        self._forgotten += 1
        return size

    def _end(self, error: ConnectionLost) -> None:
        with self._changed:
            connection, self._connection = self._connection, None
            self._ended = self._ended or error
            self._changed.notify_all()
        if connection is not None:
            connection.close()

    def _lose(self, connection: Connection, error: ConnectionLost) -> None:
        """Close a connection, and have another opened unless that has been begun."""
        with self._changed:
            if self._connection is not connection:
                return
            self._bytes_before += connection.received
            self._connection = None
        # A thread that sends over it notices that.
        connection.close()
        if self._closed or self._owner.inherited:
            self._end(error)
            return
        thread = threading.Thread(
            target=self._resume, args=(error,), name="smolagents-fork-resume", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:  # no thread can be started
            self._end(error)

    def _resume(self, error: ConnectionLost) -> None:
        """Open another connection, until the sandbox has ended or patience has."""
        lost_at = time.monotonic()
        try:
            while not self._closed and self._may_run():
                time.sleep(self._pause)
                self._pause = min(2 * self._pause, _LONGEST_PAUSE_SECONDS)
                heard_at = lost_at if self._heard_at is None else self._heard_at()
                seconds_left = heard_at + self._patience - time.monotonic()
                if seconds_left <= 0:
                    break
                try:
                    connection = self._reopen(self._received, min(seconds_left, _ATTEMPT_SECONDS))
                    if self._continue_over(connection):
                        return
                except ProtocolError as refusal:
                    error = ConnectionLost(f"{error}; another connection was refused: {refusal}")
                    break
                except (ConnectionLost, OSError, ExecutorError):
                    continue
        finally:
            if self._connection is None:
                self._end(error)

    def _continue_over(self, connection: Connection) -> bool:
        """Send the messages that are missing; return whether the conversation goes on.

        Raises:
            ConnectionLost: the connection was lost, too.
            ProtocolError: the other end does not say what is missing.
        """
        with close_on_error(connection), self._send_lock:
            count = connection.peer_received
            known = range(self._forgotten, self._forgotten + len(self._kept) + 1)
            if count is None or count not in known:
                raise ProtocolError(f"the kernel says that it has received {count} messages")
            self._forget(count)
            for pieces in tuple(self._kept):
                connection.send(pieces, timeout=self._patience)
            self._acknowledged, self._unacknowledged_bytes = self._received, 0
            with self._changed:
                if not self._closed:
                    self._connection = connection
                    self._changed.notify_all()
                    return True
        connection.close()
        return False


def _kept_size(pieces: Sequence[bytes | memoryview]) -> int:
    return _BYTES_EACH + sum(map(len, pieces))
