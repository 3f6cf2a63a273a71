"""A cluster whose every connection has TLS: Ray's own, and the sandboxes' streams."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import certificates
import pytest
from own_clusters import own_cluster
from ray_nodes.cluster import RayCluster
from whole_contract import WHOLE

from smolagents_fork import ProcessExecutor, RayEngine

# Only detects hangs.
SECONDS = 240.0

pytestmark = pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")


@pytest.fixture
def secured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RayCluster]:
    """A cluster of one node with certificates, with all that its users need in the environment."""
    # Ray uses an address of this machine in place of the loopback's.
    own = subprocess.check_output(["hostname", "-I"], text=True).split()
    certificate = str(certificates.made_in(tmp_path, *own))
    with own_cluster(monkeypatch, certificate=certificate) as cluster:
        yield cluster


def test_calls_tools_and_long_values_pass_with_tls(secured: RayCluster) -> None:
    engine = RayEngine(secured.address, sandbox="process", cpus_per_slot=0.25)
    with ProcessExecutor(engine=engine, startup_timeout_seconds=SECONDS) as executor:
        executor.send_tools({"double": lambda number: 2 * number})
        assert executor("double(21)").output == 42
        assert executor("'x' * 3_000_000").output == "x" * 3_000_000
        assert executor.stats().memory_bytes > 1 << 20
