"""Clusters of a test's own: TLS, other packages, a client that is not a node, dead engines."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import venv
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import certificates
import pytest
from background import Background, eventually, process_gone, running
from fault_scene import close_placer
from filelock import FileLock
from packaging.requirements import Requirement
from ray_nodes.cluster import RayCluster
from ray_nodes.network import PREFIX
from second_engine import SecondEngine, second_engine
from whole_contract import WHOLE

from smolagents_fork import DockerExecutor, ProcessExecutor, RayEngine
from smolagents_fork.errors import EngineUnavailableError, SandboxDiedError
from smolagents_fork.sandboxes.docker.engine import connect, disconnect
from smolagents_fork.sandboxes.docker.engine_address import EngineAddress
from tools.paths import ROOT

# Only detects hangs.
SECONDS = 400.0
#: The ports of the loopback are of one cluster at a time.
LOOPBACK = Path(tempfile.gettempdir()) / f"{PREFIX}-loopback.lock"

pytestmark = pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")

OwnCluster = Callable[..., contextlib.AbstractContextManager[RayCluster]]


@pytest.fixture
def own_cluster(monkeypatch: pytest.MonkeyPatch) -> OwnCluster:
    """Make clusters of options of ``RayCluster.create()``, by default of one node on the loopback.

    What its users need is in the environment.
    """

    @contextlib.contextmanager
    def start(*, namespaces: bool = False, **options: Any) -> Iterator[RayCluster]:
        with contextlib.nullcontext() if namespaces else FileLock(LOOPBACK):
            cluster = RayCluster.create(namespaces=namespaces, **options)
            try:
                for name, value in cluster.environment.items():
                    monkeypatch.setenv(name, value)
                yield cluster
                close_placer(cluster)
            finally:
                cluster.remove()

    return start


def have_packages(requirements: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install packages into a folder that processes of the test import from; skip if pip cannot.

    Args:
        requirements: as pip takes them.
        folder: is made.
        monkeypatch: takes the environment back.
    """
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder)]
    done = subprocess.run(
        [*command, *requirements], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode:
        pytest.skip(f"pip cannot install {', '.join(requirements)}: {done.stderr[-300:]}")
    monkeypatch.setenv("PYTHONPATH", str(folder))


def process_executor(cluster: RayCluster) -> ProcessExecutor:
    engine = RayEngine(cluster.address, sandbox="process", cpus_per_slot=0.25)
    return ProcessExecutor(engine=engine, startup_timeout_seconds=SECONDS)


def check_tool_call(executor: Any) -> None:
    executor.send_tools({"double": lambda number: 2 * number})
    assert executor("double(21)").output == 42


# -- TLS of every connection: Ray's own, and the sandboxes' streams --


def test_calls_tools_and_long_values_pass_with_tls(own_cluster: OwnCluster, tmp_path: Path) -> None:
    # Ray uses an address of this machine in place of the loopback's.
    own = subprocess.check_output(["hostname", "-I"], text=True).split()
    certificate = str(certificates.made_in(tmp_path, *own))
    with own_cluster(certificate=certificate) as cluster, process_executor(cluster) as executor:
        check_tool_call(executor)
        assert executor("'x' * 3_000_000").output == "x" * 3_000_000
        assert executor.stats().memory_bytes > 1 << 20


# -- nodes that have Ray alone: the application brings the fork, and docker-py, with it --


def python_with_ray_alone(folder: Path) -> str:
    """Make an environment with Ray and what it requires, and return its Python.

    Args:
        folder: is made.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / version / "site-packages"
    names, known = ["ray"], set[str]()
    while names:
        known.add(name := names.pop())
        for one in map(Requirement, metadata.requires(name) or ()):
            if one.name not in known and (one.marker is None or one.marker.evaluate({"extra": ""})):
                names.append(one.name)
    for name in known:
        for file in metadata.files(name) or ():
            # A package's folder once, and single modules.
            top = Path(str(file.locate())).parents[len(file.parts) - 1] / file.parts[0]
            if file.parts[0] != ".." and not (packages / top.name).exists():
                (packages / top.name).symlink_to(top)
    return str(folder / "bin" / "python")


@pytest.mark.docker
@pytest.mark.usefixtures("engine")
def test_processes_and_containers_run_on_nodes_with_ray_alone(
    own_cluster: OwnCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = python_with_ray_alone(tmp_path / "ray")
    other = next((tmp_path / "ray").glob("lib/*/site-packages")) / "smolagents_fork"
    other.mkdir()
    (other / "__init__.py").write_text("raise ImportError('another version')")
    # Ray has its workers import from the folder that the application works in.
    monkeypatch.chdir(tmp_path)
    for name, error in (("smolagents_fork", b"another version"), ("docker", b"No module named")):
        done = subprocess.run([python, "-Ic", f"import {name}"], capture_output=True, check=False)
        assert error in done.stderr
    with own_cluster(python=python) as cluster:
        with process_executor(cluster) as executor:
            check_tool_call(executor)
        containers = RayEngine(cluster.address, cpus_per_slot=0.25, memory_per_slot="64m")
        with DockerExecutor(engine=containers, startup_timeout_seconds=SECONDS) as executor:
            check_tool_call(executor)


# -- an application that is not a node of the cluster, and reaches it through ray:// --

_CLIENTS_PORT = 10001  # of Ray's server for clients, which a head starts where grpcio is installed

# In a process of its own, which has grpcio.
CLIENT = f"""
import sys
from smolagents_fork import ProcessExecutor, RayEngine

engine = RayEngine(
    sys.argv[1], sandbox="process", cpus_per_slot=0.25, lease_seconds=60.0
)
with ProcessExecutor(
    engine=engine, startup_timeout_seconds={SECONDS}, timeout_seconds={SECONDS}
) as executor:
    executor.send_tools({{"double": lambda number: 2 * number}})
    print(executor("double(21)").output)
    data = bytes(range(256)) * 80_000
    executor.send_variables({{"data": data}})
    print(executor("len(data)").output)
    print(executor("data").output == data)
"""


def test_calls_tools_and_long_values_of_a_client_pass(
    own_cluster: OwnCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Ray's server forks a process for each client. With gRPC's own handlers of forks, the new
    # process sometimes ended by a segmentation fault in gRPC (grpcio 1.85.3).
    monkeypatch.setenv("GRPC_ENABLE_FORK_SUPPORT", "0")
    if importlib.util.find_spec("grpc") is None:
        # For this test's processes alone: with it every head starts one more server.
        have_packages(["grpcio"], tmp_path / "grpcio", monkeypatch)
    with own_cluster():
        done = subprocess.run(
            [sys.executable, "-c", CLIENT, f"ray://127.0.0.1:{_CLIENTS_PORT}"],
            cwd=ROOT,
            env=os.environ,
            capture_output=True,
            text=True,
            timeout=3 * SECONDS,
            check=False,
        )
    assert (done.returncode, done.stdout.split()) == (0, ["42", "20480000", "True"]), done.stderr


# -- figures, as each node exports them for Prometheus where ray[default] is --

# In a process of its own, as all questions to Ray but those of the placer process.
_METRICS_PORT = """
import sys
import ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
(node,) = ray.nodes()
print(node["MetricsExportPort"])
"""
_COUNT = re.compile(r'ray_smolagents_fork_(\w+)_seconds_count{.*kind="process".*} ([\d.]+)')


def default_extra() -> list[str]:
    """Return the requirements of ``ray[default]`` beyond those of ``ray``."""
    found = map(Requirement, metadata.requires("ray") or ())
    return [
        str(one).partition(";")[0]
        for one in found
        if one.marker and not one.marker.evaluate() and one.marker.evaluate({"extra": "default"})
    ]


def counts(port: int) -> dict[str, int]:
    """Return how many times each histogram of the node has."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as page:
        found = _COUNT.findall(page.read().decode())
    return {name: int(float(count)) for name, count in found}


def test_times_of_starts_waits_and_calls_are_exported(
    own_cluster: OwnCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    have_packages(default_extra(), tmp_path / "default", monkeypatch)
    with own_cluster() as cluster, process_executor(cluster) as executor:
        for _ in range(3):
            executor("1 + 1")
        ask = [sys.executable, "-c", _METRICS_PORT, cluster.address]
        port = int(subprocess.check_output(ask))
        deadline, found = time.monotonic() + SECONDS, {}
        # Ray's processes export every few seconds.
        while found != {"start": 1, "wait": 1, "call": 3}:
            assert time.monotonic() < deadline, found
            time.sleep(0.5)
            found = counts(port)


# -- kill -9 of a node's Docker engine: the call gets an error, and no container is left --

# As a supervisor says it that has asked this engine before, and a new one, for removals take slots.
DEAD = "(the engine does not answer|no Docker engine answers)"


@pytest.fixture
def node_engine(image: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[SecondEngine]:
    """An engine with the default image, which the nodes of a new cluster use."""
    with second_engine(image) as made:
        monkeypatch.setenv("DOCKER_HOST", made.address)
        yield made


def first_processes(engine: SecondEngine) -> list[int]:
    """Return the first process of each of the engine's containers."""
    client = connect(EngineAddress(engine.address))
    try:
        found = client.containers.list()
        return [client.api.inspect_container(one.id)["State"]["Pid"] for one in found]
    finally:
        disconnect(client)


@pytest.mark.docker
def test_dead_engine_in_every_phase(own_cluster: OwnCluster, node_engine: SecondEngine) -> None:
    released = threading.Event()
    with contextlib.ExitStack() as stack:
        own = stack.enter_context(own_cluster())
        place = RayEngine(own.address, slots_per_node=3, cpus_per_slot=0.5, memory_per_slot="64m")
        users = stack.enter_context(contextlib.closing(place.cluster()))
        limits = {"startup_timeout_seconds": SECONDS, "timeout_seconds": 2 * SECONDS}

        def started() -> DockerExecutor:
            executor = DockerExecutor(engine=place, lease_seconds=10.0, **limits)
            return stack.enter_context(executor)

        def begun_call(executor: DockerExecutor, code: str) -> Background:
            begun = threading.Event()

            def wait() -> None:
                begun.set()
                released.wait(SECONDS)

            executor.send_tools({"begin": begun.set, "wait": wait})
            call = stack.enter_context(running(executor, code))
            call.until(begun.is_set, SECONDS)
            return call

        idle, calling, asking = (started() for _ in range(3))
        stack.callback(released.set)
        processes = first_processes(node_engine)
        assert len(processes) == 3
        call = begun_call(calling, "begin()\nimport time\nwhile True: time.sleep(0.05)")
        tool_call = begun_call(asking, "wait()")
        node_engine.process.kill()
        # Their parent is not the engine, so they live on; nobody renews their leases.
        died = call.error(SECONDS)
        assert isinstance(died, SandboxDiedError), repr(died)
        assert "the engine does not answer" in str(died)
        # Each by its own lease.
        assert eventually(lambda: all(map(process_gone, processes)), SECONDS)
        # The tool's own work is not cut short: the loss is reported once it is over.
        assert not tool_call.ended
        released.set()
        died = tool_call.error(SECONDS)
        assert isinstance(died, SandboxDiedError), repr(died)
        with pytest.raises(SandboxDiedError):
            idle("1")
        for executor in (idle, calling, asking):
            with pytest.raises(EngineUnavailableError, match=f"^node .* {DEAD}"):
                executor("1")
        errors = [one.engine_error for one in users.stats()]
        assert any(re.search(DEAD, error) for error in errors), errors


@pytest.mark.docker
@pytest.mark.usefixtures("links")
def test_start_tries_every_node_and_names_them(
    own_cluster: OwnCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    with own_cluster(namespaces=True) as cluster:
        with pytest.raises(EngineUnavailableError) as caught:
            DockerExecutor(engine=RayEngine(cluster.address), startup_timeout_seconds=SECONDS)
        for node in cluster.nodes:
            shown = f"node {cluster.address_of(node)} ("
            assert str(caught.value).count(shown) == 1, caught.value
