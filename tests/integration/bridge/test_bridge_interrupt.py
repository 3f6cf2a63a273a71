"""``agent.interrupt()`` while the host works for the code: a tool that blocks, agents two deep."""

from __future__ import annotations

import threading

import pytest
from background import acting, eventually
from begin_tool import Begin
from bridge_harness import Sandbox, code_agent
from smolagents import LocalPythonExecutor

from smolagents_fork import ProcessExecutor

ENDLESS = "begin()\nn = 0\nwhile True:\n    n += 1"


def test_interrupt_reaches_the_agent_of_an_agent(sandbox: Sandbox) -> None:
    """Each of the three agents has its own executor; the innermost never ends by itself."""
    begun = threading.Event()
    with ProcessExecutor(timeout_seconds=120) as of_the_middle:
        of_the_inner = LocalPythonExecutor(
            [], timeout_seconds=120, max_operations=10**12, max_while_iterations=10**12
        )
        inner = code_agent(
            of_the_inner,
            ENDLESS,
            "final_answer('ran on')",
            name="inner",
            description="Works.",
            tools=[Begin(begun)],
        )
        middle = code_agent(
            of_the_middle,
            "report = inner('work')",
            "final_answer('ran on')",
            name="middle",
            description="Asks the other.",
            managed_agents=[inner],
        )
        boss = code_agent(
            sandbox.executor,
            "report = middle('work')",
            "final_answer('ran on')",
            managed_agents=[middle],
        )
        with acting(begun.is_set, boss.interrupt), pytest.raises(Exception, match="interrupted"):
            boss.run("go")
        # The innermost ends because its loop was stopped, too.
        assert eventually(lambda: "interrupted" in str([s.error for s in inner.memory.steps[1:]]))
        assert sandbox.executor("'free'").output == "free"
        assert [agent.interrupt_switch for agent in (boss, middle, inner)] == [True, True, True]
        assert of_the_middle("'free'").output == "free"
        assert of_the_inner("'free'").output == "free"
