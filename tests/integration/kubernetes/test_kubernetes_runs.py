"""Code in pods: values, state, tools, output, files, and what is left afterwards."""

from __future__ import annotations

import pytest
from background import eventually
from smolagents import tool

from smolagents_fork.errors import SandboxDiedError


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
