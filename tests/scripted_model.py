"""Models of tests: they answer with prepared texts, or with prepared code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from smolagents import ChatMessage, ChatMessageStreamDelta, MessageRole, Model


class ScriptedModel(Model):
    """Answers with texts, one a step; streams each in two pieces."""

    def __init__(self, *answers: str, **kwargs: Any) -> None:
        super().__init__(model_id="scripted", **kwargs)
        self.answers = list(answers)

    def generate(self, messages: Any, **kwargs: Any) -> ChatMessage:
        return ChatMessage(role=MessageRole.ASSISTANT, content=self._next())

    def generate_stream(self, messages: Any, **kwargs: Any) -> Iterator[ChatMessageStreamDelta]:
        text = self._next()
        yield ChatMessageStreamDelta(content=text[:5])
        yield ChatMessageStreamDelta(content=text[5:])

    @classmethod
    def from_dict(cls, model_dictionary: dict[str, Any]) -> ScriptedModel:
        return cls()

    def _next(self) -> str:
        return self.answers.pop(0)


class Script(ScriptedModel):
    """Answers with code."""

    def _next(self) -> str:
        return f"Thought: next.\n<code>\n{self.answers.pop(0)}\n</code>"
