"""The gateway of ``docker/jupyter``: its modules, and the whole as a process with a real kernel."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tools.paths import ROOT

# In an image they lie beside each other, outside of any package.
sys.path.append(str(ROOT / "docker" / "jupyter"))

from gateway_process import GatewayProcess


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
