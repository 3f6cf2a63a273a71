"""Code in pods: values, state, tools, output, files, and what is left afterwards."""

from __future__ import annotations

import re

import pytest
from background import eventually
from cluster_double import NAMESPACE, Fault
from scripted_model import Script
from smolagents import CodeAgent, tool

from smolagents_fork import KubernetesEngine
from smolagents_fork.errors import ExecutorStartError, SandboxDiedError


@tool
def doubled(number: int) -> int:
    """Doubles.

    Args:
        number: what to double.
    """
    return number * 2


def test_deleted_pod_is_noticed_and_replaced(make, cluster):
    executor = make(timeout_seconds=600)
    executor("kept = 1")
    (name,) = cluster.pods
    executor.send_tools({"delete": lambda: cluster.remove(name)})
    with pytest.raises(SandboxDiedError, match="ended and was removed"):
        executor("import time\ndelete()\ntime.sleep(600)")
    assert executor("'kept' in globals()").output is False
    assert eventually(lambda: name not in cluster.pods)


def test_agent_by_the_name_of_the_engine(cluster, image):
    options = {"image": image, "namespace": NAMESPACE, "startup_timeout_seconds": 180}
    agent = CodeAgent(
        tools=[],
        model=Script("value = 40", "final_answer(value + 2)"),
        executor_type="kubernetes",
        executor_kwargs=options,
        verbosity_level=0,
    )
    with agent:
        assert agent.run("add") == 42
        agent.python_executor.delete()
    assert cluster.pods == {}


class Lines:
    """A logger that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def log(self, text, **_keywords) -> None:
        self.lines.append(str(text))

    log_error = log


def test_errors_and_log_lines_name_sandbox_node_and_tenant(make, cluster):
    logger = Lines()
    executor = make(logger=logger, engine=KubernetesEngine(tenant="team-a"), timeout_seconds=600)
    (name,) = cluster.pods
    place = f"sandbox {name.removeprefix('smolagents-fork-')} (pod {name}) on node node-1"
    place += " of tenant team-a"
    assert executor.place == place
    executor.send_tools({"doubled": doubled, "delete": lambda: cluster.remove(name)})
    logger.lines.clear()
    executor("doubled(1)")
    assert logger.lines
    assert all(line.startswith(f"{place}: ") for line in logger.lines)
    with pytest.raises(SandboxDiedError) as died:
        executor("import time\ndelete()\ntime.sleep(600)")
    assert str(died.value).startswith(f"{place}: ")
    cluster.faults.append(Fault("POST", "/pods$", 409, "injected by test", times=5))
    with pytest.raises(ExecutorStartError, match="injected by test") as refused:
        executor("1")
    assert re.match(r"sandbox [0-9a-f]{12} of tenant team-a: ", str(refused.value))
