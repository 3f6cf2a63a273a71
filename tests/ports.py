"""Ports for servers that a test starts and that have to be told theirs."""

from __future__ import annotations

import contextlib
import random
import socket


def free_port() -> int:
    """A port of loopback that nobody has, and that nobody gets without asking for it.

    One that the system gives for "any" is given again, to whoever connects anywhere, between its
    release here and the seconds later in which a server takes it.
    """
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        lowest = int(file.read().split()[0])
    chosen = random.SystemRandom()
    for _ in range(100):
        port = chosen.randrange(10_000, max(lowest, 11_000))
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError(f"no port from 10000 to {lowest} is free")
