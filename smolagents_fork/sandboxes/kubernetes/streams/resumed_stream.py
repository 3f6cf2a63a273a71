"""Stream to a kernel gateway that survives lost connections to the cluster.

An API server that is restarted cuts every exec. The relay in the pod keeps the connection to the
gateway meanwhile, and a thread of this process opens another exec and continues where the last one
ended. The caller has one end of a pair of sockets, and notices nothing but a pause.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from ....errors import ExecutorError
from ....forks import forget, keep_open
from .channel_socket import ERRORS, ChannelSocket
from .resumable import Endpoint, StreamBroken

__all__ = ["CallersEnd", "Carrier", "open_resumed"]

#: Time that the cluster may be out of reach before a stream is given up.
PATIENCE_SECONDS = 20.0
_ATTEMPT_SECONDS = 5.0
_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 1.0
_MOST_UNSENT = 1 << 18


class CallersEnd:
    """The caller's end of a stream, with the interface of a non-blocking socket.

    Args:
        sock: owned by this object, and closed with it.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        keep_open((sock,))

    def recv(self, size: int, /) -> bytes:
        return self._sock.recv(size)

    def send(self, data: bytes | memoryview, /) -> int:
        return self._sock.send(data)

    def fileno(self) -> int:
        return self._sock.fileno()

    def setblocking(self, flag: bool, /) -> None:
        self._sock.setblocking(flag)

    def shutdown(self, how: int, /) -> None:
        self._sock.shutdown(how)

    def close(self) -> None:
        """Close it, and with it the stream. Idempotent."""
        self._sock.close()
        forget((self._sock,))

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


@dataclass(frozen=True)
class Carrier:
    """Opens the connections of a stream.

    Attributes:
        open: opens an exec of the relay; takes whether the stream is new, and seconds.
        is_there: returns whether the pod may still run; called after a loss.
    """

    open: Callable[[bool, float], ChannelSocket]
    is_there: Callable[[], bool]


def open_resumed(carrier: Carrier, timeout: float) -> CallersEnd:
    """Open a stream and return this process's end of it.

    Args:
        carrier: opens its connections.
        timeout: seconds that the gateway may take to start.

    Raises:
        OSError: the gateway did not answer in time.
        ExecutorError: the pod is gone, or the cluster gave no stream.
    """
    end = time.monotonic() + timeout
    endpoint, sock = Endpoint(), carrier.open(True, timeout)
    endpoint.connected()
    try:
        _await_gateway(endpoint, sock, end)
    except BaseException:
        sock.close()
        raise
    ours, callers = socket.socketpair()
    ours.setblocking(False)
    stream = _Stream(carrier, endpoint, sock, ours)
    threading.Thread(target=stream.work, name="smolagents-fork-pod-stream", daemon=True).start()
    return CallersEnd(callers)


def _await_gateway(endpoint: Endpoint, sock: ChannelSocket, end: float) -> None:
    """Wait for the relay's first frame, which it sends when the gateway listens."""
    _pass_on(endpoint, sock)
    said = b""
    while not endpoint.connected_once:
        found = sock.receive()
        if found is None or sock.status is not None:
            text = said.decode("utf-8", "replace").strip()
            if text.startswith("relay:"):
                raise OSError(text.removeprefix("relay: "))
            status = "" if sock.status is None else sock.status.message
            raise ExecutorError(f"the relay in the pod ended: {text or status or sock.end_reason}")
        for channel, data in found:
            if channel == ERRORS:
                said = (said + data)[-2000:]
            else:
                endpoint.feed(data)
        if not endpoint.connected_once and not sock.wait_until(end):
            raise TimeoutError("the kernel gateway did not answer in time")


def _pass_on(endpoint: Endpoint, sock: ChannelSocket) -> None:
    while sock.unsent < _MOST_UNSENT and (data := endpoint.outgoing()):
        sock.send(bytes(data))
        data.clear()


class _Stream:
    """The thread's side of one stream."""

    def __init__(
        self, carrier: Carrier, endpoint: Endpoint, sock: ChannelSocket, ours: socket.socket
    ) -> None:
        self._carrier, self._endpoint, self._sock, self._ours = carrier, endpoint, sock, ours
        self._callers_end = False

    def work(self) -> None:
        """Copy in both directions until one end closes or the stream is given up."""
        try:
            while self._step():
                pass
        except (ExecutorError, StreamBroken, OSError):
            pass  # the caller sees the end of the stream, and asks for the pod's status
        finally:
            with contextlib.suppress(Exception):
                self._ours.close()
            with contextlib.suppress(Exception):
                self._endpoint.abandon()
                _pass_on(self._endpoint, self._sock)
            with contextlib.suppress(Exception):
                self._sock.close()

    def _step(self) -> bool:
        endpoint, sock, ours = self._endpoint, self._sock, self._ours
        self._deliver()
        if endpoint.ended and not endpoint.arrived:
            return False
        _pass_on(endpoint, sock)
        if self._callers_end and not sock.unsent:
            return False
        events = selectors.EVENT_READ if endpoint.room and not self._callers_end else 0
        events |= selectors.EVENT_WRITE if endpoint.arrived else 0
        others = [(ours, events)] if events else []
        sock.wait(5.0, *others, read=endpoint.accepts)
        self._read_callers()
        if not endpoint.accepts:
            return True
        found = sock.receive()
        if found is None or sock.status is not None:
            return self._reconnect()
        for channel, data in found:
            if channel != ERRORS:
                endpoint.feed(data)
        return True

    def _deliver(self) -> None:
        arrived = self._endpoint.arrived
        try:
            while arrived:
                del arrived[: self._ours.send(arrived[:262_144])]
        except BlockingIOError:
            pass

    def _read_callers(self) -> None:
        if not self._endpoint.room or self._callers_end:
            return
        try:
            data = self._ours.recv(262_144)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._endpoint.push(data)
        else:
            self._endpoint.abandon()
            self._callers_end = True

    def _reconnect(self) -> bool:
        """Open another connection; return whether the stream goes on."""
        end = time.monotonic() + PATIENCE_SECONDS
        pause = _FIRST_PAUSE_SECONDS
        while not self._callers_end and (left := end - time.monotonic()) > 0:
            self._sock.close()
            if not self._carrier.is_there():
                return False
            with contextlib.suppress(ExecutorError, OSError):
                self._sock = self._carrier.open(False, min(_ATTEMPT_SECONDS, left))
                self._endpoint.connected()
                _await_gateway(self._endpoint, self._sock, time.monotonic() + _ATTEMPT_SECONDS)
                return True
            if self._sock.status is not None:
                return False  # the relay has ended
            time.sleep(pause)
            pause = min(_LONGEST_PAUSE_SECONDS, pause * 2)
        return False
