"""Engines that are reached over a connection which can be cut.

Another engine joins by a function that returns a :class:`FarEngine`, and a line of :data:`ENGINES`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
import real_cluster
from fault_proxy import FaultProxy
from whole_contract import WHOLE

from smolagents_fork import DockerEngine, DockerExecutor, KubernetesEngine, RayEngine
from smolagents_fork.ray_cluster import remote_sandbox
from smolagents_fork.ray_cluster.plain_data import SupervisorPlace
from smolagents_fork.sandboxes.docker.lifetime.labels import LABEL

if TYPE_CHECKING:  # it needs Linux
    from ray_nodes.cluster import RayCluster

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
        "from smolagents_fork import DockerEngine, DockerExecutor, KubernetesEngine\n"
        f"executor = DockerExecutor(engine=DockerEngine({address!r}), lease_seconds=5,"
        f" startup_timeout_seconds={START_SECONDS})\n"
    )
    return FarEngine(proxy, make, program, list_sandboxes)


# Variable of the containers of another process; its value is that process.
_HOST = "FAULTS_HOST"


def ray_containers(request: pytest.FixtureRequest, stack: contextlib.ExitStack) -> FarEngine:
    """A Ray cluster, to one of whose nodes all connections of this process pass a proxy."""
    engine = request.getfixturevalue("engine")
    cluster: RayCluster = request.getfixturevalue("ray_cluster")
    patch = stack.enter_context(pytest.MonkeyPatch.context())
    for name, value in cluster.environment.items():
        patch.setenv(name, value)
    options_of_place: dict[str, Any] = {
        "slots_per_node": 4, "cpus_per_slot": 0.1, "memory_per_slot": "16m", "lease_seconds": 60.0
    }  # fmt: skip
    place = RayEngine(cluster.address, **options_of_place)

    def make(**options: Any) -> DockerExecutor:
        options = {"startup_timeout_seconds": START_SECONDS, "timeout_seconds": 120.0, **options}
        return stack.enter_context(DockerExecutor(engine=place, **options))

    # Keeps the supervisor, to which the others come too.
    supervisor: SupervisorPlace = make()._sandbox.supervisor.place
    proxy = FaultProxy((supervisor.address, supervisor.port), request.param[1])
    stack.enter_context(proxy)
    connect = remote_sandbox.connect

    def connect_through_proxy(to: SupervisorPlace, *arguments: Any, **more: Any) -> Any:
        assert to == supervisor
        near = replace(to, address="127.0.0.1", port=proxy.port)
        return connect(near, *arguments, **more)

    patch.setattr(remote_sandbox, "connect", connect_through_proxy)

    def list_sandboxes(pid: int) -> list[str]:
        found = [one["Id"] for one in engine.api.containers(all=True)]
        return [name for name in found if f"{_HOST}={pid}" in _environment(engine, name)]

    program = (
        "import os\nfrom smolagents_fork import DockerExecutor, RayEngine\n"
        f"os.environ.update({cluster.environment!r})\n"
        f"executor = DockerExecutor(engine=RayEngine({cluster.address!r}, **{options_of_place!r}),"
        f" environment={{{_HOST!r}: str(os.getpid())}}, startup_timeout_seconds={START_SECONDS})\n"
    )
    return FarEngine(proxy, make, program, list_sandboxes)


def _environment(engine: Any, container: str) -> list[str]:
    with contextlib.suppress(Exception):  # it has just been removed
        return list(engine.api.inspect_container(container)["Config"]["Env"])
    return []


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
    options = {"image": image, "startup_timeout_seconds": START_SECONDS, "cpus": None}

    def make(**keywords: Any) -> DockerExecutor:
        chosen = {**options, "timeout_seconds": 120.0, **keywords}
        return stack.enter_context(DockerExecutor(engine=KubernetesEngine(), **chosen))

    program = (
        "from smolagents_fork import DockerExecutor, KubernetesEngine\n"
        f"executor = DockerExecutor(engine=KubernetesEngine(), lease_seconds=5, **{options!r})\n"
    )
    return FarEngine(proxy, make, program, cluster.list_running)


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
