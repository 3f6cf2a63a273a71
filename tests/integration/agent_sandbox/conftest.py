"""An agent sandbox on a real engine, shared by the tests that leave it as they found it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from smolagents_fork import AgentSandbox

#: Figures of upstream's guide.
GUIDE = {"memory": "512m", "cpus": 0.5, "pids_limit": 100}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "integration/agent_sandbox" in item.path.as_posix():
            item.add_marker(pytest.mark.docker)


@pytest.fixture(scope="session")
def box(engine: Any) -> Iterator[AgentSandbox]:
    """A sandbox with the guide's limits, without network, secrets or a model."""
    with AgentSandbox(startup_timeout_seconds=180, timeout_seconds=120, **GUIDE) as made:
        yield made
