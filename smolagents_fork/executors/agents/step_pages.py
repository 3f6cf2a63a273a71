"""Steps of an agent as a page shows them: the hook of patch ``gradio-page``."""

from __future__ import annotations

import dataclasses
from typing import Any

from smolagents_fork.displays import with_png_mode
from smolagents_fork.text.pages import harmless_markdown
from smolagents_fork.text.short_texts import limited_text
from smolagents_fork.upstream import AgentAudio, AgentImage, AgentText, ToolCall

__all__ = ["step_of_page"]


def step_of_page(step: Any) -> Any:
    """Return a step for upstream's Gradio page, which loads nothing and fails on no value.

    Args:
        step: upstream's ``ActionStep``, ``PlanningStep`` or ``FinalAnswerStep``; not changed.

    Returns:
        a copy whose texts are limited and have neither images nor HTML.
    """
    if not dataclasses.is_dataclass(step) or isinstance(step, type):
        return step
    changes: dict[str, Any] = {}
    for name in ("model_output", "observations", "error", "plan"):
        value = getattr(step, name, None)
        if value:
            changes[name] = _text(value)
    calls = getattr(step, "tool_calls", None)
    if calls:
        changes["tool_calls"] = [
            ToolCall(_text(call.name), _arguments(call.arguments), call.id) for call in calls
        ]
    if hasattr(step, "output"):
        changes["output"] = _answer(step.output)
    return dataclasses.replace(step, **changes)


def _text(value: Any) -> str:
    return harmless_markdown(limited_text(value))


def _arguments(arguments: Any) -> str:
    """Return the text of a call's arguments, as upstream's page chooses it."""
    if isinstance(arguments, dict):
        arguments = arguments.get("answer", arguments)
    return _text(arguments)


def _answer(output: Any) -> Any:
    if isinstance(output, AgentImage):
        return _image(output)
    if isinstance(output, AgentAudio):  # a file that the host wrote
        return output
    return AgentText(_text(output)) if isinstance(output, AgentText) else _text(output)


def _image(image: Any) -> Any:
    """Return an image that PNG can have, or a text in its place."""
    try:
        return AgentImage(with_png_mode(image.to_raw()))
    except Exception as error:
        try:
            image.to_string()  # the path of a file
        except Exception:
            return AgentText(f"an image that cannot be shown: {_text(error)}")
        return image
