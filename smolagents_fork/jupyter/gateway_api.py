"""REST calls of the gateway, over an existing socket.

The call that starts a kernel and the WebSocket that follows share one connection, which HTTP/1.1
keeps open. A start therefore needs one stream.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
from dataclasses import dataclass
from typing import Any

from ..deadline import Deadline
from ..errors import ProtocolError
from ..stream.http_exchange import request
from ..stream.timed_socket import TimedSocket
from .websocket import ConnectionLost, GatewayAddress

__all__ = [
    "KernelModel",
    "channels_path",
    "create_kernel",
    "kernel_of",
]

_MAX_BODY = 1 << 20
# It becomes part of an address.
_KERNEL_ID = re.compile(r"[A-Za-z0-9-]{1,64}")


@dataclass(frozen=True)
class KernelModel:
    """A server's description of a kernel.

    Attributes:
        id: of the kernel, part of addresses.
        serves_itself: whether the server is the kernel's own process, which is silent while C code
            keeps Python's lock. A gateway answers then, too.
    """

    id: str
    serves_itself: bool = False


def create_kernel(sock: TimedSocket, address: GatewayAddress, *, timeout: float) -> KernelModel:
    """Start a kernel on the gateway and return its description; ``sock`` stays open.

    A kernel that serves itself is there already.

    Args:
        sock: a socket connected to the gateway.
        address: of the gateway.
        timeout: seconds for the whole call.

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
