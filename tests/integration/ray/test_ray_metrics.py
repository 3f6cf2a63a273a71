"""Figures of sandboxes, as each node exports them for Prometheus where ``ray[default]`` is."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import urllib.request
from importlib import metadata
from pathlib import Path

import pytest
from own_clusters import own_cluster
from packaging.requirements import Requirement
from ray_extras import have_packages
from whole_contract import WHOLE

from smolagents_fork import ProcessExecutor, RayEngine

# Only detects hangs.
SECONDS = 400.0

pytestmark = pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")

# In a process of its own, as all questions to Ray but those of the placer process.
_PORT = """
import sys
import ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
(node,) = ray.nodes()
print(node["MetricsExportPort"])
"""
_COUNT = re.compile(r'ray_smolagents_fork_(\w+)_seconds_count{.*kind="process".*} ([\d.]+)')


def default_extra() -> list[str]:
    """Return the requirements of ``ray[default]`` beyond those of ``ray``."""
    found = map(Requirement, metadata.requires("ray") or ())
    return [
        str(one).partition(";")[0]
        for one in found
        if one.marker and not one.marker.evaluate() and one.marker.evaluate({"extra": "default"})
    ]


def counts(port: int) -> dict[str, int]:
    """Return how many times each histogram of the node has."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as page:
        found = _COUNT.findall(page.read().decode())
    return {name: int(float(count)) for name, count in found}


def test_times_of_starts_waits_and_calls_are_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    have_packages(default_extra(), tmp_path / "default", monkeypatch)
    with own_cluster(monkeypatch) as cluster:
        engine = RayEngine(cluster.address, sandbox="process", cpus_per_slot=0.25)
        with ProcessExecutor(engine=engine, startup_timeout_seconds=SECONDS) as executor:
            for _ in range(3):
                executor("1 + 1")
            port = int(subprocess.check_output([sys.executable, "-c", _PORT, cluster.address]))
            deadline, found = time.monotonic() + SECONDS, {}
            # Ray's processes export every few seconds.
            while found != {"start": 1, "wait": 1, "call": 3}:
                assert time.monotonic() < deadline, found
                time.sleep(0.5)
                found = counts(port)
