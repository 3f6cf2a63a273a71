"""Requests through the proxy of ``allowed_hosts=`` beside the same client without it.

Floor and sandboxes take turns, so all see the same machine and the same server.
"""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import trustme

from smolagents_fork import AllowedHost, DockerExecutor, ProcessExecutor, Secret
from smolagents_fork.system.proxy_environment import PROXY_PORT

from ..floor_program import FloorProgram
from ..runner import Measured
from ..table import Row
from ..timings import time_action, time_turns

__all__ = ["CLIENT", "measure"]

CLIENT = Path(__file__).with_name("client.py")
_SERVER = Path(__file__).with_name("server.py")
_CONNECTIONS = 128
_IMPORTS = ("http.client", "os", "ssl", "sys", "threading")
# Measures of a secret's host, whose TLS the proxy ends, and their goals.
_ENDED_MEASURES = (
    ("new", "request on a new connection, TLS ended", 2.0, 8.0, 8.0),
    ("kept", "request on a kept connection, TLS ended", 0.5, 8.0, 8.0),
    ("stream", "100 MB on one connection, TLS ended", 0.25, 8.0, 8.0),
)
# Measures of the client: name, what it measures, rounds as a share of ``repeat``, the goals of a
# listener and of a multiplexer, as multiples of the floor.
_MEASURES = (
    ("new", "request on a new connection", 2.0, 8.0, 16.0),
    ("kept", "request on a kept connection", 0.5, 6.0, 12.0),
    ("stream", "100 MB on one connection", 0.25, 5.0, 12.0),
    ("streams", "100 connections at once, 200 KB each", 0.25, 5.0, 10.0),
)


def measure(repeat: int) -> Measured:
    """Return the figures of all sides.

    Args:
        repeat: new connections are twice as many; other measures have a share of it.
    """
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(_server())
        floor = stack.enter_context(FloorProgram([sys.executable, "-I", CLIENT, str(port)]))
        options: dict[str, Any] = {
            "allowed_hosts": [AllowedHost(f"localhost:{port}", private=True, plain=True)],
            "max_connections": _CONNECTIONS,
        }
        # The client's threads are 100.
        makes: dict[str, Callable[..., Any]] = {
            "process": lambda **more: ProcessExecutor(_IMPORTS, None, **more),
            "docker, listener": lambda **more: DockerExecutor([], None, pids_limit=256, **more),
            "docker, multiplexer": lambda **more: DockerExecutor(
                [], None, pids_limit=256, transport="exec", **more
            ),
        }
        sides = {}
        for name, make in makes.items():
            sides[name] = executor = stack.enter_context(make(**options))
            # Without its main program, for a sandbox's module is __main__ too.
            executor(CLIENT.read_text("utf-8").partition("\n\ndef main(")[0])
            executor(f"client = Client({port}, ('127.0.0.1', {PROXY_PORT}))")
        rows = [row for measure in _MEASURES for row in _rows(*measure, floor, sides, repeat)]
        ended = stack.enter_context(_ended_tls())
        rows += [row for measure in _ENDED_MEASURES for row in _rows(*measure, *ended, repeat)]
        plain = stack.enter_context(makes["process"]())
        calls = time_turns(
            {
                "without": lambda: time_action(lambda: plain("1+1")),
                "with": lambda: time_action(lambda: sides["process"]("1+1")),
            },
            25 * repeat,
        )
    rows.append(Row("call of 1+1 with a list, beside one without", calls["with"], calls["without"]))
    return Measured(rows, "medians; the floor is the same client without a proxy")


def _rows(
    name: str,
    what: str,
    share: float,
    goal: float,
    multiplexed_goal: float,
    floor: FloorProgram,
    sides: dict[str, Any],
    repeat: int,
) -> Iterator[Row]:
    turns = time_turns(
        {
            "floor": lambda: floor.ask(name),
            **{side: functools.partial(_ask, executor, name) for side, executor in sides.items()},
        },
        max(2, round(share * repeat)),
    )
    for side in sides:
        least = multiplexed_goal if "multiplexer" in side else goal
        yield Row(f"{what}: {side}", turns[side], turns["floor"], goal=least)


def _ask(executor: Any, name: str) -> float:
    return float(executor(f"client.{name}()").output)


@contextlib.contextmanager
def _ended_tls() -> Iterator[tuple[FloorProgram, dict[str, Any]]]:
    """Give the floor and the sandbox of a secret's host; both speak TLS."""
    authority = trustme.CA()
    served = authority.issue_cert("localhost").private_key_and_cert_chain_pem
    with contextlib.ExitStack() as stack:
        key = stack.enter_context(served.tempfile())
        trusted = stack.enter_context(authority.cert_pem.tempfile())
        port = stack.enter_context(_server(key))
        floor = stack.enter_context(
            FloorProgram([sys.executable, "-I", CLIENT, str(port), trusted])
        )
        host = f"localhost:{port}"
        with mock.patch.dict(os.environ, REQUESTS_CA_BUNDLE=trusted):
            executor = stack.enter_context(
                ProcessExecutor(
                    _IMPORTS,
                    None,
                    allowed_hosts=[AllowedHost(host, private=True)],
                    secrets={"TOKEN": Secret("0123456789abcdef", [host])},
                )
            )
        executor(CLIENT.read_text("utf-8").partition("\n\ndef main(")[0])
        proxy = ("127.0.0.1", PROXY_PORT)
        executor(f"import os\nclient = Client({port}, {proxy}, os.environ['SSL_CERT_FILE'])")
        yield floor, {"process": executor}


@contextlib.contextmanager
def _server(*arguments: str) -> Iterator[int]:
    command = [sys.executable, "-I", str(_SERVER), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield int(server.stdout.readline())
        server.stdin.close()
