"""The model of an example: a real one where a key is set, a scripted one otherwise."""

from __future__ import annotations

import os
from typing import Any

from smolagents import ChatMessage, InferenceClientModel, MessageRole, Model

__all__ = ["ScriptedModel", "choose_model"]


class ScriptedModel(Model):
    """Answers with prepared steps, one a call. It thinks nothing: the code it hands out is real.

    Args:
        steps: the texts, in order.
    """

    def __init__(self, steps: list[str]) -> None:
        super().__init__(model_id="scripted (no model: prepared steps)")
        self.steps = list(steps)

    def generate(self, messages: Any, **kwargs: Any) -> ChatMessage:  # noqa: ARG002 - upstream's
        """The next step."""
        if not self.steps:
            raise RuntimeError("the script is at its end, and the agent asks for another step")
        return ChatMessage(role=MessageRole.ASSISTANT, content=self.steps.pop(0))


def choose_model(steps: list[str]) -> tuple[Model, str]:
    """A model, and what to call it on screen.

    Args:
        steps: what the scripted model answers when no key is set.
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
    return ScriptedModel(steps), f"a scripted model, prepared steps and no intelligence ({reason})"
