"""The engine on a real cluster: permissions, admission, events, ends, network, faults."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import real_cluster
from background import acting, eventually
from smolagents import AgentError

from smolagents_fork import DockerExecutor, KubernetesEngine
from smolagents_fork.errors import ExecutorStartError, SandboxDiedError
from smolagents_fork.executors.jupyter import connection
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.provisioner import Limits, SandboxSpec

START_SECONDS = 180


@pytest.fixture(scope="module")
def cluster() -> Iterator[real_cluster.RealCluster]:
    made = real_cluster.connect()
    if made is None:
        pytest.skip("no cluster: run `make test-kubernetes`")
    yield made
    made.close()


@pytest.fixture
def make(cluster: real_cluster.RealCluster, image: str) -> Iterator[Callable[..., DockerExecutor]]:
    """Makes executors on the cluster that are closed after the test."""
    with contextlib.ExitStack() as stack:

        def build(*args: Any, **keywords: Any) -> DockerExecutor:
            options = {
                "engine": KubernetesEngine(),
                "image": image,
                "startup_timeout_seconds": START_SECONDS,
                "timeout_seconds": 600,
                "cpus": None,
                **keywords,
            }
            return stack.enter_context(DockerExecutor(*args, **options))

        yield build


def start(engine: KubernetesEngine, image: str, seconds: float) -> None:
    """Start a pod, without the check of its image."""
    provisioner = engine.connect(ContainerOptions())
    try:
        limits = Limits(cpus=None)
        provisioner.start(SandboxSpec(image, limits, start_seconds=seconds)).remove()
    finally:
        provisioner.wait_until_removed(120)
        provisioner.close()


# -- permissions and admission --


def test_missing_permission_advises_the_role(cluster):
    with pytest.raises(ExecutorStartError, match=r'cannot list resource "pods".*writes the Role'):
        KubernetesEngine(namespace="default").connect(ContainerOptions())


def test_missing_runtime_class_is_refused_by_admission(cluster, image):
    engine = KubernetesEngine(runtime_class="missing")
    with pytest.raises(ExecutorStartError, match=r"HTTP status 403.*admission") as refused:
        start(engine, image, 60)
    assert '"missing" not found' in str(refused.value)
    assert "Role" not in str(refused.value)


def test_limit_range_is_refused_by_admission(cluster, image, monkeypatch):
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "small"},
        "spec": {"limits": [{"type": "Container", "max": {"memory": "32Mi"}}]},
    }
    monkeypatch.setenv("KUBECONFIG", str(cluster.admin))
    words = "maximum memory usage per Container is 32Mi"
    with cluster.namespace("limited", limits), pytest.raises(ExecutorStartError, match=words):
        start(KubernetesEngine(namespace="limited"), image, 60)


# -- pods that do not start --


def test_runtime_that_the_node_lacks_is_in_the_error(cluster, image):
    cluster.create_runtime_class("unsupported", "unsupported-handler")
    engine = KubernetesEngine(runtime_class="unsupported")
    with pytest.raises(ExecutorStartError, match=r"FailedCreatePodSandBox.*unsupported-handler"):
        start(engine, image, 20)


def test_image_that_cannot_be_pulled_is_named(cluster):
    with pytest.raises(ExecutorStartError, match=r"registry\.invalid/none:1.*(ErrImage|ImagePull)"):
        start(KubernetesEngine(), "registry.invalid/none:1", START_SECONDS)


def test_pod_without_a_node_says_why(cluster, make):
    with pytest.raises(ExecutorStartError, match="Insufficient cpu"):
        make(cpus=1000, startup_timeout_seconds=10)


# -- ends --


def test_too_much_memory_is_in_the_error(make):
    executor = make(memory="300m", workdir_size="20m", tmp_size="20m")
    with pytest.raises(SandboxDiedError, match="out of memory") as caught:
        executor("data = bytearray(b'x') * (1 << 30)")
    assert caught.value.cause == "out_of_memory"


def test_deleted_pod_is_noticed(make, cluster):
    executor = make()
    name = executor._sandbox.name

    def delete() -> None:
        cluster.core.delete_namespaced_pod(name, real_cluster.NAMESPACE, grace_period_seconds=0)

    executor.send_tools({"delete": delete})
    with pytest.raises(SandboxDiedError, match="ended"):
        executor("import time\ndelete()\ntime.sleep(600)")


# -- code that runs --


def test_dropped_packets_have_the_hint_about_the_network(make):
    executor = make(additional_imports=["socket"])
    with pytest.raises(AgentError) as caught:
        executor("import socket\nsocket.create_connection(('192.0.2.1', 80), timeout=3)")
    assert "This sandbox has no network: give KubernetesEngine allow_network=True" in str(
        caught.value
    )


def test_running_call_survives_kill_9_of_the_api_server(make, cluster, monkeypatch):
    began, restarted = threading.Event(), threading.Event()
    # On a busy machine the server needs more than a lease to start again.
    monkeypatch.setattr(connection, "_PATIENCE_SECONDS", START_SECONDS)
    monkeypatch.setenv("KUBECONFIG", str(cluster.spare))
    executor = make(lease_seconds=300)
    executor.send_tools({"begin": began.set, "restarted": restarted.is_set})

    def restart() -> None:
        cluster.kill_spare()
        eventually(cluster.spare_answers)
        restarted.set()

    code = (
        "count = globals().get('count', 0) + 1\nbegin()\nimport time\n"
        "while not restarted(): time.sleep(0.1)\ncount"
    )
    with acting(began.is_set, restart):
        assert executor(code).output == 1
    assert executor("count").output == 1
