"""A double of a chat completion service: real HTTP for the real client, prepared answers."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ChatServer:
    """Answers chat completions and records what came.

    Args:
        answers: texts, in order; the last one is repeated.
    """

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.authorisations: list[str] = []
        self.requests: list[Any] = []

    @contextlib.contextmanager
    def serving(self) -> Iterator[str]:
        """Serve on every address of this machine; gives the port."""
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                server.requests.append(json.loads(self.rfile.read(size)))
                server.authorisations.append(self.headers.get("Authorization", ""))
                text = server.answers.pop(0) if len(server.answers) > 1 else server.answers[0]
                body = json.dumps(
                    {
                        "id": "1",
                        "object": "chat.completion",
                        "created": 1,
                        "model": "double",
                        "choices": [
                            {
                                "index": 0,
                                "finish_reason": "stop",
                                "message": {"role": "assistant", "content": text},
                            }
                        ],
                        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
                    }
                ).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        with ThreadingHTTPServer(("0.0.0.0", 0), Handler) as http:
            thread = threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True)
            thread.start()
            try:
                yield str(http.server_address[1])
            finally:
                http.shutdown()
                thread.join(10)
