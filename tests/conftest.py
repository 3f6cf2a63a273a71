"""What tests of every kind need from the machine, and that its speed decides none of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

with contextlib.suppress(ImportError):  # environments that have pytest and nothing else
    import hypothesis

    # An example may take as long as a busy machine needs, and every run tries the same ones: what
    # fails, fails again. "--hypothesis-profile=default" looks at others, drawn anew.
    hypothesis.settings.register_profile(
        "repeatable",
        deadline=None,
        derandomize=True,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    hypothesis.settings.load_profile("repeatable")

# What `.ci/run` makes on a machine that reaches no registry.
LOCAL_BASE = "smolagents-fork-base:bookworm"

#: Folders whose files take longest, most of it waiting: begun last, one would run long alone.
LONGEST_FIRST = ("tools", "build", "integration/docker", "integration", "contract")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the files for ``--dist loadfile --no-loadscope-reorder``, and keep their own order."""
    here = Path(__file__).parent

    def place(item: pytest.Item) -> int:
        name = item.path.relative_to(here).as_posix() if here in item.path.parents else ""
        found = (n for n, folder in enumerate(LONGEST_FIRST) if name.startswith(folder + "/"))
        return next(found, len(LONGEST_FIRST))

    items.sort(key=place)


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
