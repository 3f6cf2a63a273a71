"""Parts of nodes and clusters that tests of this folder share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from smolagents_fork.ray_cluster import node_supervisor


@pytest.fixture(autouse=True)
def _echo_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let supervisors have the kind ``echo``."""
    monkeypatch.setitem(node_supervisor.KINDS, "echo", "doubled_placer:EchoKind")


@pytest.fixture
def use_tls(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Have Ray use TLS with the file of a key and a certificate."""

    def use(path: Path) -> None:
        monkeypatch.setenv("RAY_USE_TLS", "1")
        for name in ("RAY_TLS_CA_CERT", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY"):
            monkeypatch.setenv(name, str(path))

    return use
