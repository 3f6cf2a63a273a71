"""Engines that are reached over a connection which can be cut.

Another engine joins by a function that returns a :class:`FarEngine`, and a line of :data:`ENGINES`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from fault_proxy import FaultProxy

from smolagents_fork import DockerEngine, DockerExecutor
from smolagents_fork.sandboxes.docker.lifetime.labels import LABEL

__all__ = ["ENGINES", "FarEngine", "with_grouping"]

#: For a start on a machine that does other work, in seconds.
START_SECONDS = 180.0


@dataclass
class FarEngine:
    """An engine behind a proxy.

    Attributes:
        proxy: that all connections to the engine and its sandboxes pass.
        make: makes an executor with sandboxes of the engine; takes options.
        host_program: program of another process that makes such an executor as ``executor``.
        list_sandboxes: returns the names of all sandboxes that a process with that id has, asked
            past the proxy.
    """

    proxy: FaultProxy
    make: Callable[..., Any]
    host_program: str
    list_sandboxes: Callable[[int], list[str]]


def remote_docker(request: pytest.FixtureRequest, stack: contextlib.ExitStack) -> FarEngine:
    """The local Docker engine through a TCP port, as on another machine."""
    engine = request.getfixturevalue("engine")
    host = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if not host.startswith("unix://"):
        pytest.skip("the engine is not on a local socket")
    DockerExecutor.setup(progress=lambda _line: None)
    proxy = stack.enter_context(FaultProxy(host.removeprefix("unix://"), request.param[1]))
    address = f"tcp://127.0.0.1:{proxy.port}"

    def make(**options: Any) -> DockerExecutor:
        options = {"startup_timeout_seconds": START_SECONDS, "timeout_seconds": 120.0, **options}
        return stack.enter_context(DockerExecutor(engine=DockerEngine(address), **options))

    def list_sandboxes(pid: int) -> list[str]:
        containers = engine.api.containers(all=True, filters={"label": LABEL})
        return [one["Id"] for one in containers if f":{pid}:" in one["Labels"][LABEL]]

    program = (
        "from smolagents_fork import DockerEngine, DockerExecutor\n"
        f"executor = DockerExecutor(engine=DockerEngine({address!r}), lease_seconds=5,"
        f" startup_timeout_seconds={START_SECONDS})\n"
    )
    return FarEngine(proxy, make, program, list_sandboxes)


ENGINES = {"remote docker": pytest.param(remote_docker, marks=pytest.mark.docker)}


def with_grouping(grouping: str) -> list[Any]:
    """Return parameters of a fixture: each engine, behind a proxy that regroups bytes."""
    return [
        pytest.param((engine.values[0], grouping), id=f"{name}", marks=engine.marks)
        for name, engine in ENGINES.items()
    ]
