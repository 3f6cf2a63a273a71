"""The gateway of ``docker/jupyter``: its modules, and the whole as a process with a real kernel."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

import pytest

from tools.paths import ROOT

# In an image they lie beside each other, outside of any package.
sys.path.append(str(ROOT / "docker" / "jupyter"))

from gateway_process import PATIENCE, GatewayProcess
from gateway_streams import Loop


@pytest.fixture(scope="module")
def gateway() -> Iterator[GatewayProcess]:
    """One gateway for the tests of a module, each of which leaves it working."""
    with GatewayProcess() as process:
        yield process


@pytest.fixture
def own_gateway() -> Iterator[GatewayProcess]:
    """A gateway for one test."""
    with GatewayProcess() as process:
        yield process


@pytest.fixture
def loop() -> Iterator[Loop]:
    """The gateway's event loop, which the test turns."""
    made = Loop()
    yield made
    made.close()


@pytest.fixture
def turned(loop: Loop) -> Callable[[Callable[[], object]], None]:
    """A function that lets the loop work until a condition is true."""

    def tick() -> None:
        # At each turn there is a next one: a slow turn may be late for a single timer.
        loop.call_later(0.01, tick)

    tick()

    def turned(condition: Callable[[], object]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end
            loop.turn()

    return turned
