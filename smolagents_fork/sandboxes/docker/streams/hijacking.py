"""Raw streams of the engine's API, over connections of their own.

``POST /exec/{id}/start`` and ``POST /containers/{id}/attach`` with ``Upgrade: tcp`` are answered
with a head, after which the connection carries the streams of the program ("hijacking" in the
documentation of Docker's Engine API). docker-py reads ahead of the head, into a buffer that is not
public; here the head is read no further than to its last byte.

Everything above has a socket, whatever the engine is reached by. docker-py's Windows named pipes
and channels of SSH have no descriptor that a selector or a poll takes: two threads copy between
such a connection and a pair of sockets.
"""

from __future__ import annotations

import contextlib
import http.client
import importlib
import io
import json
import socket
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlencode, urlsplit

from ....deadline import Deadline
from ....stream.http_exchange import request, time_left
from ....stream.web_connection import connect_to, connect_to_path
from ....system.closing import close_on_error
from ....system.forks import disconnect_in_child

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.api.client import APIClient

__all__ = ["BlockingConnection", "attach", "hijack", "socket_to"]

_UPGRADE = {"Connection": "Upgrade", "Upgrade": "tcp", "Content-Type": "application/json"}
# Without an upgrade where a proxy has removed the header; the stream is the same.
_HIJACKED = (http.client.SWITCHING_PROTOCOLS, http.client.OK)
_PIECE_BYTES = 1 << 16


def hijack(
    api: APIClient,
    path: str,
    *,
    query: Mapping[str, int] | None = None,
    body: Mapping[str, Any] | None = None,
    seconds: float,
) -> socket.socket:
    """Send a request whose connection becomes a stream; return its socket, which does not block.

    Args:
        api: docker-py's low-level client, which knows the engine's address and certificates.
        path: Path of the request, without the version.
        seconds: until the answer has to be there.

    Raises:
        docker.errors.APIError: the engine refuses.
        requests.RequestException: it does not answer.
    """
    import requests

    url = f"{api.base_url}/v{api.api_version}{path}" + (f"?{urlencode(query)}" if query else "")
    deadline = Deadline(seconds)
    try:
        sock = _connect(api, deadline)
        # Bytes behind the head that the engine does not expect would be the program's input.
        with close_on_error(sock):
            answer = request(
                sock,
                "POST",
                urlsplit(url)._replace(scheme="", netloc="").geturl(),
                host=urlsplit(url).netloc,
                headers=_UPGRADE,
                body=None if body is None else json.dumps(body).encode(),
                deadline=deadline,
            )
            if answer.status in _HIJACKED:
                sock.setblocking(False)
                return sock
        with sock:
            refusal = answer.read()
    except Exception as error:
        # Any: named pipes and SSH have errors of their own.
        raise requests.ConnectionError(error) from error
    raise _make_refusal(url, answer, refusal)


def attach(client: DockerClient, container: str, *, output: bool, timeout: float) -> socket.socket:
    """Attach to a container, which may not have been started yet.

    Args:
        output: whether its output is read; if it is not, its writes would block.
        timeout: seconds until the engine has to answer.
    """
    params = {"stdin": 1, "stdout": int(output), "stderr": int(output), "stream": 1}
    path = f"/containers/{container}/attach"
    return hijack(client.api, path, query=params, seconds=timeout)


def _make_refusal(url: str, answer: http.client.HTTPResponse, body: bytes) -> Exception:
    """Return docker-py's error for an answer that is not a stream."""
    import docker
    import requests

    response = requests.Response()
    response.status_code, response.reason, response.url = answer.status, answer.reason, url
    response.headers.update(answer.headers.items())
    response.raw = io.BytesIO(body)
    error = requests.HTTPError(f"{answer.status} {answer.reason} for url: {url}", response=response)
    try:
        raise docker.errors.create_api_error_from_http_exception(error)
    except docker.errors.APIError as refusal:
        return refusal


def _connect(api: APIClient, deadline: Deadline) -> socket.socket:
    """Connect to the engine at the address, by the proxy and with the certificates of a client."""
    base = urlsplit(str(api.base_url))
    if base.scheme == "http+docker":
        return _connect_locally(api, str(base.hostname), deadline)
    return connect_to(str(api.base_url), api, deadline)


def _connect_locally(api: APIClient, transport: str, deadline: Deadline) -> socket.socket:
    """Connect over a transport of docker-py's own: a Unix socket, a named pipe or SSH."""
    adapter: Any = api.get_adapter(api.base_url)
    if transport == "ssh":
        channel = adapter.ssh_client.get_transport().open_session(timeout=time_left(deadline))
        # The command by which Docker's own client reaches an engine over SSH.
        channel.exec_command("docker system dial-stdio")
        return socket_to(channel)
    if transport == "localnpipe":
        # It can be imported on Windows only.
        pipe: Any = importlib.import_module("docker.transport.npipesocket").NpipeSocket()
        pipe.settimeout(time_left(deadline))
        pipe.connect(adapter.npipe_path)
        return socket_to(pipe)
    return connect_to_path(adapter.socket_path, time_left(deadline))


class BlockingConnection(Protocol):
    """A connection whose calls wait; the part of a socket that such connections have."""

    def recv(self, size: int, /) -> bytes: ...
    def sendall(self, data: bytes, /) -> object: ...
    def settimeout(self, seconds: float | None, /) -> object: ...
    def close(self) -> object: ...


def socket_to(connection: BlockingConnection) -> socket.socket:
    """Return a socket for a connection, which is closed when the socket is.

    Args:
        connection: open; the caller must not use it any more.

    Raises:
        OSError: this process can have no more descriptors.
        RuntimeError: it can have no more threads.
    """
    connection.settimeout(None)
    near, far = socket.socketpair()
    disconnect_in_child(far)

    def receive() -> None:
        # An error of the connection is its end; a named pipe always ends in one.
        with contextlib.suppress(Exception):
            while data := connection.recv(_PIECE_BYTES):
                far.sendall(data)
        with contextlib.suppress(OSError):
            far.shutdown(socket.SHUT_RDWR)

    receiver = threading.Thread(target=receive, name="smolagents-fork-receive", daemon=True)

    def send() -> None:
        with contextlib.suppress(Exception):
            while data := far.recv(_PIECE_BYTES):
                connection.sendall(data)
        with contextlib.suppress(Exception):
            connection.close()
        receiver.join()
        far.close()

    sender = threading.Thread(target=send, name="smolagents-fork-send", daemon=True)
    with close_on_error(near, far):
        receiver.start()
        sender.start()
    return near
