"""A model that says what it was told to say, and a program that says where it runs."""

from __future__ import annotations

from typing import Any

from smolagents.models import ChatMessage, MessageRole, Model

# User, host name and network interfaces, as the program sees them.
WHERE = (
    "import os, socket\nwhere = [os.getuid(), socket.gethostname(), os.listdir('/sys/class/net')]"
)


class Script(Model):
    """Answers with one piece of code after the other."""

    def __init__(self, *codes: str, model_id: str = "script") -> None:
        super().__init__(model_id=model_id)
        self.codes = list(codes)

    def generate(self, messages: Any, **_: Any) -> ChatMessage:
        text = f"Thought: next.\n<code>\n{self.codes.pop(0)}\n</code>"
        return ChatMessage(role=MessageRole.ASSISTANT, content=text)
