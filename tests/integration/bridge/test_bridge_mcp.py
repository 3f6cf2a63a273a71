"""Tools of a real MCP server, called from a sandbox without a network."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from bridge_harness import code_agent
from ports import free_port
from smolagents import ToolCollection

SERVER = Path(__file__).with_name("mcp_server.py")
# Warnings of mcpadapt and the servers' libraries at start and shutdown, not ours.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning"
)


@contextmanager
def http_server() -> Iterator[dict[str, Any]]:
    """Give the server on a port of this machine."""
    port = free_port()
    process = subprocess.Popen([sys.executable, str(SERVER), "streamable-http", str(port)])
    try:
        end = time.monotonic() + 120
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert process.poll() is None, "the server ended"
                assert time.monotonic() < end, "the server does not listen"
                time.sleep(0.1)
        yield {"url": f"http://127.0.0.1:{port}/mcp", "transport": "streamable-http"}
    finally:
        process.terminate()
        try:
            process.wait(60)
        finally:
            process.kill()
            process.wait(60)


@contextmanager
def stdio_server() -> Iterator[Any]:
    """The server as a child that speaks over its pipes."""
    from mcp import StdioServerParameters  # not while every worker collects

    yield StdioServerParameters(
        command=sys.executable, args=[str(SERVER), "stdio"], env=dict(os.environ)
    )


@pytest.fixture(scope="module", params=[stdio_server, http_server], ids=["stdio", "http"])
def collection(request: pytest.FixtureRequest) -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            request.param() as parameters,
            ToolCollection.from_mcp(
                parameters, trust_remote_code=True, structured_output=False
            ) as made,
        ):
            yield made


def test_tools_of_an_mcp_server(sandbox, collection):
    agent = code_agent(
        sandbox.executor,
        "one = price_of('lamp')\ntwo = price_of(currency='pounds', product='rug')\nprint(one)",
        "final_answer([one, two, process_number()])",
        tools=[*collection.tools],
    )
    one, two, number = agent.run("go")
    assert one.startswith("lamp: 40 euros, question ")
    assert two.startswith("rug: 30 pounds, question ")
    # The server kept its state from call to call.
    assert int(two.rpartition(" ")[2]) == int(one.rpartition(" ")[2]) + 1
    assert int(number) not in (os.getpid(), getattr(sandbox.executor, "pid", None))


def test_an_error_of_an_mcp_tool_is_seen(sandbox, collection):
    executor = sandbox.executor
    executor.send_tools({tool.name: tool for tool in collection.tools})
    code = (
        "try:\n    seen = fails('out of stock')\nexcept Exception as error:\n"
        "    seen = str(error)\nseen"
    )
    assert "out of stock" in executor(code).output
    # A single positional dict contains the arguments by name, as upstream's tools allow.
    assert executor("price_of({'product': 'rug'})").output.startswith("rug: 30 euros")
    assert executor("price_of('desk')").output.startswith("desk: 40 euros")
