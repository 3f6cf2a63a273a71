"""Model of tests: it answers with prepared code."""

from __future__ import annotations

from typing import Any

from smolagents import ChatMessage, MessageRole, Model


class Script(Model):
    """Answers with code, one step a call."""

    def __init__(self, *steps: str) -> None:
        super().__init__(model_id="script")
        self.steps = list(steps)

    def generate(self, messages: Any, **kwargs: Any) -> ChatMessage:
        text = f"Thought: next.\n<code>\n{self.steps.pop(0)}\n</code>"
        return ChatMessage(role=MessageRole.ASSISTANT, content=text)
