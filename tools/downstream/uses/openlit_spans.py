"""openlit: its spans for smolagents, in OpenTelemetry's conventions for generative models."""

import openlit
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import set_tracer_provider
from scripted_model import ScriptedModel, price_of
from smolagents import CodeAgent

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
set_tracer_provider(provider)
openlit.init(disable_metrics=True, application_name="downstream")

agent = CodeAgent([price_of], model=ScriptedModel("final_answer(price_of('desk') + 2)"))
assert agent.run("What is the answer?") == 42

names = sorted({span.name for span in exporter.get_finished_spans()})
assert any("agent" in name for name in names), names
assert any("tool" in name for name in names), names
print(f"spans: {', '.join(names)}")
