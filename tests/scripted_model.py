"""Models of tests: they answer with prepared texts, code, or calls of tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from smolagents import ChatMessage, ChatMessageStreamDelta, MessageRole, Model
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction


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


class Caller(ScriptedModel):
    """Answers with calls of tools, each a name and arguments, beside a text."""

    def __init__(self, *calls: tuple[str, dict[str, Any]], text: str = "") -> None:
        super().__init__(text)
        self.calls = list(calls)

    def generate(self, messages: Any, **kwargs: Any) -> ChatMessage:
        name, arguments = self.calls.pop(0)
        function = ChatMessageToolCallFunction(name=name, arguments=arguments)
        call = ChatMessageToolCall(id=f"call-{len(self.calls)}", type="function", function=function)
        content = self.answers[0]
        return ChatMessage(role=MessageRole.ASSISTANT, content=content, tool_calls=[call])
