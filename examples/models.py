"""Model of an example: a real one if a key is set, otherwise a scripted one."""

from __future__ import annotations

import os
from typing import Any

from smolagents import ChatMessage, InferenceClientModel, MessageRole, Model

__all__ = ["ScriptedModel", "choose_model"]


class ScriptedModel(Model):
    """Model that answers with prepared steps, one per call. The code in the steps is really run.

    Args:
        steps: the texts, in order.
    """

    def __init__(self, steps: list[str]) -> None:
        super().__init__(model_id="scripted (no model: prepared steps)")
        self.steps = list(steps)

    def generate(self, messages: Any, **kwargs: Any) -> ChatMessage:  # noqa: ARG002 - upstream's
        """Return the next step."""
        if not self.steps:
            raise RuntimeError("the agent asked for another step after the end of the script")
        return ChatMessage(role=MessageRole.ASSISTANT, content=self.steps.pop(0))


def choose_model(steps: list[str]) -> tuple[Model, str]:
    """Return a model and its description for the screen.

    Args:
        steps: the answers of the scripted model, used if no key is set.
    """
    if os.environ.get("HF_TOKEN"):
        model = InferenceClientModel()
        return model, f"{model.model_id} (HF_TOKEN is set)"
    if os.environ.get("OPENAI_API_KEY"):
        try:
            from smolagents import OpenAIModel

            return OpenAIModel(model_id="gpt-4.1-mini"), "gpt-4.1-mini (OPENAI_API_KEY is set)"
        except ModuleNotFoundError:
            reason = "OPENAI_API_KEY is set, but 'pip install smolagents[openai]' is missing"
    else:
        reason = "neither HF_TOKEN nor OPENAI_API_KEY is set"
    return ScriptedModel(steps), f"a scripted model with prepared steps ({reason})"
