"""A server on loopback: ``GET /SIZE`` gets that many bytes. Prints its port first.

In a process of its own, since the proxy that is measured shares the benchmark's. Standard library
only.
"""

from __future__ import annotations

import http.server
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


def main() -> None:
    """Serve until the input ends."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.server_port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
