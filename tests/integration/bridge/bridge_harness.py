"""A scripted model, for agents whose code is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from smolagents import ChatMessage, CodeAgent, MessageRole, Model
from smolagents.models import ChatMessageStreamDelta


class Script(Model):
    """Says code, one step a call; also piece by piece."""

    def __init__(self, *steps: str) -> None:
        super().__init__(model_id="script")
        self.steps = list(steps)

    def _next(self) -> str:
        return f"Thought: next.\n<code>\n{self.steps.pop(0)}\n</code>"

    def generate(self, messages: Any, **kwargs: Any) -> ChatMessage:
        return ChatMessage(role=MessageRole.ASSISTANT, content=self._next())

    def generate_stream(self, messages: Any, **kwargs: Any) -> Iterator[ChatMessageStreamDelta]:
        for word in self._next().split(" "):
            yield ChatMessageStreamDelta(content=word + " ")


def code_agent(executor: Any, *steps: str, **more: Any) -> CodeAgent:
    """An agent that runs ``steps`` in ``executor``."""
    options: dict[str, Any] = {"tools": [], "verbosity_level": 0, "max_steps": 5, **more}
    return CodeAgent(model=Script(*steps), executor=executor, **options)
