"""The host that both files of process tests are written for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from process_host import ProcessHost


@pytest.fixture(scope="module")
def host(request: pytest.FixtureRequest) -> Iterator[ProcessHost]:
    """Give the host of this module; its children are plain CPython where it says ``PLAIN``."""
    from process_host import ProcessHost  # needs what Linux has

    with ProcessHost(plain=request.module.PLAIN) as host:
        yield host
