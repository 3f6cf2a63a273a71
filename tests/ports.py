"""Ports for servers that a test starts with a given port."""

from __future__ import annotations

import contextlib
import random
import socket


def free_port() -> int:
    """Return a free port of loopback outside the range that the system assigns itself.

    The system may assign an automatically chosen port again, before the server has bound it.
    """
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        lowest = int(file.read().split()[0])
    chosen = random.SystemRandom()
    for _ in range(100):
        port = chosen.randrange(10_000, max(lowest, 11_000))
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError(f"no port from 10000 to {lowest} is free")
