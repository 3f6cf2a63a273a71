"""openinference: the spans of an agent's run, with the tool that its code called."""

from openinference.instrumentation.smolagents import SmolagentsInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from scripted_model import ScriptedModel, price_of
from smolagents import CodeAgent

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
SmolagentsInstrumentor().instrument(tracer_provider=provider)

agent = CodeAgent([price_of], model=ScriptedModel("final_answer(price_of('desk') + 2)"))
assert agent.run("What is the answer?") == 42

spans = exporter.get_finished_spans()
kinds = {span.attributes["openinference.span.kind"] for span in spans}
assert {"AGENT", "CHAIN", "TOOL"} <= kinds, kinds
assert len({span.context.trace_id for span in spans}) == 1
print(f"{len(spans)} spans in one trace: {', '.join(sorted(kinds))}")
