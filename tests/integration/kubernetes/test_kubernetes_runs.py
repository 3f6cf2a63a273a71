"""Code in pods: values, state, tools, output, files, and what is left afterwards."""

from __future__ import annotations

import pytest
from background import eventually
from cluster_double import NAMESPACE
from smolagents import ChatMessage, CodeAgent, MessageRole, Model, tool

from smolagents_fork import DockerExecutor, DockerPool, KubernetesEngine
from smolagents_fork.errors import SandboxDiedError


class Script(Model):
    """A model that answers with code, one step a call."""

    def __init__(self, *steps: str) -> None:
        super().__init__(model_id="script")
        self.steps = list(steps)

    def generate(self, messages, **kwargs):
        text = f"<code>\n{self.steps.pop(0)}\n</code>"
        return ChatMessage(role=MessageRole.ASSISTANT, content=text)


@tool
def doubled(number: int) -> int:
    """Doubles.

    Args:
        number: what to double.
    """
    return number * 2


def test_code_keeps_state_calls_tools_and_leaves_nothing(make, cluster):
    executor = make()
    executor.send_tools({"doubled": doubled})
    assert executor("1 + 1").output == 2
    executor("value = 20")
    assert executor("print('said')\ndoubled(value + 1)").output == 42
    assert executor("value").output == 20
    assert len(cluster.pods) == 1
    executor.delete()
    assert cluster.pods == {}


def test_large_values_travel_both_ways(make):
    executor = make()
    executor.send_variables({"data": bytes(range(256)) * 80_000})
    assert executor("len(data)").output == 256 * 80_000
    assert executor("data[::-1]").output == (bytes(range(256)) * 80_000)[::-1]


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


def test_pool_of_pods(cluster, image):
    engine = KubernetesEngine()
    options = {"image": image, "startup_timeout_seconds": 180}
    with DockerPool(1, 2, engine=engine, acquire_timeout_seconds=180, **options) as pool:
        for _ in range(2):
            with DockerExecutor(pool=pool) as executor:
                assert executor("'kept' in globals()\n").output is False
                executor("kept = 1")
    assert eventually(lambda: not cluster.pods)
