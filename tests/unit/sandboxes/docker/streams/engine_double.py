"""The engine's end of its API: the real client connects to it, and its frames are the engine's."""

from __future__ import annotations

import socket
import ssl
import struct
from pathlib import Path

import docker

__all__ = ["Engine", "frame"]


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

    def accept(self) -> socket.socket:
        """Return the engine's end of the next connection."""
        sock, _ = self.listener.accept()
        return sock if self._tls is None else self._tls.wrap_socket(sock, server_side=True)

    def close(self) -> None:
        """Close the port and the client."""
        self.listener.close()
        self.api.close()
