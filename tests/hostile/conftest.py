"""Fixture of the host for both files of process tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from process_host import ProcessHost


@pytest.fixture(scope="module")
def host(request: pytest.FixtureRequest) -> Iterator[ProcessHost]:
    """Give the host of a test module; children are plain CPython if the module sets ``PLAIN``."""
    from process_host import ProcessHost  # needs Linux

    with ProcessHost(plain=request.module.PLAIN) as host:
        yield host
