"""The engine's end of its API: the real client connects to it, and its frames are the engine's."""

from __future__ import annotations

import socket
import ssl
import struct
from pathlib import Path

import docker

__all__ = ["HEAD", "Engine", "frame"]

#: Head of an answer after which the connection carries the streams of a program.
HEAD = (
    b"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.multiplexed-stream\r\n"
    b"Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
)


def frame(stream: int, payload: bytes) -> bytes:
    """Return a frame of the engine's raw streams: 1 is standard output, 2 standard error."""
    return struct.pack(">BxxxL", stream, len(payload)) + payload


class Engine:
    """A port, and the client that asks there, over TLS if there is a certificate of both."""

    def __init__(self, certificate: Path | None = None) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self._tls: ssl.SSLContext | None = None
        if certificate is None:
            self.api = docker.APIClient(f"tcp://{address}", version="1.41", timeout=60)
            return
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(certificate)
        self._tls.load_verify_locations(certificate)
        self._tls.verify_mode = ssl.CERT_REQUIRED
        config = docker.tls.TLSConfig(
            client_cert=(str(certificate),) * 2, ca_cert=str(certificate), verify=True
        )
        self.api = docker.APIClient(f"https://{address}", version="1.41", timeout=60, tls=config)

    def answer(self, words: bytes) -> socket.socket:
        """Answer one request, byte for byte; return the engine's end of its connection."""
        sock, _ = self.listener.accept()
        if self._tls is not None:
            sock = self._tls.wrap_socket(sock, server_side=True)
        sock.settimeout(60)
        read_request(sock)
        sock.sendall(words)
        return sock

    def close(self) -> None:
        """Close the port and the client."""
        self.listener.close()
        self.api.close()


def read_request(sock: socket.socket) -> bytes:
    """Read a request to its end: a socket closed with bytes unread resets its connection."""
    request = b""
    while not request.endswith(b"}" if b"/start " in request else b"\r\n\r\n"):
        request += sock.recv(65_536)
    return request
