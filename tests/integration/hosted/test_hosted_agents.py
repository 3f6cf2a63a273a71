"""Hosted executors in a CodeAgent: by name, by class, saved and loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from doubled_service import DoubledService
from scripted_model import Script
from smolagents import CodeAgent, InferenceClientModel


def agent(hosted: DoubledService, model: Any = None, **options: Any) -> CodeAgent:
    return CodeAgent(
        tools=[],
        model=model or InferenceClientModel(),
        executor_kwargs=dict(hosted.options),
        max_steps=1,
        verbosity_level=0,
        **options,
    )


def test_agent_runs_twice(hosted: DoubledService):
    model = Script(*["final_answer((word, {1: 2}))"] * 2)
    with agent(hosted, model, executor_type=hosted.name) as made:
        assert type(made.python_executor) is hosted.repaired
        assert made.run("go", additional_args={"word": "a"}) == ("a", {1: 2})
        assert made.run("go", additional_args={"word": b"b"}) == (b"b", {1: 2})
    assert set(hosted.sandboxes) <= hosted.shared


def test_agent_saved_by_name_loads_by_name(hosted: DoubledService, tmp_path: Path):
    with agent(hosted, executor_type=hosted.name) as made:
        saved = made.to_dict()
        made.save(tmp_path)
    assert (saved["executor_type"], saved["executor_kwargs"]) == (hosted.name, hosted.options)
    assert "executor_class" not in saved
    with CodeAgent.from_folder(tmp_path) as loaded:
        assert type(loaded.python_executor) is hosted.repaired
        # A saved agent names the standard library's modules, too, which upstream gives to pip.
        code = "import os\nos.listdir(os.environ['PIP_TARGET'])"
        assert loaded.python_executor(code).output == []
