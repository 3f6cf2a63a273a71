"""The tests' own cluster: what the other tests of this folder rely on."""

from __future__ import annotations

import subprocess
import sys

import pytest
from ray_nodes import network
from ray_nodes.cluster import RayCluster

from tools.paths import ROOT


def test_nodes_have_no_route_out(links: None, cluster: RayCluster) -> None:
    for node in cluster.nodes:
        where = f"{network.PREFIX}{cluster.pid}-{node}"
        routes = subprocess.check_output(["ip", "-n", where, "route"], text=True).splitlines()
        assert [line.split()[0] for line in routes] == [f"10.231.{cluster.subnet}.0/24"]


@pytest.mark.usefixtures("links")
def test_namespaces_of_a_dead_process_are_removed() -> None:
    make = (
        "import os; from ray_nodes.network import Network, _namespaces; "
        "made = Network(os.getpid()); made.create(['node1']); name = made.namespace('node1'); "
        "assert name in _namespaces(); print(name)"
    )
    name = subprocess.check_output(
        [sys.executable, "-c", make], cwd=ROOT / "tests", text=True
    ).strip()
    # The end of another cluster may have removed it already, which is as good.
    network.remove_stale()
    assert name not in subprocess.check_output(["ip", "netns", "list"], text=True)
