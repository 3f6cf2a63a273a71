"""Routes of this machine beside the engine's bridge."""

from __future__ import annotations

import socket
import struct
from ipaddress import IPv4Network

import pytest

from smolagents_fork.sandboxes.docker.inspection import engine_checks

HEAD = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"


@pytest.fixture
def conflicts(tmp_path, monkeypatch):
    """Conflicts of these networks' routes with subnets of the engine's bridge."""

    def found(*networks: str, subnets: tuple[str, ...] = ("172.17.0.0/16",), flags: int = 1):
        lines = [HEAD]
        for number, network in enumerate(["172.17.0.0/16", *networks]):
            interface = f"other{number}" if number else "docker0"
            parts = IPv4Network(network)
            destination, mask = (
                f"{struct.unpack('=I', socket.inet_aton(str(one)))[0]:08X}"
                for one in (parts.network_address, parts.netmask)
            )
            lines.append(f"{interface} {destination} 00000000 {flags:04X} 0 0 0 {mask} 0 0 0\n")
        (tmp_path / "route").write_text("".join(lines))
        monkeypatch.setattr(engine_checks, "_ROUTES", tmp_path / "route")
        routes = engine_checks.conflicting_routes(subnets, "docker0")
        return [str(network) for _, network in routes]

    return found


def test_same_or_narrower_route_takes_the_addresses(conflicts):
    assert conflicts("172.17.0.0/16", "172.17.5.0/24") == ["172.17.0.0/16", "172.17.5.0/24"]


def test_wider_distant_and_unused_routes_do_not(conflicts):
    assert conflicts("0.0.0.0/0", "172.16.0.0/12", "10.0.0.0/8") == []
    assert conflicts("172.17.5.0/24", flags=0) == []


def test_bridge_without_ipv4_has_no_conflict(conflicts):
    assert conflicts("172.17.0.0/16", subnets=("fd00::/64",)) == []
    assert conflicts("172.17.0.0/16", subnets=()) == []
