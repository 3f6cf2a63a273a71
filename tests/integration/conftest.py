"""What the integration tests need from the machine: skipped with the reason, or required."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session")
def engine():
    """A client for a real Docker engine.

    Without one: a skip that says why, or a failure when ``REQUIRE_DOCKER=1``.
    """
    from smolagents_fork.containers.engine import connect
    from smolagents_fork.errors import EngineUnavailableError

    try:
        client = connect(timeout=60)
    except EngineUnavailableError as error:
        if os.environ.get("REQUIRE_DOCKER") == "1":
            pytest.fail(f"REQUIRE_DOCKER=1, but {error}")
        pytest.skip(str(error))
    yield client
    client.close()
