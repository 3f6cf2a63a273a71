"""Tools of the host, called from the code."""

from __future__ import annotations

from contract_declarations import behaviour
from contract_parts import PREFIX, Counter, prefixed


@behaviour("Tools", "A function tool works, with its module's globals and its defaults.")
def test_function_tool(contract):
    executor = contract.shared
    executor.send_tools({"prefixed": prefixed})
    assert executor("[prefixed('a'), prefixed('b', 2), prefixed(times=3, text='c')]").output == [
        PREFIX + "a",
        PREFIX + "bb",
        PREFIX + "ccc",
    ]


@behaviour("Tools", "A Tool with required arguments keeps its state, on the host.")
def test_tool_with_state(contract):
    executor = contract.shared
    counter = Counter(start=100)
    executor.send_tools({"counter": counter})
    assert executor("counter(1)").output == 101
    assert executor("[counter(step=n) for n in (10, 20)]").output == [111, 131]
    assert counter.total == 131
    counter.total = 0
    assert executor("counter(5)").output == 5
