"""Real servers of HTTP and HTTPS on loopback, with an authority of the test's own."""

from __future__ import annotations

import contextlib
import http.server
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import trustme

#: Bytes of the answer at /large.
LARGE = 3_000_000
#: Bytes of the answer at /huge, which no buffer of the kernel takes.
HUGE = 20_000_000


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with what was asked for; keeps connections."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the path, a large body, a redirect or a chunked body."""
        self.server.requests.append(self.requestline)
        if self.path.startswith("/redirect?"):
            self.send_response(302)
            self.send_header("Location", self.path.partition("?")[2])
            self.answer_rest(b"")
        elif self.path == "/chunked":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n")
        elif self.path == "/until-close":
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b"all of it")
            self.close_connection = True
        else:
            sizes = {"/large": LARGE, "/huge": HUGE}
            size = sizes.get(self.path)
            self.answer(b"x" * size if size else f"got {self.path}".encode())

    def do_POST(self) -> None:
        """Answer with the number of bytes of the body."""
        self.server.requests.append(self.requestline)
        self.answer(f"took {len(self.read_body())}".encode())

    def read_body(self) -> bytes:
        """Return the body of the request."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while length := int(self.rfile.readline(), 16):
            body += self.rfile.read(length)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def answer(self, body: bytes, content_type: str = "text/plain") -> None:
        """Send an answer whose length is known."""
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.answer_rest(body)

    def answer_rest(self, body: bytes) -> None:
        """Send what follows the status and other fields: the length, and the body."""
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


class Server(http.server.ThreadingHTTPServer):
    """A server in threads of its own."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, tls: ssl.SSLContext | None, handler: Callable, address: str) -> None:
        super().__init__((address, 0), handler)
        self.tls = tls
        #: First lines of the requests that it got.
        self.requests: list[str] = []
        #: Connections that it accepted.
        self.accepted = 0
        self.port = self.server_address[1]

    def get_request(self) -> tuple[socket.socket, object]:
        """Accept a connection, whose handshake its own thread does."""
        connection, address = super().get_request()
        self.accepted += 1
        if self.tls is not None:
            connection = self.tls.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            )
        return connection, address

    def handle_error(self, *_: object) -> None:
        """Print nothing: clients of these tests end as they like."""


@contextlib.contextmanager
def serving(
    tls: ssl.SSLContext | None = None, handler: Callable = Handler, address: str = "127.0.0.1"
) -> Iterator[Server]:
    """Serve until the block ends."""
    with Server(tls, handler, address) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join(10)


def authority(folder: Path, *names: str) -> tuple[ssl.SSLContext, str]:
    """Make an authority; return a server's context, and the file with the authority's certificate.

    Args:
        folder: for the file.
        names: of the server.
    """
    ca = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(*names).configure_cert(context)
    path = folder / "authority.pem"
    ca.cert_pem.write_to_path(path)
    return context, str(path)


def client_hello(name: str | None) -> bytes:
    """Return the first bytes of OpenSSL's client that asks for ``name``; of none for ``None``."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    sent = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=name)
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()
