"""A LangChain tool, wrapped by upstream, called from a sandbox."""

from __future__ import annotations

import pytest
from bridge_harness import code_agent
from langchain_core.tools import tool
from smolagents import Tool

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_a_langchain_tool_with_state_of_the_host(sandbox):
    asked = []

    @tool
    def price_of(product: str, pieces: int = 1) -> str:
        """Gives the price of a product."""
        asked.append((product, pieces))
        return f"{product}: {len(product) * pieces}"

    wrapped = Tool.from_langchain(price_of)
    agent = code_agent(
        sandbox.executor,
        "one = price_of('lamp')\ntwo = price_of(pieces=3, product='rug')",
        "final_answer([one, two, price_of('desk', 2)])",
        tools=[wrapped],
    )
    assert agent.run("go") == ["lamp: 4", "rug: 9", "desk: 8"]
    assert asked == [("lamp", 1), ("rug", 3), ("desk", 2)]


def test_its_errors_are_caught_in_the_code(sandbox):
    @tool
    def refuses(reason: str) -> str:
        """Refuses."""
        raise PermissionError(reason)

    executor = sandbox.executor
    executor.send_tools({"refuses": Tool.from_langchain(refuses)})
    code = (
        "try:\n    refuses('not today')\nexcept PermissionError as error:\n"
        "    seen = str(error)\nseen"
    )
    assert executor(code).output == "not today"
