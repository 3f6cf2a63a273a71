"""Fixture of the host of process tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from process_host import ProcessHost


@pytest.fixture(scope="module")
def host() -> Iterator[ProcessHost]:
    """Give the host of a test module."""
    from process_host import ProcessHost  # needs Linux

    with ProcessHost() as host:
        yield host
