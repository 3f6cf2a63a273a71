"""Limits of one sandbox's connections."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ProxyLimits"]


@dataclass(frozen=True)
class ProxyLimits:
    """Limits of one sandbox's connections; what is beyond the first waits in the sandbox.

    Attributes:
        connections: served at once.
        call_bytes: moved in both directions by one call; ``None`` for no limit.
        connect_seconds: for a name's addresses, and again for a connection to one of them.
        head_seconds: for the head of a request, and for a ClientHello.
        idle_seconds: without a byte in either direction.
    """

    connections: int = 32
    call_bytes: int | None = None
    connect_seconds: float = 10.0
    head_seconds: float = 30.0
    idle_seconds: float = 300.0
