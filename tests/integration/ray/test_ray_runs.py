"""Sandboxes on the run's cluster: results, errors and limits as on one machine."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from background import acting, run_python
from ray_nodes import network
from ray_nodes.cluster import RayCluster
from scripted_model import Script
from smolagents import CodeAgent, tool

from smolagents_fork import DockerExecutor, ProcessExecutor, RayEngine
from smolagents_fork.errors import (
    EngineUnavailableError,
    ExecutorError,
    ExecutorStartError,
    InterpreterError,
    SandboxDiedError,
)
from tests.agent_programs import check_agents
from tools.paths import ROOT

# Only detects hangs.
_SECONDS = 240.0
# Of supervisors, in seconds: a busy machine delays heartbeats, and no node is lost here.
_LEASE = 60.0


def make(cluster: RayCluster, **keywords: Any) -> ProcessExecutor:
    engine = RayEngine(cluster.address, sandbox="process", lease_seconds=_LEASE)
    return ProcessExecutor(engine=engine, startup_timeout_seconds=_SECONDS, **keywords)


def containers(cluster: RayCluster, slots: int = 4) -> dict[str, Any]:
    """Return the options of containers on the cluster."""
    place = RayEngine(
        cluster.address,
        lease_seconds=_LEASE,
        slots_per_node=slots,
        memory_per_slot="64m",
        cpus_per_slot=0.5,
    )
    return {"engine": place, "startup_timeout_seconds": _SECONDS}


@tool
def double(number: int) -> int:
    """Double a number.

    Args:
        number: to double.
    """
    return 2 * number


# -- the cluster --


def test_nodes_have_no_route_out(links: None, cluster: RayCluster) -> None:
    for node in cluster.nodes:
        where = f"{network.PREFIX}{cluster.pid}-{node}"
        routes = subprocess.check_output(["ip", "-n", where, "route"], text=True).splitlines()
        assert [line.split()[0] for line in routes] == [f"10.231.{cluster.subnet}.0/24"]


@pytest.mark.usefixtures("links")
def test_namespaces_of_a_dead_process_are_removed() -> None:
    make = (
        "import os; from ray_nodes.network import Network, _namespaces; "
        "made = Network(os.getpid()); made.create(['node1']); name = made.namespace('node1'); "
        "assert name in _namespaces(); print(name)"
    )
    name = run_python(make, cwd=ROOT / "tests").strip()
    # The end of another cluster may have removed it already, which is as good.
    network.remove_stale()
    assert name not in subprocess.check_output(["ip", "netns", "list"], text=True)


# -- processes --


def test_agent_uses_the_cluster_by_name(cluster: RayCluster, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    model = Script("x = double(number=20)", "final_answer(x + 2)")
    keywords = {
        "sandbox": "process", "startup_timeout_seconds": _SECONDS, "lease_seconds": _LEASE
    }  # fmt: skip
    with CodeAgent([double], model=model, executor_type="ray", executor_kwargs=keywords) as agent:
        assert agent.run("compute") == 42
        assert agent.python_executor.engine == RayEngine(sandbox="process", lease_seconds=_LEASE)


def test_memory_and_figures_are_those_of_the_sandbox(cluster: RayCluster):
    with make(cluster) as executor:
        # Ray's own memory= enforces nothing; this is the sandbox's.
        with pytest.raises(
            InterpreterError, match=r"MemoryError[\s\S]*Memory is limited by memory="
        ):
            executor("[bytearray(90_000_000) for _ in range(50)]")
        assert executor.stats().memory_bytes > 0


def test_dead_child_is_reported_with_its_sandbox_and_node(cluster: RayCluster):
    with make(cluster, additional_authorized_imports=["os"], max_threads=8) as executor:
        pid = executor.pid
        with pytest.raises(SandboxDiedError) as caught:
            executor("import os\nos.kill(os.getpid(), 9)")
        text = str(caught.value)
        assert f"process {pid} was ended by SIGKILL" in text
        assert "on node" in text
        assert text.startswith("sandbox ")
        assert executor("1 + 1").output == 2


def test_sandboxes_of_one_engine_share_a_supervisor(cluster: RayCluster):
    engine = RayEngine(cluster.address, sandbox="process", slots_per_node=3, lease_seconds=_LEASE)
    keywords = {"engine": engine, "startup_timeout_seconds": _SECONDS}
    with ProcessExecutor(**keywords) as one, ProcessExecutor(**keywords) as other:
        users = engine.cluster()
        try:
            (stats,) = [node for node in users.stats() if node.slots == 3]
        finally:
            users.close()
        assert stats.in_use <= 2
        assert stats.ready >= 1
        assert one("1").output == other("1").output


def test_unclosed_executor_does_not_hang_at_exit(cluster: RayCluster):
    program = (
        "from smolagents_fork import ProcessExecutor, RayEngine\n"
        f"engine = RayEngine({cluster.address!r}, sandbox='process', lease_seconds={_LEASE})\n"
        f"executor = ProcessExecutor(engine=engine, startup_timeout_seconds={_SECONDS})\n"
        "print(executor('1 + 1').output)\n"
    )
    assert run_python(program, switches=("-W", "error"), timeout=2 * _SECONDS) == "2\n"


# -- the connection --


def test_wrong_token_is_said(cluster: RayCluster, monkeypatch: pytest.MonkeyPatch):
    assert RayEngine(cluster.address).check() == cluster.address
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 48)
    # Another address for the same head: placers are shared by address.
    host, _, port = cluster.address.rpartition(":")
    with pytest.raises(EngineUnavailableError, match="refused the token"):
        RayEngine(f"{host}:0{port}", sandbox="process").cluster()


def test_other_version_of_ray_is_said(cluster: RayCluster):
    program = (
        "import ray\n"
        "ray.__version__ = '2.52.9'\n"
        "from smolagents_fork.errors import EngineUnavailableError\n"
        "from smolagents_fork.ray_cluster.ray_calls import connect_to_ray\n"
        "try:\n"
        f"    connect_to_ray({cluster.address!r})\n"
        "except EngineUnavailableError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=2 * _SECONDS
    )
    words = rf"^Ray did not connect to {cluster.address}: .*Ray: {version('ray')}.*"
    assert re.match(words + "; this process has Ray 2.52.9, Python", done.stdout), done.stderr


def test_more_than_any_node_has_is_said_at_once(cluster: RayCluster):
    engine = RayEngine(cluster.address, sandbox="process", cpus_per_slot=1000, slots_per_node=2)
    with pytest.raises(ExecutorStartError) as caught:
        ProcessExecutor(engine=engine, startup_timeout_seconds=_SECONDS)
    assert "largest node has 16 CPUs" in str(caught.value)
    assert "asked for 2000 CPUs" in str(caught.value)


# -- containers --


@pytest.mark.docker
@pytest.mark.usefixtures("engine")
def test_agents_run_on_a_node(cluster: RayCluster, tmp_path: Path) -> None:
    check_agents(tmp_path / "agent", **containers(cluster, slots=1))


@pytest.mark.docker
def test_container_that_dies_is_reported_and_replaced(cluster: RayCluster, engine: Any) -> None:
    with DockerExecutor(timeout_seconds=_SECONDS, **containers(cluster)) as executor:
        executor.send_tools({"double": lambda number: 2 * number})
        container = executor._sandbox.container_id
        begun: list[bool] = []
        executor.send_tools({"begin": lambda: begun.append(True)})
        with (
            acting(lambda: begun, lambda: engine.api.kill(container)),
            pytest.raises(SandboxDiedError, match="exit code 137"),
        ):
            executor("begin()\nimport time\ntime.sleep(600)")
        assert executor("double(2)").output == 4


@pytest.mark.docker
@pytest.mark.usefixtures("engine")
def test_missing_image_is_an_error_that_names_the_node(cluster: RayCluster) -> None:
    missing = {"image": "no-such-image:1", "build_timeout_seconds": 60.0}
    with pytest.raises(ExecutorError, match="no-such-image:1") as caught:
        DockerExecutor(**missing, **containers(cluster))
    text = str(caught.value)
    shown = [f"node {address} ({node[:8]}): " for address, node in cluster.alive(_SECONDS).items()]
    assert any(text.startswith(node) for node in shown), text
