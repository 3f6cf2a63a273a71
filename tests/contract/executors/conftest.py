"""Every test that takes ``contract`` runs on every executor."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from contract_declarations import EXECUTORS, fault
from contract_kinds import KINDS, Contract, Shared

from smolagents_fork.containers.images import BASE_IMAGE_VARIABLE, exists

LOCAL_BASE = "smolagents-fork-base:bookworm"


@pytest.fixture(scope="session")
def engine() -> Iterator[Any]:
    """A client for a real engine; the rule is that of the integration tests.

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
    # What the environment names, else what a machine without a registry has.
    if BASE_IMAGE_VARIABLE not in os.environ and exists(client, LOCAL_BASE):
        os.environ[BASE_IMAGE_VARIABLE] = LOCAL_BASE
    yield client
    client.close()


@pytest.fixture(scope="session")
def shared_executors() -> Iterator[Shared]:
    shared = Shared()
    yield shared
    shared.close()


@pytest.fixture(
    params=[
        pytest.param(name, marks=pytest.mark.docker if name == "docker" else ())
        for name in EXECUTORS
    ]
)
def contract(request: pytest.FixtureRequest, shared_executors: Shared) -> Iterator[Contract]:
    """One executor, and whether it differs in this test."""
    if request.param == "docker":
        request.getfixturevalue("engine")
    known = fault(request.param, request.function.__name__)
    if known is not None:
        request.applymarker(pytest.mark.xfail(reason=known.words, strict=True))
    made = Contract(KINDS[request.param], request.function.__name__, shared_executors)
    yield made
    made.close()
    if made.declared is not None and not made.asked:
        pytest.fail(f"{request.param} is declared to differ, and the test does not hold that")
