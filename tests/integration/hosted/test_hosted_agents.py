"""Hosted executors in a CodeAgent: by name, by class, saved and loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hosted_services import Hosted
from scripted_model import Script
from smolagents import CodeAgent, InferenceClientModel


def agent(hosted: Hosted, model: Any = None, **options: Any) -> CodeAgent:
    return CodeAgent(
        tools=[],
        model=model or InferenceClientModel(),
        executor_kwargs=dict(hosted.options),
        max_steps=1,
        verbosity_level=0,
        **options,
    )


def test_agent_runs_twice(hosted: Hosted):
    model = Script(*["final_answer((word, {1: 2}))"] * 2)
    with agent(hosted, model, executor_type=hosted.name) as made:
        assert type(made.python_executor) is hosted.repaired
        assert made.run("go", additional_args={"word": "a"}) == ("a", {1: 2})
        assert made.run("go", additional_args={"word": b"b"}) == (b"b", {1: 2})
    assert set(hosted.service.sandboxes) <= hosted.service.shared


def test_class_decides(hosted: Hosted):
    for chosen in (hosted.repaired, hosted.upstream):
        with agent(hosted, executor_class=chosen) as made:
            assert type(made.python_executor) is chosen


def test_agent_saved_by_name_loads_by_name(hosted: Hosted, tmp_path: Path):
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


@pytest.mark.parametrize("which", ["repaired", "upstream"])
def test_agent_saved_by_class_loads_by_class(hosted: Hosted, which: str):
    chosen = getattr(hosted, which)
    with agent(hosted, executor_class=chosen) as made:
        saved = made.to_dict()
    assert (saved["executor_type"], saved["executor_class"]) == (
        "class",
        f"{chosen.__module__}:{chosen.__name__}",
    )
    # Upstream's class would install the standard library's modules, too, which a saved agent names.
    with CodeAgent.from_dict({**saved, "authorized_imports": []}) as loaded:
        assert type(loaded.python_executor) is chosen
