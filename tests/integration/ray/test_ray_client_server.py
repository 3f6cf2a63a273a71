"""An application that is not a node of the cluster, and reaches it through ``ray://``."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from own_clusters import own_cluster
from ray_extras import have_packages
from whole_contract import WHOLE

from tools.paths import ROOT

# Only detects hangs.
SECONDS = 400.0
_PORT = 10001  # of Ray's server for clients, which a head starts where grpcio is installed

pytestmark = pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")

# In a process of its own, which has grpcio.
PROGRAM = f"""
import sys
from smolagents_fork import ProcessExecutor, RayEngine

engine = RayEngine(
    sys.argv[1], sandbox="process", cpus_per_slot=0.25, lease_seconds=60.0
)
with ProcessExecutor(
    engine=engine, startup_timeout_seconds={SECONDS}, timeout_seconds={SECONDS}
) as executor:
    executor.send_tools({{"double": lambda number: 2 * number}})
    print(executor("double(21)").output)
    data = bytes(range(256)) * 80_000
    executor.send_variables({{"data": data}})
    print(executor("len(data)").output)
    print(executor("data").output == data)
"""


@pytest.fixture
def grpcio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have grpcio in this test's processes alone: with it every head starts one more server.

    That server forks a process for each client. With gRPC's own handlers of forks, the new process
    sometimes ended by a segmentation fault in gRPC (grpcio 1.85.3).
    """
    monkeypatch.setenv("GRPC_ENABLE_FORK_SUPPORT", "0")
    if importlib.util.find_spec("grpc") is not None:
        return
    have_packages(["grpcio"], tmp_path / "grpcio", monkeypatch)


@pytest.mark.usefixtures("grpcio")
def test_calls_tools_and_long_values_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    with own_cluster(monkeypatch):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, f"ray://127.0.0.1:{_PORT}"],
            cwd=ROOT,
            env=os.environ,
            capture_output=True,
            text=True,
            timeout=3 * SECONDS,
            check=False,
        )
    assert (done.returncode, done.stdout.split()) == (0, ["42", "20480000", "True"]), done.stderr
