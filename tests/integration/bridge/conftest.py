"""A child process and a container, each with tools that stay on the host."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bridge_harness import Sandbox


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
