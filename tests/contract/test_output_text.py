"""The text of an output comes from the executor, and its lack ends no run."""

from __future__ import annotations

from recording import RecordingExecutor
from smolagents import CodeAgent
from smolagents.local_python_executor import CodeOutput


class Textless:
    def __str__(self) -> str:
        raise LookupError("no text today")


class WithoutTexts(RecordingExecutor):
    """An executor whose outputs have no text."""

    def __call__(self, code_action: str) -> CodeOutput:
        return CodeOutput(output=Textless(), logs="", is_final_answer=True)


def test_output_of_any_executor_may_have_no_text(model):
    agent = CodeAgent([], model=model, executor_class=WithoutTexts, verbosity_level=0)
    assert type(agent.run("anything")) is Textless
    seen = agent.memory.steps[1].observations
    assert "<Textless whose str() raised LookupError: no text today>" in seen
