"""Engines that are reached over a connection which can be cut.

Another engine joins by a function that returns a :class:`FarEngine`, and a line of :data:`ENGINES`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import real_cluster
from fault_proxy import FaultProxy
from whole_contract import WHOLE

from smolagents_fork import DockerEngine, DockerExecutor, KubernetesEngine, RayEngine
from smolagents_fork.ray_cluster import remote_sandbox
from smolagents_fork.ray_cluster.plain_data import SupervisorPlace
from smolagents_fork.sandboxes.engine_protocol import Engine

if TYPE_CHECKING:  # it needs Linux
    from ray_nodes.cluster import RayCluster

__all__ = ["ENGINES", "FarEngine", "with_grouping"]

#: For a start on a machine that does other work, in seconds.
START = {"startup_timeout_seconds": 180.0}


# Variable of the containers of a process; its value is that process.
_HOST = "FAULTS_HOST"


@dataclass
class FarEngine:
    """An engine behind a proxy.

    Attributes:
        proxy: that all connections to the engine and its sandboxes pass.
        engine: the engine.
        list_sandboxes: returns the names of all sandboxes that a process with that id has, asked
            past the proxy.
        stack: closes executors.
        options: of executors.
    """

    proxy: FaultProxy
    engine: Engine
    list_sandboxes: Callable[[int], list[str]]
    stack: contextlib.ExitStack
    options: dict[str, Any] = field(default_factory=dict)

    def make(self, **options: Any) -> DockerExecutor:
        """Make an executor with sandboxes of the engine."""
        chosen = {"timeout_seconds": 120.0, **START, **self.options, **options}
        return self.stack.enter_context(DockerExecutor(engine=self.engine, **chosen))

    @property
    def host_program(self) -> str:
        """Program of another process that makes such an executor as ``executor``."""
        return (
            "import os\nfrom smolagents_fork import *\n"
            f"environment = {{{_HOST!r}: str(os.getpid())}}\n"
            f"executor = DockerExecutor(engine={self.engine!r}, environment=environment,"
            f" lease_seconds=5, **{START | self.options!r})\n"
        )


def _list_containers(engine: Any, pid: int) -> list[str]:
    """Return the ids of a process's containers."""

    def environment(container: str) -> list[str]:
        with contextlib.suppress(Exception):  # it has just been removed
            return list(engine.api.inspect_container(container)["Config"]["Env"])
        return []

    found = [one["Id"] for one in engine.api.containers(all=True)]
    return [name for name in found if f"{_HOST}={pid}" in environment(name)]


def remote_docker(request: pytest.FixtureRequest, stack: contextlib.ExitStack) -> FarEngine:
    """The local Docker engine through a TCP port, as on another machine."""
    engine = request.getfixturevalue("engine")
    host = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if not host.startswith("unix://"):
        pytest.skip("the engine is not on a local socket")
    DockerExecutor.setup(progress=lambda _line: None)
    proxy = stack.enter_context(FaultProxy(host.removeprefix("unix://"), request.param[1]))
    remote = DockerEngine(f"tcp://127.0.0.1:{proxy.port}")
    return FarEngine(proxy, remote, partial(_list_containers, engine), stack)


def ray_containers(request: pytest.FixtureRequest, stack: contextlib.ExitStack) -> FarEngine:
    """A Ray cluster, to one of whose nodes all connections of this process pass a proxy."""
    engine = request.getfixturevalue("engine")
    cluster: RayCluster = request.getfixturevalue("ray_cluster")
    patch = stack.enter_context(pytest.MonkeyPatch.context())
    for name, value in cluster.environment.items():
        patch.setenv(name, value)
    place = RayEngine(
        cluster.address,
        slots_per_node=4,
        cpus_per_slot=0.1,
        memory_per_slot="16m",
        lease_seconds=60.0,
    )
    # Keeps the supervisor, to which the others come too.
    first = stack.enter_context(DockerExecutor(engine=place, **START))
    supervisor: SupervisorPlace = first._sandbox.supervisor.place
    proxy = FaultProxy((supervisor.address, supervisor.port), request.param[1])
    stack.enter_context(proxy)
    connect = remote_sandbox.connect

    def connect_through_proxy(to: SupervisorPlace, *arguments: Any, **more: Any) -> Any:
        assert to == supervisor
        near = replace(to, address="127.0.0.1", port=proxy.port)
        return connect(near, *arguments, **more)

    patch.setattr(remote_sandbox, "connect", connect_through_proxy)
    return FarEngine(proxy, place, partial(_list_containers, engine), stack)


def kubernetes(request: pytest.FixtureRequest, stack: contextlib.ExitStack) -> FarEngine:
    """The run's cluster, through a port of its API server."""
    image = DockerExecutor.setup(progress=lambda _line: None)
    cluster = real_cluster.connect()
    assert cluster is not None
    stack.callback(cluster.close)
    proxy = stack.enter_context(FaultProxy(cluster.address, request.param[1]))
    folder = request.getfixturevalue("tmp_path")
    config = cluster.kubeconfig(folder / "kubeconfig", proxy.port)
    stack.enter_context(pytest.MonkeyPatch.context()).setenv("KUBECONFIG", str(config))
    options = {"image": image, "cpus": None}
    return FarEngine(proxy, KubernetesEngine(), cluster.list_running, stack, options)


ENGINES = {
    "remote docker": pytest.param(remote_docker, marks=pytest.mark.docker),
    "ray": pytest.param(
        ray_containers,
        marks=[
            pytest.mark.docker,
            pytest.mark.ray,
            pytest.mark.limit(1800),
            pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1"),
        ],
    ),
}
if "KUBERNETES_CLUSTER" in os.environ:
    ENGINES["kubernetes"] = pytest.param(
        kubernetes, marks=[pytest.mark.docker, pytest.mark.kubernetes]
    )


def with_grouping(grouping: str) -> list[Any]:
    """Return parameters of a fixture: each engine, behind a proxy that regroups bytes."""
    return [
        pytest.param((engine.values[0], grouping), id=f"{name}", marks=engine.marks)
        for name, engine in ENGINES.items()
    ]
