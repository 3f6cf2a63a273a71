"""A double of a chat completion service: real HTTP for the real client, prepared answers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from web_servers import Handler, serving


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

        class ChatHandler(Handler):
            def do_POST(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                server.requests.append(json.loads(self.rfile.read(size)))
                server.authorisations.append(self.headers.get("Authorization", ""))
                text = server.answers.pop(0) if len(server.answers) > 1 else server.answers[0]
                message = {"role": "assistant", "content": text}
                answer = {
                    "id": "1",
                    "object": "chat.completion",
                    "created": 1,
                    "model": "double",
                    "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                    "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
                }
                self.answer(json.dumps(answer).encode(), "application/json")

        with serving(handler=ChatHandler, address="0.0.0.0") as http:
            yield str(http.port)
