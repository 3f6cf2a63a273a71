"""Limits of one sandbox's connections."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ProxyLimits"]


@dataclass(frozen=True)
class ProxyLimits:
    """Limits of one sandbox's connections; what is beyond the first waits in the sandbox.

    Attributes:
        connections: Connections served at once.
        call_bytes: Bytes moved in both directions by one call; ``None`` for no limit.
        connect_seconds: Limit of a lookup, and again of connecting to one of its addresses.
        head_seconds: Limit of receiving the head of a request, or a ClientHello.
        idle_seconds: Longest time without a byte in either direction.
    """

    connections: int = 32
    call_bytes: int | None = None
    connect_seconds: float = 10.0
    head_seconds: float = 30.0
    idle_seconds: float = 300.0
