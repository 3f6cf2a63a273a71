"""Connection to a kernel gateway: the request for a kernel, then a WebSocket to its channels.

Both share one stream, which HTTP/1.1 keeps open, so a start needs no second one. Every call that
sends or receives takes its time limit in seconds. Errors are mapped to three of our own: the stream
ended, nothing came in time, the gateway violates the protocol.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..deadline import Deadline
from ..errors import ProtocolError, SandboxDiedError
from ..stream.http_exchange import request
from ..stream.timed_socket import TimedSocket
from ..stream.websocket_frames import (
    InvalidFrame,
    Opcode,
    UpgradeRefused,
    WebSocketReader,
    control_frame,
    frame_header,
    join_writes,
    open_websocket,
)
from .wire import SUBPROTOCOL_V1

__all__ = [
    "Connection",
    "ConnectionClosed",
    "ConnectionLost",
    "GatewayAddress",
    "KernelModel",
    "SendTimeout",
    "WaitTimeout",
    "address_with",
    "channels_path",
    "create_kernel",
    "kernel_of",
]

# Longest answer to the request for a kernel, in bytes; the kernel's id becomes part of an address.
_MAX_BODY = 1 << 20
_KERNEL_ID = re.compile(r"[A-Za-z0-9-]{1,64}")
# Time limit for reading data that has already arrived, when there is no time to wait.
_READ_ON_SECONDS = 0.5
# Header with the number of messages that its sender has received, and the payload of a pong that
# acknowledges them.
_RECEIVED_HEADER = "Received-Messages"
_COUNT = struct.Struct("!Q")
_RECEIVED = re.compile("[0-9]{1,15}")
# Time limit for sending the answer to a ping; after that it is omitted.
_PONG_SECONDS = 0.1


class ConnectionLost(SandboxDiedError):
    """The stream was closed by the other end; the executor determines the cause."""


class ConnectionClosed(ConnectionLost):
    """The other end has ended the conversation, with a frame that says so."""


class SendTimeout(ConnectionLost):
    """The other end did not read a message in time; no other is sent after a part of it."""


class WaitTimeout(Exception):
    """Nothing was received within the time limit."""


@dataclass(frozen=True)
class GatewayAddress:
    """Address of a gateway's routes on the stream that leads to it.

    Attributes:
        host: that requests name. The loopback: Jupyter's server refuses others, as pages of other
            sites use.
        prefix: path before the gateway's own, without a slash at its end.
        headers: sent with every request; they are secret, so no message quotes them.
    """

    host: str = "localhost"
    prefix: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


def address_with(token: str) -> GatewayAddress:
    """Return the address of a gateway that a stream leads to directly.

    Args:
        token: the gateway's; empty if it asks for none.
    """
    return GatewayAddress(headers={"Authorization": f"token {token}"} if token else {})


@dataclass(frozen=True)
class KernelModel:
    """A server's description of a kernel.

    Attributes:
        id: of the kernel, part of addresses.
        serves_itself: whether the server is the kernel's own process, which is silent while C code
            holds the GIL. A gateway answers then, too.
    """

    id: str
    serves_itself: bool = False


def create_kernel(sock: TimedSocket, address: GatewayAddress, *, timeout: float) -> KernelModel:
    """Start a kernel on the gateway and return its description; ``sock`` stays open.

    A kernel that serves itself is there already.

    Raises:
        ConnectionLost: the stream ended, or the gateway did not answer in time.
        ProtocolError: the answer of the gateway is not a new kernel.
    """
    try:
        response = request(
            sock,
            "POST",
            f"{address.prefix}/api/kernels",
            host=address.host,
            headers={"Content-Type": "application/json", **address.headers},
            body=b"{}",
            deadline=Deadline(timeout),
        )
        text = response.read(_MAX_BODY)
    except TimeoutError:
        raise ConnectionLost(f"the kernel gateway did not answer in {timeout:.1f} s") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        # ValueError: of a chunk with a negative length.
        raise ConnectionLost(f"the stream ended while requesting a kernel: {error!r}") from None
    if response.status != 201:
        raise ProtocolError(
            f"the kernel gateway answered {response.status} {response.reason} to the request for a "
            f"kernel: {text[:500].decode('utf-8', 'replace')}"
        )
    return kernel_of(text)


def kernel_of(answer: bytes) -> KernelModel:
    """Return the kernel that a gateway's answer describes.

    Raises:
        ProtocolError: its id cannot be a part of an address.
    """
    model: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        model = json.loads(answer)
    kernel_id = model.get("id") if isinstance(model, dict) else None
    if not isinstance(kernel_id, str) or not _KERNEL_ID.fullmatch(kernel_id):
        raise ProtocolError(f"the kernel gateway did not return a kernel id: {answer[:200]!r}")
    return KernelModel(kernel_id, model.get("serves_itself") is True)


def channels_path(kernel_id: str, session_id: str) -> str:
    """Return the WebSocket path of a kernel's channels."""
    return f"/api/kernels/{kernel_id}/channels?session_id={session_id}"


