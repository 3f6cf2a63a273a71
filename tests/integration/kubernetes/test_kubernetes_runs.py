"""Code and agents in pods: names, messages, commands, ends, and what is left afterwards."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess

import pytest
from background import eventually, host_process
from cluster_double import NAMESPACE, Fault
from scripted_model import Script
from smolagents import CodeAgent, tool

from smolagents_fork import AgentSandbox, KubernetesEngine
from smolagents_fork.command_line.main import main
from smolagents_fork.errors import ExecutorStartError, SandboxDiedError
from smolagents_fork.sandboxes.kubernetes.api_client import ClusterClient
from smolagents_fork.sandboxes.kubernetes.pod_inventory import reap
from tests.agent_programs import check_agents

#: For a start on a machine that does other work.
START = {"startup_timeout_seconds": 180}
AGENT_IMAGE = "smolagents-fork-test-agents:1"


@tool
def doubled(number: int) -> int:
    """Doubles.

    Args:
        number: what to double.
    """
    return number * 2


class Lines:
    """A logger that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def log(self, text, **_keywords) -> None:
        self.lines.append(str(text))

    log_error = log


def test_errors_and_log_lines_name_sandbox_node_and_tenant(make, cluster):
    logger = Lines()
    executor = make(logger=logger, engine=KubernetesEngine(tenant="team-a"), timeout_seconds=600)
    executor("kept = 1")
    (name,) = cluster.pods
    place = f"sandbox {name.removeprefix('smolagents-fork-')} (pod {name}) on node node-1"
    place += " of tenant team-a"
    assert executor.place == place
    executor.send_tools({"doubled": doubled, "delete": lambda: cluster.remove(name)})
    logger.lines.clear()
    executor("doubled(1)")
    assert logger.lines
    assert all(line.startswith(f"{place}: ") for line in logger.lines)
    with pytest.raises(SandboxDiedError, match="ended and was removed") as died:
        executor("import time\ndelete()\ntime.sleep(600)")
    assert str(died.value).startswith(f"{place}: ")
    cluster.faults.append(Fault("POST", "/pods$", 409, "injected by test", times=5))
    with pytest.raises(ExecutorStartError, match="injected by test") as refused:
        executor("1")
    assert re.match(r"sandbox [0-9a-f]{12} of tenant team-a: ", str(refused.value))
    cluster.faults.clear()
    assert executor("'kept' in globals()").output is False


def test_agent_by_the_name_of_the_engine(cluster, image):
    agent = CodeAgent(
        tools=[],
        model=Script("value = 40", "final_answer(value + 2)"),
        executor_type="kubernetes",
        executor_kwargs={"image": image, "namespace": NAMESPACE, **START},
        verbosity_level=0,
    )
    with agent:
        assert agent.run("add") == 42
        agent.python_executor.delete()
    assert cluster.pods == {}


# -- whole agents --


@pytest.fixture(scope="module")
def agent_image(engine):
    AgentSandbox(image_name=AGENT_IMAGE, **START).cleanup()
    yield AGENT_IMAGE
    engine.images.remove(AGENT_IMAGE)


def test_agents_run_in_a_pod(cluster, agent_image, tmp_path):
    check_agents(tmp_path / "agent", engine=KubernetesEngine(), image=agent_image, **START)
    assert eventually(lambda: not cluster.pods)


def test_image_without_smolagents_says_what_is_missing(cluster, image):
    with pytest.raises(ExecutorStartError, match="for which its kernel needs smolagents with this"):
        AgentSandbox(engine=KubernetesEngine(), image=image, **START)


# -- commands --


@pytest.fixture
def run(capsys):
    """Runs a command; returns its exit code, and what it printed."""

    def run_command(*arguments):
        code = main(arguments)
        ended = capsys.readouterr()
        return code, ended.out + ended.err

    return run_command


def test_pods_are_listed_and_killed(make, run):
    def listed(*options):
        code, out = run("ps", "--json", *options)
        assert code == 0, out
        return [s for s in json.loads(out)["sandboxes"] if s["executor"] == "kubernetes"]

    executor = make(memory="512m")
    assert executor("1 + 1").output == 2
    (found,) = listed()
    assert found == listed("--engine", "kubernetes")[0]
    assert found["name"] == executor._sandbox.name
    assert found["id"] == executor._sandbox.id
    assert found["state"] == "running"
    assert found["memory_limit_bytes"] == 512 << 20
    assert found["image"] == executor._sandbox.spec.image
    assert found["owner"]["pid"] == os.getpid()
    assert found["owner"]["state"] == "running"
    assert found["owner"]["cluster"] == "node node-1"
    assert listed("--engine", "docker") == []
    code, out = run("ps", "--engine", "kubernetes")
    assert code == 0
    assert found["id"] in out
    code, out = run("logs", found["id"], "--engine", "kubernetes", "--lines", "5")
    assert code == 0, out
    code, out = run("kill", found["id"], "--engine", "kubernetes")
    assert (code, out) == (0, f"killed {found['id']}\n")
    assert listed() == []
    code, out = run("logs", found["id"], "--engine", "kubernetes")
    assert code == 1
    assert f"no sandbox of the fork is called {found['id']!r}" in out


def test_cluster_that_does_not_answer_is_said(cluster, run):
    cluster.proxy.reset(refuse=True)
    code, out = run("ps", "--json", "--engine", "kubernetes")
    found = json.loads(out)
    assert (code, found["sandboxes"]) == (0, [])
    assert cluster.url in found["not_listed"]["kubernetes"]


# -- ends --

HOST = """
import sys, time
from smolagents_fork import DockerExecutor, KubernetesEngine
executor = DockerExecutor(
    engine=KubernetesEngine(), image=sys.argv[1], lease_seconds=8, startup_timeout_seconds=180
)
assert executor("1 + 1").output == 2
print("ready", flush=True)
for _ in range(6000): time.sleep(0.1)
"""


def running(cluster):
    return [
        p for p in cluster.pods.values() if cluster.described(p)["status"]["phase"] == "Running"
    ]


def test_killed_host_leaves_nothing_longer_than_the_lease(cluster, image):
    with host_process(HOST, image) as process:
        assert running(cluster)
        process.kill()
        process.wait()
        assert eventually(lambda: not running(cluster))
    (pod,) = cluster.pods.values()
    assert b"the lease is over" in pod.container.logs(tail=3)
    # What is left is a record of the API, which the next process of this machine removes.
    reap(ClusterClient(None, None))
    assert eventually(lambda: cluster.pods == {})


def test_sigterm_removes_its_pods(cluster, image):
    """As any exit does: SIGTERM makes the process exit."""
    with host_process(HOST, image, stderr=subprocess.PIPE) as process:
        process.send_signal(signal.SIGTERM)
        process.wait(120)
        assert process.stderr.read() == ""
    assert cluster.pods == {}
