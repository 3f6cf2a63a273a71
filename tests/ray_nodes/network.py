"""Network namespaces of a cluster: one for each node, joined by a bridge in one more.

The host has one address in the cluster's subnet. No namespace has a route out of it.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import subprocess
import tempfile
from pathlib import Path

from filelock import FileLock

from .processes import alive, end

__all__ = ["PREFIX", "Network", "missing", "remove_stale"]

#: Begins the names of namespaces; the pid of the process that made them follows.
PREFIX = "srfray"
_BRIDGE = "bridge"
_SECONDS = 60
#: No other cluster of this machine chooses a subnet in the block.
_SUBNETS = Path(tempfile.gettempdir()) / f"{PREFIX}.lock"


def _ip(*words: str, namespace: str | None = None) -> str:
    command = ["ip", *(("-n", namespace) if namespace else ()), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def missing() -> str:
    """Return why namespaces cannot be made here, or nothing."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    name = f"{PREFIX}{os.getpid()}-probe"
    try:
        _ip("netns", "add", name)
        _ip("netns", "delete", name)
    except OSError as error:
        return str(error)
    return ""


def _namespaces() -> list[str]:
    return [line.split()[0] for line in _ip("netns", "list").splitlines() if line.strip()]


def _pids(namespace: str) -> set[int]:
    with contextlib.suppress(OSError):
        return {pid for word in _ip("netns", "pids", namespace).split() if alive(pid := int(word))}
    return set()


def _remove(namespaces: list[str]) -> None:
    """End the processes of ``namespaces`` and delete them, with the links that end in them."""
    for name in namespaces:
        end(lambda: _pids(name))  # noqa: B023
    for name in namespaces:
        with contextlib.suppress(OSError):
            _ip("netns", "delete", name)


def remove_stale() -> None:
    """Remove namespaces whose maker has died."""
    made_by = {name: re.match(rf"{PREFIX}(\d+)-", name) for name in _namespaces()}
    _remove([name for name, by in made_by.items() if by and not alive(int(by.group(1)))])


class Network:
    """The namespaces of one cluster.

    Args:
        pid: of the process that makes and removes them.
        subnet: the third number of the addresses; ``None`` until :meth:`create` has chosen one.
    """

    def __init__(self, pid: int, subnet: int | None = None) -> None:
        self.pid, self.subnet = pid, subnet

    def namespace(self, node: str) -> str:
        """Return the name of a node's namespace."""
        return f"{PREFIX}{self.pid}-{node}"

    def address(self, number: int) -> str:
        """Return an address of the subnet; number 1 is the host's own."""
        return f"10.231.{self.subnet}.{number}"

    def create(self, nodes: list[str]) -> None:
        """Make a namespace for each of ``nodes``; they get the addresses from 2 on."""
        bridge = self.namespace(_BRIDGE)
        _ip("netns", "add", bridge)
        _ip("link", "add", "br0", "type", "bridge", namespace=bridge)
        _ip("link", "set", "br0", "up", namespace=bridge)
        self._join_host(bridge)
        for number, node in enumerate(nodes, 2):
            name = self.namespace(node)
            _ip("netns", "add", name)
            _ip("link", "set", "lo", "up", namespace=name)
            peer = ("peer", "name", "eth0", "netns", name)
            _ip("link", "add", node, "type", "veth", *peer, namespace=bridge)
            _ip("link", "set", node, "master", "br0", "up", namespace=bridge)
            _ip("address", "add", f"{self.address(number)}/24", "dev", "eth0", namespace=name)
            _ip("link", "set", "eth0", "up", namespace=name)

    def _join_host(self, bridge: str) -> None:
        """Give the host an address in a subnet that no other cluster has."""
        link = f"{PREFIX}{self.pid}"
        with FileLock(_SUBNETS):
            lines = _ip("-4", "-o", "address").splitlines()
            taken = [ipaddress.ip_interface(line.split()[3]).network for line in lines]
            for subnet in range(1, 255):
                wanted = ipaddress.ip_network(f"10.231.{subnet}.0/24")
                if not any(wanted.overlaps(network) for network in taken):
                    break
            else:
                raise OSError("every subnet of 10.231.0.0/16 has an address of this machine")
            self.subnet = subnet
            _ip("link", "add", link, "type", "veth", "peer", "name", "host", "netns", bridge)
            _ip("link", "set", "host", "master", "br0", "up", namespace=bridge)
            _ip("address", "add", f"{self.address(1)}/24", "dev", link)
            _ip("link", "set", link, "up")

    def pids(self, node: str) -> set[int]:
        """Return the processes in a node's namespace."""
        return _pids(self.namespace(node))

    def cut(self, node: str) -> None:
        """Take a node's link down: packets are lost, and neither side is told."""
        _ip("link", "set", node, "down", namespace=self.namespace(_BRIDGE))

    def restore(self, node: str) -> None:
        """Take a node's link up again. Idempotent."""
        _ip("link", "set", node, "up", namespace=self.namespace(_BRIDGE))

    def remove(self) -> None:
        """End what runs in the namespaces and delete them. Idempotent."""
        start = self.namespace("")
        _remove([name for name in _namespaces() if name.startswith(start)])
