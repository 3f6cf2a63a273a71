"""A child process and a container, each with tools that stay on the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from bridge_harness import Sandbox

if TYPE_CHECKING:
    from span_records import Recorded


@pytest.fixture(scope="session")
def sandboxes() -> Iterator[dict[str, Sandbox]]:
    made: dict[str, Sandbox] = {}
    yield made
    for one in made.values():
        one.executor.cleanup()


@pytest.fixture(
    params=["process", pytest.param("docker", marks=pytest.mark.docker)],
)
def sandbox(request: pytest.FixtureRequest, sandboxes: dict[str, Sandbox]) -> Sandbox:
    """Give an executor shared by the tests of the session."""
    if request.param == "docker":
        request.getfixturevalue("engine")
    if request.param not in sandboxes:
        sandboxes[request.param] = Sandbox(request.param)
    made = sandboxes[request.param]
    made.streamed.clear()
    made.on_output = made.streamed.append
    return made


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    """Record the spans of the test, those of OpenInference's instrumentation among them."""
    # Not at the top: without an application that imports it, nothing of OpenTelemetry is used.
    from openinference.instrumentation.smolagents import SmolagentsInstrumentor
    from span_records import records

    records().exporter.clear()
    instrumentor = SmolagentsInstrumentor()
    instrumentor.instrument(tracer_provider=records().tracers, skip_dep_check=True)
    yield records()
    instrumentor.uninstrument()
