"""Names resolved by the system, in threads that nothing waits for at exit."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from .host_names import IPAddress, parse_address

__all__ = ["Lookup", "resolve_host", "system_lookup"]

#: Returns the addresses of a name; it may take its time.
Lookup: TypeAlias = Callable[[str], "list[IPAddress]"]


def system_lookup(host: str) -> list[IPAddress]:
    """Return the addresses that the system has for a name, in its order.

    Args:
        host: Name in its one spelling.

    Raises:
        OSError: it has none.
    """
    answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    texts = (str(answer[4][0]).partition("%")[0] for answer in answers)
    return [ipaddress.ip_address(text) for text in dict.fromkeys(texts)]


async def resolve_host(host: str, lookup: Lookup) -> list[IPAddress]:
    """Return the addresses of a host.

    The C library cannot be interrupted, so a thread that is left behind ends by itself.

    Args:
        host: Name or address in its one spelling.
        lookup: Function that resolves names.

    Raises:
        OSError: the name has no address.
    """
    address = parse_address(host)
    if address is not None:
        return [address]
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[list[IPAddress]] = loop.create_future()

    def give(method: Callable[[Any], None], value: Any) -> None:
        if not outcome.done():
            method(value)

    def run() -> None:
        method: Callable[[Any], None] = outcome.set_result
        value: Any
        try:
            value = lookup(host)
        except Exception as error:  # raised again by the coroutine that waits
            method, value = outcome.set_exception, error
        try:
            loop.call_soon_threadsafe(give, method, value)
        except RuntimeError:  # the application ends
            return

    threading.Thread(target=run, name="network lookup", daemon=True).start()
    return await outcome
