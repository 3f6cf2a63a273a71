"""The text of an output comes from the executor, and its lack ends no run."""

from __future__ import annotations

from typing import Any

from recording import RecordingExecutor
from smolagents import CodeAgent
from smolagents.local_python_executor import CodeOutput


def agent_with(model, *answers: str, **kwargs: Any) -> CodeAgent:
    model.answers = [f"<code>{answer}</code>" for answer in answers]
    return CodeAgent(tools=[], model=model, verbosity_level=0, **kwargs)


class WithTexts(RecordingExecutor):
    """An executor that makes the texts of its outputs."""

    def __call__(self, code_action: str) -> CodeOutput:
        return CodeOutput(output={"made": code_action}, logs="", is_final_answer=True)

    def text_of_output(self, output: Any) -> str:
        return f"the text of {output['made']}"


def test_executor_is_asked_for_the_text(model):
    agent = agent_with(model, "1 + 1", executor_class=WithTexts)
    assert agent.run("anything") == {"made": "1 + 1"}
    assert "the text of 1 + 1" in agent.memory.steps[1].observations


class Textless:
    def __str__(self) -> str:
        raise LookupError("no text today")


class WithoutTexts(RecordingExecutor):
    """An executor whose outputs have no text."""

    def __call__(self, code_action: str) -> CodeOutput:
        return CodeOutput(output=Textless(), logs="", is_final_answer=True)


def test_output_of_any_executor_may_have_no_text(model):
    agent = agent_with(model, "1 + 1", executor_class=WithoutTexts)
    assert type(agent.run("anything")) is Textless
    seen = agent.memory.steps[1].observations
    assert "<Textless whose str() raised LookupError: no text today>" in seen
