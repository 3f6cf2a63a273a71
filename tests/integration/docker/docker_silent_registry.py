"""A registry that is there and does not deliver: it says nothing, or nothing of the layer."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_DIGEST = "sha256:" + "0" * 63
_KIND = "application/vnd.docker.distribution.manifest.v2+json"
_MANIFEST = {
    "schemaVersion": 2,
    "mediaType": _KIND,
    "config": {
        "mediaType": "application/vnd.docker.container.image.v1+json",
        "size": 100,
        "digest": _DIGEST + "1",
    },
    "layers": [
        {
            "mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip",
            "size": 1_000_000,
            "digest": _DIGEST + "2",
        }
    ],
}


@contextlib.contextmanager
def silent_registry() -> Iterator[int]:
    """A port on loopback where connections are accepted and nothing is said."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@contextlib.contextmanager
def registry_without_layers() -> Iterator[int]:
    """A port on loopback with a registry that promises a layer and never sends it."""
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer()

        def do_GET(self) -> None:
            self._answer()

        def _answer(self) -> None:
            if "/blobs/" in self.path:
                self.send_response(200)
                self.send_header("Content-Length", "1000000")
                self.end_headers()
                ended.wait(120)
                self.close_connection = True
                return
            body = json.dumps(_MANIFEST if "/manifests/" in self.path else {}).encode()
            self.send_response(200)
            self.send_header("Content-Type", _KIND)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            ended.set()
            server.shutdown()
            thread.join(10)
