"""Spans and metrics of this process, which can have one provider of each, once for its life."""

from __future__ import annotations

import functools
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from smolagents import Tool


class Price(Tool):
    name = "price_of"
    description = "Gives the price of a product."
    inputs = {"product": {"type": "string", "description": "Its name."}}  # noqa: RUF012 - upstream's
    output_type = "integer"

    def forward(self, product: str) -> int:
        return len(product) * 10


class Recorded:
    """Spans and metrics that the providers of this process have recorded."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        trace.set_tracer_provider(self.tracers)
        self.reader = InMemoryMetricReader()
        readers = [self.reader, PrometheusMetricReader()]
        metrics.set_meter_provider(MeterProvider(metric_readers=readers))

    def spans(self, name: str) -> list[Any]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def ancestors(self, span: Any) -> list[str]:
        """Return the names of a span's parents, the nearest first."""
        spans = {one.context.span_id: one for one in self.exporter.get_finished_spans()}
        names = []
        while span.parent is not None:
            span = spans[span.parent.span_id]
            names.append(span.name)
        return names

    def points(self, name: str) -> list[Any]:
        data = self.reader.get_metrics_data()
        return [
            point
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]


@functools.cache
def records() -> Recorded:
    """Return the records of the process; the first call sets its providers."""
    return Recorded()
