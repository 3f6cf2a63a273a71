"""Fixtures that upstream's tests expect, which its source distribution does not contain.

This folder is laid over the unpacked `tests/` of a release, in a scratch folder, for both sides of
the comparison; nothing here is collected from where it stands. It must therefore not import
anything of this repository: only `smolagents` of the side under test, and pytest.
"""

from __future__ import annotations

import functools
import inspect
import ipaddress
import os
import re
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest
from smolagents.agents import MultiStepAgent
from smolagents.monitoring import LogLevel

pytest_plugins = ["tests.fixtures.agents", "tests.fixtures.images", "tests.fixtures.tools"]

OFF = "the regression suite keeps tests off the network"
FIXED_PORT = re.compile(r"127\.0\.0\.1:(\d{4})\b")
SERVER_START_SECONDS = 30.0

# Marked `require_run_all`, yet they need no engine, key or service: a server on standard input and
# output, and a mock.
NEED_NOTHING = {
    "test_integration_from_mcp",
    "test_send_tools_with_default_wikipedia_search_tool",
}


def _is_here(host: Any) -> bool:
    """Return whether a host is this machine; names other than localhost are not."""
    name = host.decode() if isinstance(host, bytes) else host
    if not name or name == "localhost":
        return True
    try:
        return ipaddress.ip_address(str(name)).is_loopback or str(name) in ("0.0.0.0", "::")
    except ValueError:
        return False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what upstream marks `require_run_all`, but for the ones that need nothing after all."""
    if os.environ.get("RUN_ALL"):
        return
    skip = pytest.mark.skip(reason="marked require_run_all; set RUN_ALL=1 to run it")
    for item in items:
        if item.get_closest_marker("require_run_all") and item.name not in NEED_NOTHING:
            item.add_marker(skip)


def pytest_configure(config: pytest.Config) -> None:
    """Declare upstream's mark, and hold the tests off the network.

    Refuses connections to other machines, so that a result does not depend on where it ran.
    Names are refused with the error of a machine without a network. Only this process is held;
    what a test starts (the package installer) has the caller's network.
    """
    config.addinivalue_line("markers", "require_run_all: needs an engine, a key or a service")
    if os.environ.get("REGRESSION_NETWORK"):
        return
    resolve, connect = socket.getaddrinfo, socket.socket.connect

    @functools.wraps(resolve)
    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_here(host):
            return resolve(host, *args, **kwargs)
        raise socket.gaierror(socket.EAI_NONAME, f"Name or service not known ({OFF})")

    @functools.wraps(connect)
    def guarded_connect(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_here(address[0]):
            raise OSError(f"Network is unreachable ({OFF})")
        connect(self, address)

    socket.getaddrinfo = getaddrinfo
    socket.socket.connect = guarded_connect


@pytest.fixture(autouse=True)
def quiet_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents log nothing unless a test asks for a level (a test of upstream's checks for this)."""
    original = MultiStepAgent.__init__

    @functools.wraps(original)
    def quiet_init(self: Any, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("verbosity_level", LogLevel.OFF)
        original(self, *args, **kwargs)

    monkeypatch.setattr(MultiStepAgent, "__init__", quiet_init)


def _sleep_until_served(port: int, sleep: Callable[[float], None], seconds: float) -> None:
    """Sleep, then go on until the port answers, at most `SERVER_START_SECONDS`."""
    sleep(seconds)
    deadline = time.monotonic() + SERVER_START_SECONDS
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            sleep(0.1)
        else:
            return


@pytest.fixture(autouse=True)
def served_port(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for the server of a test that uses a fixed port.

    These tests give their server one second to start, which a busy machine does not keep: their
    sleep ends when the server answers.
    """
    function = getattr(request, "function", None)
    try:
        source = inspect.getsource(function) if function else ""
    except (OSError, TypeError):
        source = ""
    if (match := FIXED_PORT.search(source)) is not None:
        monkeypatch.setattr(
            time, "sleep", functools.partial(_sleep_until_served, int(match[1]), time.sleep)
        )
