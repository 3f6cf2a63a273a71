"""A model with prepared answers and a tool, for the programs beside it."""

from __future__ import annotations

from typing import Any

from smolagents import ChatMessage, MessageRole, Model, tool
from smolagents.monitoring import TokenUsage


class ScriptedModel(Model):
    """Model that answers with prepared code, one block for each call.

    Args:
        steps: Python code, in order; the last one is repeated.
    """

    def __init__(self, *steps: str) -> None:
        super().__init__(model_id="scripted")
        self.steps = list(steps)

    def generate(self, messages: Any, **kwargs: Any) -> ChatMessage:  # noqa: ARG002 - upstream's
        """Return the next block."""
        code = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        return ChatMessage(
            role=MessageRole.ASSISTANT,
            content=f"Thought: next.\n<code>\n{code}\n</code>",
            token_usage=TokenUsage(input_tokens=7, output_tokens=3),
        )


@tool
def price_of(product: str) -> int:
    """Give the price of a product.

    Args:
        product: its name.
    """
    return len(product) * 10
