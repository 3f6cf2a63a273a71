"""Fixtures of engines behind proxies that regroup bytes, or do not."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

import pytest
from far_engines import FarEngine, with_grouping


def _open(request: pytest.FixtureRequest) -> Iterator[FarEngine]:
    if sys.platform == "win32":
        pytest.skip("the engines run on Linux")
    with contextlib.ExitStack() as stack:
        yield request.param[0](request, stack)


far_engine = pytest.fixture(params=with_grouping("as sent"), name="far_engine")(_open)
splitting_engine = pytest.fixture(params=with_grouping("bytes"), name="splitting_engine")(_open)
gathering_engine = pytest.fixture(params=with_grouping("gathered"), name="gathering_engine")(_open)
