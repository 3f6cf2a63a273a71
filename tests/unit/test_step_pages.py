"""Upstream's Gradio page of an agent's steps loads nothing, and fails on no value."""

from __future__ import annotations

from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import PIL.Image
import pytest
from smolagents.agent_types import AgentImage, AgentText
from smolagents.gradio_ui import pull_messages_from_step, stream_to_gradio
from smolagents.memory import ActionStep, FinalAnswerStep, PlanningStep, ToolCall
from smolagents.models import ChatMessageStreamDelta
from smolagents.monitoring import Timing

from smolagents_fork.text.short_texts import limited_text

# Found, not imported: that takes seconds of every process that collects this file.
pytestmark = pytest.mark.skipif(find_spec("gradio") is None, reason="gradio is not installed")

LOADING = "```\n![secret](http://127.0.0.1:9/x)\n<img src=http://127.0.0.1:9/y>"
TIMING = Timing(0.0, 1.0)


def texts_of(step: Any) -> list[str]:
    return [message.content for message in pull_messages_from_step(step)]


@pytest.mark.parametrize("arguments", [LOADING, {"answer": LOADING}, {"x": LOADING}, [LOADING]])
def test_no_message_loads_an_image(arguments):
    steps = [
        ActionStep(
            1,
            TIMING,
            tool_calls=[ToolCall(LOADING, arguments, "1")],
            error=ValueError(LOADING),  # type: ignore[arg-type]
            model_output=LOADING,
            observations=LOADING,
        ),
        PlanningStep([], None, LOADING, TIMING),  # type: ignore[arg-type]
        FinalAnswerStep(AgentText(LOADING)),
        FinalAnswerStep([LOADING]),
    ]
    messages = [message for step in steps for message in pull_messages_from_step(step)]
    shown = [message.content for message in messages]
    shown += [str(message.metadata.get("title")) for message in messages]
    assert sum("127.0.0.1" in text for text in shown) == 8
    assert not any("![" in text or "<img" in text for text in shown)
    assert any("<span style" in text for text in shown)  # upstream's own
    assert steps[0].observations == LOADING  # what the model is sent


@pytest.mark.parametrize(
    "answer",
    [10**5000, {10**5000: 1}, "x" * 10_000_000, [[0] * 3_000_000]],
    ids=["number", "key", "text", "items"],
)
def test_answer_without_a_moderate_text_is_shown(answer):
    (text,) = texts_of(FinalAnswerStep(answer))
    assert text.startswith("**Final answer:** ")
    assert len(text) < 60_000


def test_ordinary_answer_is_shown_as_it_is():
    assert texts_of(FinalAnswerStep({"a": 1})) == ["**Final answer:** {'a': 1}"]


@pytest.mark.parametrize("mode", ["RGB", "CMYK", "F", "HSV"])
def test_image_of_any_mode_is_shown(mode):
    (message,) = texts_of(FinalAnswerStep(AgentImage(PIL.Image.new(mode, (2, 2)))))
    with PIL.Image.open(message["path"]) as image:  # type: ignore[index]
        assert image.size == (2, 2)


def test_streamed_text_loads_no_image():
    agent = SimpleNamespace(run=lambda *_, **__: iter([ChatMessageStreamDelta(LOADING)]))
    (text,) = stream_to_gradio(agent, "task")
    assert "127.0.0.1:9/x" in text
    assert "![" not in text
    assert "<img" not in text


def test_text_of_a_page_is_the_limited_one():
    value = [[0] * 3_000_000]
    assert texts_of(FinalAnswerStep(value)) == [
        f"**Final answer:** {limited_text(value).replace('<list', '< list')}"
    ]
