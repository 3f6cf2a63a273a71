"""OpenInference's instrumentation records agents and tools that a sandbox calls."""

from __future__ import annotations

import pytest
from bridge_harness import code_agent
from span_records import Price

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


#: Spans around a call of a tool or agent by the code of a step, the nearest first.
STEP = ["smolagents_fork.call", "Step 1"]


def test_spans_have_their_parents(sandbox, recorded):
    inner = code_agent(
        None,
        "final_answer(price_of('lamp'))",
        name="shop",
        description="Knows prices.",
        tools=[Price()],
    )
    boss = code_agent(
        sandbox.executor,
        "words = shop('lamp?')\nown = price_of('desk')",
        "final_answer([own, '40' in words])",
        tools=[Price()],
        managed_agents=[inner],
    )
    assert boss.run("go") == [40, True]
    finished = recorded.exporter.get_finished_spans()
    assert len({span.context.trace_id for span in finished}) == 1, "one trace"
    runs = {span.name: span for span in finished if span.name.endswith(".run")}
    assert set(runs) == {"CodeAgent.run", "shop.run"}
    assert recorded.ancestors(runs["CodeAgent.run"]) == []
    assert recorded.ancestors(runs["shop.run"]) == [
        "execute_tool shop", *STEP, "CodeAgent.run",
    ]  # fmt: skip
    tools = [span for span in finished if span.name == "Price"]
    own, theirs = sorted(tools, key=lambda span: len(recorded.ancestors(span)))
    assert recorded.ancestors(own) == ["execute_tool price_of", *STEP, "CodeAgent.run"]
    assert recorded.ancestors(theirs) == [
        "execute_tool price_of", *STEP, "shop.run",
        "execute_tool shop", *STEP, "CodeAgent.run",
    ]  # fmt: skip
    executors = [call.attributes for call in recorded.spans("smolagents_fork.call")]
    assert {"smolagents_fork.executor": type(sandbox.executor).__name__} in executors
    assert {"smolagents_fork.executor": "LocalPythonExecutor"} in executors
    called = recorded.spans("execute_tool price_of")[0].attributes
    assert called["gen_ai.operation.name"] == "execute_tool"
    assert called["gen_ai.tool.name"] == "price_of"
    kinds = {span.name: span.attributes.get("openinference.span.kind") for span in finished}
    assert (kinds["Price"], kinds["shop.run"], kinds["CodeAgent.run"]) == ("TOOL", "AGENT", "AGENT")
