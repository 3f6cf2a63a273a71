"""A tool whose source is sent: its package is in the image before any code runs."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from bridge_harness import code_agent
from smolagents import LocalPythonExecutor, Tool

from smolagents_fork import DockerExecutor, ProcessExecutor
from smolagents_fork.errors import ConfigurationError, ExecutorError

# Small, pure Python, without requirements, and not in the fork's image.
PACKAGE = "sortedcontainers"


class Smallest(Tool):
    name = "smallest"
    description = "Gives the smallest numbers, and the name of the machine."
    inputs: ClassVar[dict[str, Any]] = {
        "numbers": {"type": "array", "description": "Which."},
        "count": {"type": "integer", "description": "How many.", "nullable": True},
    }
    output_type = "array"

    def forward(self, numbers: list, count: int = 2) -> list:
        import platform

        import sortedcontainers

        return [*sortedcontainers.SortedList(numbers)[:count], platform.node()]


@pytest.mark.docker
@pytest.mark.network
def test_requirements_of_a_tool_in_the_sandbox_are_built_into_its_image(engine):
    tool = Smallest()
    assert PACKAGE in tool.to_dict()["requirements"]
    other = Smallest()
    other.name = "other"
    other.to_dict = lambda: {"requirements": {"colorama"}}  # type: ignore[method-assign]
    placement = {"smallest": "sandbox", "othr": "sandbox"}
    with DockerExecutor(tool_placement=placement, timeout_seconds=60) as executor:
        before = executor.container.id
        words = r"tool_placement\['othr'\]: no tool has that name; did you mean 'other'\?"
        with pytest.raises(ConfigurationError, match=words):
            executor.send_tools({"other": other})
        words = r"tool_placement\['othr'\]: no tool has that name; there are final_answer, small"
        with pytest.raises(ConfigurationError, match=words):
            executor.send_tools({"final_answer": print, "smallest": tool})
        # A name whose tool comes later is not refused.
        executor.options.tool_placement["other"] = executor.options.tool_placement.pop("othr")
        agent = code_agent(
            executor,
            "import socket\nfound = smallest([3, 1, 2])\nnode = socket.gethostname()",
            "final_answer([found[:2], found[2] == node, smallest([5, 4], count=1)[0]])",
            tools=[tool],
        )
        assert agent.run("go") == [[1, 2], True, 4]
        assert executor.installed_packages == [PACKAGE]
        assert executor.options.network == "none"
        assert executor.container.id != before  # from the image with the package
        # After code has run, a new container would not have its state.
        with pytest.raises(ExecutorError, match=r"colorama: .* a new one would not have its state"):
            executor.send_tools({"other": other})
        assert executor("smallest([9, 8])[0]").output == 8


def test_sandbox_placement_is_refused_without_an_image():
    with pytest.raises(ConfigurationError, match="calls tools on the host only"):
        ProcessExecutor(tool_placement={"smallest": "sandbox"})
    with pytest.raises(ConfigurationError, match="no parameter 'tool_placement'"):
        LocalPythonExecutor([], tool_placement={"smallest": "sandbox"})
