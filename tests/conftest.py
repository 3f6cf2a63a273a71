"""What tests of every kind need from the machine: skipped with the reason, or required."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

# What `.ci/run` makes on a machine that reaches no registry.
LOCAL_BASE = "smolagents-fork-base:bookworm"


@pytest.fixture(scope="session")
def engine() -> Iterator[Any]:
    """A client for a real Docker engine, and a base image that needs no registry if there is one.

    Without an engine: a skip that says why, or a failure when ``REQUIRE_DOCKER=1``.
    """
    from smolagents_fork.containers.engine import connect
    from smolagents_fork.containers.images import BASE_IMAGE_VARIABLE, exists
    from smolagents_fork.errors import EngineUnavailableError

    try:
        client = connect(timeout=60)
    except EngineUnavailableError as error:
        if os.environ.get("REQUIRE_DOCKER") == "1":
            pytest.fail(f"REQUIRE_DOCKER=1, but {error}")
        pytest.skip(str(error))
    if BASE_IMAGE_VARIABLE not in os.environ and exists(client, LOCAL_BASE):
        os.environ[BASE_IMAGE_VARIABLE] = LOCAL_BASE
    yield client
    client.close()