class Connection:
    """Open WebSocket to a kernel's channels.

    Args:
        sock: connected stream to the gateway, which this object owns and closes; the caller does
            where the constructor raises.
        path: path of the WebSocket at the gateway, beginning with ``/``.
        timeout: seconds for opening the WebSocket.
        limit: bytes of a payload. Only the beginning of a longer one is kept.
        received: number of messages that the client has received over earlier connections, 0 for
            the first; ``None`` for a client that acknowledges no messages.

    Attributes:
        peer_received: number of messages that the other end has received of this client, as it
            last said; ``None`` if it acknowledges none.

    Raises:
        ConnectionLost: the stream ended.
        ProtocolError: the gateway refused the WebSocket, its answer is invalid, or it has another
            layout of messages.
    """

    #: Whether another connection takes the place of this one; see :mod:`.resumption`.
    lost = False

    def __init__(
        self,
        sock: TimedSocket,
        address: GatewayAddress,
        path: str,
        *,
        timeout: float,
        limit: int,
        received: int | None = None,
    ) -> None:
        self._sock = sock
        self._send_lock = threading.Lock()
        # Size of a message of which only a part was sent.
        self._stalled = 0
        resume_header = {} if received is None else {_RECEIVED_HEADER: str(received)}
        self._frames = WebSocketReader(sock, limit, keeps_beginning=True)
        try:
            answered = open_websocket(
                sock,
                address.prefix + path,
                host=address.host,
                subprotocols=(SUBPROTOCOL_V1,),
                headers={**resume_header, **address.headers},
                deadline=Deadline(timeout),
            )
        except UpgradeRefused as error:
            raise ProtocolError(f"the gateway refused the WebSocket: {error}") from None
        except TimeoutError:
            raise ConnectionLost(f"the kernel's channels did not open in {timeout:.1f} s") from None
        except OSError as error:
            raise ConnectionLost(f"the stream ended while the WebSocket opened: {error}") from None
        except (http.client.HTTPException, ValueError) as error:
            raise ProtocolError(
                f"the gateway's answer to the request for a WebSocket is invalid: {error!r}"
            ) from None
        chosen = answered.get("Sec-WebSocket-Protocol", "")
        if chosen != SUBPROTOCOL_V1:
            raise ProtocolError(
                f"the gateway does not speak {SUBPROTOCOL_V1}, but "
                f"{chosen or 'the unnamed layout'}: use jupyter-server 2 or later, whose "
                "kernel_ws_protocol names it by default"
            )
        count = answered.get(_RECEIVED_HEADER, "")
        self.peer_received = int(count) if _RECEIVED.fullmatch(count) else None

    def send(
        self,
        pieces: Sequence[bytes | memoryview],
        *,
        timeout: float,
        stop: Callable[[], bool] | None = None,
    ) -> None:
        """Send one message; may be called from another thread than :meth:`receive`.

        Args:
            pieces: of the message; long ones are not copied.
            timeout: seconds in total, in case the other end does not read.
            stop: returns whether the other end has only a second more to read it.

        Raises:
            SendTimeout: it did not read this message in time, or an earlier one.
            ConnectionLost: the stream ended.
        """
        size = sum(map(len, pieces))
        header = frame_header(size)
        with self._send_lock:
            if self._stalled:
                raise SendTimeout(f"the other end did not read {self._stalled} bytes in time")
            self._sock.send_for(timeout, stop)
            try:
                for data in join_writes([header, *pieces]):
                    self._sock.sendall(data)
            except TimeoutError:
                self._stalled = size
                raise SendTimeout(f"the other end did not read {size} bytes in time") from None
            except OSError as error:
                raise ConnectionLost(
                    f"the stream ended while a message of {size} bytes was sent: {error}"
                ) from None

    def ping(self, timeout: float = 1.0) -> None:
        """Send a ping; the gateway's event loop answers even while the kernel is busy.

        The ping is omitted if another thread sends, or if the stream accepts no data, for
        ``timeout`` seconds. Silence is noticed anyway.
        """
        self._send_control(Opcode.PING, b"", timeout)

    def acknowledge(self, count: int) -> bool:
        """Tell the other end how many messages have been received; return whether it is told.

        It is not while another thread sends, or where the stream accepts no data.

        Args:
            count: over this connection and earlier ones.

        Raises:
            ConnectionLost: the stream ended.
        """
        return self._send_control(Opcode.PONG, _COUNT.pack(count), _PONG_SECONDS)

    def _send_control(self, opcode: Opcode, payload: bytes, timeout: float) -> bool:
        """Send a control frame unless another thread sends, or the stream accepts no data."""
        if not self._send_lock.acquire(timeout=timeout):
            return False
        try:
            if self._stalled:
                return False
            self._sock.send_for(timeout)
            self._sock.sendall(control_frame(opcode, payload))
        except TimeoutError:
            return False
        except OSError as error:
            raise ConnectionLost(f"the stream ended while sending: {error}") from None
        finally:
            self._send_lock.release()
        return True

    def lose(self, reason: str) -> None:
        """Give the connection up.

        Raises:
            ConnectionLost: always, because no other connection takes the place of this one.
        """
        raise ConnectionLost(reason)

    def receive(self, timeout: float) -> tuple[bytearray, int] | None:
        """Wait for one message.

        Args:
            timeout: seconds to wait. Reading a message that has begun to arrive takes at most half
                a second more.

        Returns:
            payload, and the number of bytes skipped because it was over the limit; ``None`` for a
            control frame (a ping, which is answered, or a pong).

        Raises:
            WaitTimeout: no complete message arrived; a partial one is kept for the next call.
            ConnectionLost: the stream ended.
            ConnectionClosed: the gateway closed the connection.
        """
        self._sock.receive_for(timeout, at_most=max(timeout, _READ_ON_SECONDS))
        try:
            opcode, payload, skipped = self._frames.read()
        except TimeoutError:
            raise WaitTimeout from None
        except EOFError:
            raise ConnectionLost("the stream to the kernel gateway ended") from None
        except (OSError, InvalidFrame) as error:
            raise ConnectionLost(f"the stream to the kernel gateway broke: {error}") from None
        if opcode == Opcode.CLOSE:
            raise ConnectionClosed(_close_reason(bytes(payload)))
        if opcode == Opcode.PING:
            self._send_control(Opcode.PONG, bytes(payload), _PONG_SECONDS)
            return None
        if opcode == Opcode.PONG:
            if len(payload) == _COUNT.size:
                (self.peer_received,) = _COUNT.unpack(payload)
            return None
        return payload, skipped

    @property
    def received(self) -> int:
        """Bytes received so far, including those of an incomplete message."""
        return self._sock.received

    def close(self) -> None:
        """Close the stream at once; the gateway detects that. Safe at any time."""
        self._sock.close()


def _close_reason(payload: bytes) -> str:
    """Explain a frame that closes the connection (RFC 6455, section 5.5.1), valid or not."""
    if not payload:
        return "the kernel gateway closed the connection without a status"
    if len(payload) == 1:
        return "the kernel gateway closed the connection with half a status"
    (status,) = struct.unpack_from("!H", payload)
    reason = payload[2:].decode("utf-8", "replace")
    return f"the kernel gateway closed the connection with status {status}" + (
        f": {reason!r}" if reason else ""
    )
