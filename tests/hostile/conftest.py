"""The processes in which hostile programs run, one of each for a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hostile_harness import Worker

if TYPE_CHECKING:
    from process_host import ProcessHost


@pytest.fixture(scope="module")
def host() -> Iterator[ProcessHost]:
    """Give the host of a test module."""
    from process_host import ProcessHost  # needs Linux

    with ProcessHost() as host:
        yield host


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """Give the worker that runs programs in ``local`` and in plain CPython."""
    with Worker() as worker:
        yield worker
