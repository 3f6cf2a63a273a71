"""Subnets of the engine's bridge, and routes of this machine that lead elsewhere."""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Route", "conflicting", "routes"]

_ROUTES = Path("/proc/net/route")
_IS_UP = 1


@dataclass(frozen=True)
class Route:
    """One route of this machine.

    Attributes:
        interface: that it leads to.
        network: addresses that it is for.
    """

    interface: str
    network: ipaddress.IPv4Network


def routes() -> list[Route]:
    """Return the IPv4 routes of this process's network namespace; none where there is no /proc."""
    try:
        lines = _ROUTES.read_text("ascii").splitlines()[1:]
    except OSError:
        return []
    found = []
    for line in lines:
        interface, destination, _gateway, flags, _, _, _, mask, *_ = line.split()
        if int(flags, 16) & _IS_UP:
            address = f"{_dotted(destination)}/{_dotted(mask)}"
            found.append(Route(interface, ipaddress.IPv4Network(address)))
    return found


def _dotted(hexadecimal: str) -> str:
    # In the machine's own byte order.
    return socket.inet_ntoa(struct.pack("=I", int(hexadecimal, 16)))


def conflicting(subnets: Iterable[str], bridge: str, known: Sequence[Route]) -> list[Route]:
    """Return routes to another interface that take addresses of the bridge away from it.

    A wider route, such as that of a VPN, does not: the most specific one counts.

    Args:
        subnets: Subnets of the engine's bridge, as ``172.17.0.0/16``; IPv6 is not checked.
        bridge: name of its interface.
        known: routes of this machine.
    """
    own = [ipaddress.ip_network(subnet, strict=False) for subnet in subnets]
    return [
        route
        for route in known
        if route.interface != bridge
        and any(
            isinstance(subnet, ipaddress.IPv4Network) and route.network.subnet_of(subnet)
            for subnet in own
        )
    ]
