"""A server on loopback: ``GET /SIZE`` gets that many bytes. Prints its port first.

With a file of a key and its certificates as argument, it speaks TLS.

In a process of its own, since the proxy that is measured shares the benchmark's. Standard library
only.
"""

from __future__ import annotations

import http.server
import socket
import ssl
import sys
import threading

__all__ = ["main"]


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body in one packet.
    wbufsize = 1 << 16

    def do_GET(self) -> None:
        size = int(self.path.rpartition("/")[2])
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        self.wfile.write(bytes(size))

    def log_message(self, *_arguments: object) -> None:
        """Print nothing."""


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    tls: ssl.SSLContext | None = None

    def get_request(self) -> tuple[socket.socket, object]:
        """Accept a connection, whose handshake its own thread does."""
        connection, address = super().get_request()
        if self.tls is not None:
            connection = self.tls.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            )
        return connection, address


def main() -> None:
    """Serve until the input ends."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        if sys.argv[1:]:
            server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            server.tls.load_cert_chain(sys.argv[1])
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.server_port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
