"""A proxy on loopback, servers behind it, and clients."""

from __future__ import annotations

import contextlib
import socket
from types import SimpleNamespace

import pytest
from proxy_double import ProxyDouble
from web_servers import serving


@pytest.fixture(params=["listener", "multiplexer"])
def proxied(request):
    """Make proxies, which end with the test; connections come from a listener, or over a stream."""
    with contextlib.ExitStack() as stack:

        def make(*entries, **options):
            is_multiplexed = request.param == "multiplexer"
            double = ProxyDouble(entries, is_multiplexed=is_multiplexed, **options)
            stack.callback(double.close)
            return double

        yield make


@pytest.fixture
def secure(trusted):
    """A server of HTTPS for one test."""
    with serving(trusted[0]) as server:
        yield server


@pytest.fixture
def plain():
    """A server of HTTP."""
    with serving() as server:
        yield server


@pytest.fixture
def accepting():
    """A server whose connections the test accepts and answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield SimpleNamespace(
            port=server.getsockname()[1], accept=lambda: server.accept()[0], fileno=server.fileno
        )


@pytest.fixture
def ca(trusted):
    """The file with the authority of the servers."""
    return trusted[1]
