"""Requirements of saved tools and agents: distributions that an index has."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from recording import RecordingExecutor
from scripted_model import ScriptedModel
from smolagents import CodeAgent, Tool, ToolCallingAgent, tool

from smolagents_fork._version import upstream_version
from smolagents_fork.executors.agents.saved_requirements import saved_requirements


@tool
def shrink(path: str) -> str:
    """Makes a picture smaller.

    Args:
        path: of the picture.
    """
    import json

    import numpy
    import yaml
    from PIL import Image
    from sklearn import linear_model

    return json.dumps([path, str(Image), yaml.dump(1), str(numpy), str(linear_model)])


DISTRIBUTIONS = ["PyYAML", "numpy", "pillow", "scikit-learn", "smolagents"]


class Helped(Tool):
    """A tool whose module is on this machine only."""

    name = "helped"
    description = "Helps."
    inputs: dict[str, Any] = {}  # noqa: RUF012 - as tools are written
    output_type = "string"

    def forward(self) -> str:
        import own_helpers_of_this_test

        return str(own_helpers_of_this_test)


def lines(folder: Path) -> list[str]:
    return (folder / "requirements.txt").read_text().split()


def test_tool_names_distributions(tmp_path):
    assert shrink.to_dict()["requirements"] == DISTRIBUTIONS
    shrink.save(tmp_path)
    assert lines(tmp_path) == DISTRIBUTIONS


@pytest.mark.parametrize("cls", [CodeAgent, ToolCallingAgent])
def test_agent_names_distributions(tmp_path, cls):
    imports = ["json", "os.path", "pandas.*", "numpy==2.1", "google.cloud.storage", "scikit-learn"]
    options = {"additional_authorized_imports": imports} if cls is CodeAgent else {}
    agent = cls(tools=[shrink], model=ScriptedModel(), verbosity_level=0)
    if options:
        agent.authorized_imports += imports
    expected = set(DISTRIBUTIONS)
    if options:
        expected |= {"pandas", "numpy==2.1", "google-cloud-storage"}
    assert set(agent.to_dict()["requirements"]) == expected
    agent.save(tmp_path)
    assert set(lines(tmp_path)) == expected
    assert set(json.loads((tmp_path / "agent.json").read_text())["requirements"]) == expected
    for line in lines(tmp_path):
        assert Requirement(line).name not in sys.stdlib_module_names


def test_case_of_an_import_name_stays():
    assert saved_requirements(["IPython", "smolagents"]) == {"IPython", "smolagents"}


def test_star_is_not_a_requirement(tmp_path):
    agent = CodeAgent(
        [], model=ScriptedModel(), additional_authorized_imports=["*"], verbosity_level=0
    )
    assert agent.to_dict()["requirements"] == ["smolagents"]


def test_requirement_of_a_managed_agent_that_needs_the_fork_is_the_managers(tmp_path):
    worker = CodeAgent(
        tools=[],
        model=ScriptedModel(),
        executor_class=RecordingExecutor,
        name="worker",
        description="Works.",
        verbosity_level=0,
    )
    boss = ToolCallingAgent([], model=ScriptedModel(), managed_agents=[worker], verbosity_level=0)
    boss.save(tmp_path)
    assert lines(tmp_path) == [f"smolagents>={upstream_version}"]
    assert lines(tmp_path / "managed_agents/worker") == [f"smolagents>={upstream_version}"]


def test_module_of_this_machine_is_named_and_left_out(tmp_path, monkeypatch):
    (tmp_path / "own_helpers_of_this_test.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.warns(UserWarning, match="own_helpers_of_this_test: no distribution is known"):
        assert Helped().to_dict()["requirements"] == ["smolagents"]


def test_package_that_is_not_here_keeps_its_name():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Helped().to_dict()["requirements"] == ["own_helpers_of_this_test", "smolagents"]
