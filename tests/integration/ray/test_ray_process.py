"""Process sandboxes on a Ray cluster: the same results, errors and limits as on one machine."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from background import eventually
from ray_nodes.cluster import RayCluster
from scripted_model import Script
from smolagents import CodeAgent, tool

from smolagents_fork import ProcessExecutor, RayEngine
from smolagents_fork.errors import (
    EngineUnavailableError,
    ExecutorStartError,
    InterpreterError,
    SandboxDiedError,
)

# Only detects hangs.
_SECONDS = 240.0
# Of supervisors, in seconds: a busy machine delays heartbeats, and no node is lost here.
_LEASE = 60.0


def make(cluster: RayCluster, **keywords) -> ProcessExecutor:
    engine = RayEngine(cluster.address, sandbox="process", lease_seconds=_LEASE)
    return ProcessExecutor(engine=engine, startup_timeout_seconds=_SECONDS, **keywords)


@tool
def double(number: int) -> int:
    """Double a number.

    Args:
        number: to double.
    """
    return 2 * number


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


def test_killed_host_leaves_nothing(cluster: RayCluster):
    program = (
        "import sys, time\n"
        "from smolagents_fork import ProcessExecutor, RayEngine\n"
        f"engine = RayEngine({cluster.address!r}, sandbox='process', lease_seconds={_LEASE})\n"
        f"executor = ProcessExecutor(engine=engine, startup_timeout_seconds={_SECONDS})\n"
        "print(executor.folder, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        folder = host.stdout.readline().decode().strip()
        assert Path(folder).is_dir(), folder
        host.kill()
    assert eventually(lambda: not Path(folder).exists()), folder


def test_unclosed_executor_does_not_hang_at_exit(cluster: RayCluster):
    program = (
        "from smolagents_fork import ProcessExecutor, RayEngine\n"
        f"engine = RayEngine({cluster.address!r}, sandbox='process', lease_seconds={_LEASE})\n"
        f"executor = ProcessExecutor(engine=engine, startup_timeout_seconds={_SECONDS})\n"
        "print(executor('1 + 1').output)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        timeout=2 * _SECONDS,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


def test_wrong_token_is_said(cluster: RayCluster, monkeypatch: pytest.MonkeyPatch):
    assert RayEngine(cluster.address).check() == cluster.address
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 48)
    # Another address for the same head: placers are shared by address.
    host, _, port = cluster.address.rpartition(":")
    with pytest.raises(EngineUnavailableError, match="refused the token"):
        RayEngine(f"{host}:0{port}", sandbox="process").cluster()


def test_wrong_address_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    with pytest.raises(EngineUnavailableError, match=r"the head .* at 127.0.0.1:1 cannot be reach"):
        ProcessExecutor(engine=RayEngine("127.0.0.1:1", sandbox="process"))


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
    assert f"Ray: {version('ray')}" in done.stdout, done.stderr
    assert "this process has Ray 2.52.9, Python" in done.stdout


def test_more_than_any_node_has_is_said_at_once(cluster: RayCluster):
    engine = RayEngine(cluster.address, sandbox="process", cpus_per_slot=1000, slots_per_node=2)
    with pytest.raises(ExecutorStartError) as caught:
        ProcessExecutor(engine=engine, startup_timeout_seconds=_SECONDS)
    assert "largest node has 16 CPUs" in str(caught.value)
    assert "asked for 2000 CPUs" in str(caught.value)
