"""Addresses of Ray clusters."""

from __future__ import annotations

__all__ = ["CLIENT_SCHEME", "host_and_port"]

#: Begins the address of a server for clients that are not nodes of the cluster.
CLIENT_SCHEME = "ray://"


def host_and_port(address: str) -> tuple[str, int] | None:
    """Return host and port of an address; ``None`` where it has none, as ``auto``."""
    host, _, port = address.removeprefix(CLIENT_SCHEME).partition("/")[0].rpartition(":")
    return (host.strip("[]"), int(port)) if host and port.isdigit() else None
