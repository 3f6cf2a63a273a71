"""Routes of this machine beside the engine's bridge."""

from __future__ import annotations

import sys
from ipaddress import IPv4Network

import pytest

from smolagents_fork.sandboxes.docker.inspection.bridge_networks import Route, conflicting, routes


def conflicts(*networks: str, subnets: tuple[str, ...] = ("172.17.0.0/16",)) -> list[str]:
    known = [Route(f"other{n}", IPv4Network(network)) for n, network in enumerate(networks)]
    own = Route("docker0", IPv4Network("172.17.0.0/16"))
    return [str(route.network) for route in conflicting(subnets, "docker0", [own, *known])]


def test_same_or_narrower_route_takes_the_addresses():
    assert conflicts("172.17.0.0/16", "172.17.5.0/24") == ["172.17.0.0/16", "172.17.5.0/24"]


def test_wider_and_distant_routes_do_not():
    assert conflicts("0.0.0.0/0", "172.16.0.0/12", "10.0.0.0/8") == []


def test_bridge_without_ipv4_has_no_conflict():
    assert conflicts("172.17.0.0/16", subnets=("fd00::/64",)) == []
    assert conflicts("172.17.0.0/16", subnets=()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_routes_are_those_of_the_kernel():
    with open("/proc/net/route") as file:
        lines = file.read().splitlines()[1:]
    assert [route.interface for route in routes()] == [line.split()[0] for line in lines]
