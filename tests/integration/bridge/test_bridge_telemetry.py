"""OpenInference's instrumentation records agents and tools that a sandbox calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from bridge_harness import code_agent
from openinference.instrumentation.smolagents import SmolagentsInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from smolagents import Tool

from smolagents_fork import ProcessExecutor

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Price(Tool):
    name = "price_of"
    description = "Gives the price of a product."
    inputs = {"product": {"type": "string", "description": "Its name."}}  # noqa: RUF012 - upstream's
    output_type = "integer"

    def forward(self, product: str) -> int:
        return len(product) * 10


@pytest.fixture
def exporter() -> Iterator[Any]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor = SmolagentsInstrumentor()
    instrumentor.instrument(tracer_provider=provider, skip_dep_check=True)
    yield exporter
    instrumentor.uninstrument()
    provider.shutdown()


def ancestors(span: Any, spans: dict[int, Any]) -> list[str]:
    """Return the names of a span's parents, the nearest first."""
    names = []
    while span.parent is not None:
        span = spans[span.parent.span_id]
        names.append(span.name)
    return names


def test_spans_have_their_parents(sandbox, exporter):
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
    finished = exporter.get_finished_spans()
    spans = {span.context.span_id: span for span in finished}
    assert len({span.context.trace_id for span in finished}) == 1, "one trace"
    runs = {span.name: span for span in finished if span.name.endswith(".run")}
    assert set(runs) == {"CodeAgent.run", "shop.run"}
    assert ancestors(runs["CodeAgent.run"], spans) == []
    assert ancestors(runs["shop.run"], spans) == ["Step 1", "CodeAgent.run"]
    tools = [span for span in finished if span.name == "Price"]
    own, theirs = sorted(tools, key=lambda span: len(ancestors(span, spans)))
    assert ancestors(own, spans) == ["Step 1", "CodeAgent.run"]
    assert ancestors(theirs, spans) == ["Step 1", "shop.run", "Step 1", "CodeAgent.run"]
    kinds = {span.name: span.attributes["openinference.span.kind"] for span in finished}
    assert (kinds["Price"], kinds["shop.run"], kinds["CodeAgent.run"]) == ("TOOL", "AGENT", "AGENT")


def test_a_tool_in_a_thread_of_its_own_keeps_its_parents(exporter):
    """With a time limit for tools, the host works in another thread."""
    with ProcessExecutor(tool_timeout_seconds=30) as executor:
        agent = code_agent(executor, "final_answer(price_of('desk'))", tools=[Price()])
        assert agent.run("go") == 40
    spans = {span.context.span_id: span for span in exporter.get_finished_spans()}
    price = next(span for span in spans.values() if span.name == "Price")
    assert ancestors(price, spans) == ["Step 1", "CodeAgent.run"]


def test_a_tools_error_is_in_its_span(sandbox, exporter):
    class Refusing(Price):
        def forward(self, product: str) -> int:
            raise LookupError(f"no {product}")

    agent = code_agent(
        sandbox.executor,
        "try:\n    price_of('sofa')\nexcept LookupError:\n    pass\nfinal_answer('went on')",
        tools=[Refusing()],
    )
    assert agent.run("go") == "went on"
    span = next(s for s in exporter.get_finished_spans() if s.name == "Refusing")
    assert not span.status.is_ok
    assert "no sofa" in span.status.description
