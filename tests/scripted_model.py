"""Model of tests: it answers with prepared code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from smolagents import ChatMessage, ChatMessageStreamDelta, MessageRole, Model


class Script(Model):
    """Answers with code, one step a call; also streams it."""

    def __init__(self, *steps: str) -> None:
        super().__init__(model_id="script")
        self.steps = list(steps)

    def generate(self, messages: Any, **kwargs: Any) -> ChatMessage:
        return ChatMessage(role=MessageRole.ASSISTANT, content=self._next())

    def generate_stream(self, messages: Any, **kwargs: Any) -> Iterator[ChatMessageStreamDelta]:
        for word in self._next().split(" "):
            yield ChatMessageStreamDelta(content=word + " ")

    @classmethod
    def from_dict(cls, model_dictionary: dict[str, Any]) -> Script:
        return cls()

    def _next(self) -> str:
        return f"Thought: next.\n<code>\n{self.steps.pop(0)}\n</code>"
