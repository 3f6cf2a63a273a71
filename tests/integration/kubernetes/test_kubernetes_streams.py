"""Streams into pods when connections are lost, by both versions of the protocol, and over TLS."""

from __future__ import annotations

import threading

import certificates
import pytest
from background import acting, eventually
from cluster_double import ClusterDouble

from smolagents_fork import DockerExecutor
from smolagents_fork.errors import ExecutorError
from smolagents_fork.executors.jupyter import connection
from smolagents_fork.jupyter import resumption
from smolagents_fork.sandboxes.kubernetes import pod_sandbox
from smolagents_fork.sandboxes.kubernetes.kubernetes_engine import KubernetesEngine

#: Longer than any pause of a busy machine: the stream, not the lease, is the subject.
LEASE = 300.0


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Longer waits: each new connection starts Python in a container of a busy machine."""
    monkeypatch.setattr(connection, "_PATIENCE_SECONDS", 180.0)
    for module in (resumption, pod_sandbox):
        monkeypatch.setattr(module, "_ATTEMPT_SECONDS", 60.0)


def test_running_code_survives_a_restart_of_the_api_server(make, cluster):
    began = threading.Event()
    executor = make(lease_seconds=LEASE, timeout_seconds=600)
    executor.send_tools({"begin": began.set, "restarted": lambda: restarted.is_set()})
    restarted = threading.Event()

    def restart() -> None:
        cluster.proxy.reset(refuse=True)
        cluster.proxy.heal()
        restarted.set()

    code = "begin()\nimport time\nwhile not restarted(): time.sleep(0.1)\n'went on'"
    with acting(began.is_set, restart):
        assert executor(code).output == "went on"
    assert executor("'kept', 1").output == ("kept", 1)


def test_stream_that_is_cut_between_calls_goes_on(make, cluster):
    executor = make(lease_seconds=LEASE)
    executor("value = 7")
    for _ in range(3):
        cluster.proxy.reset()
        assert executor("value").output == 7


def test_lease_goes_on_after_its_attachment_was_cut(make, cluster):
    executor = make(lease_seconds=20, timeout_seconds=600)
    executor("value = 1")

    def attached() -> int:
        return sum(path.endswith("/attach") for _, path in cluster.requests)

    before = attached()
    cluster.proxy.reset()
    assert eventually(lambda: attached() > before)
    assert executor("import time\ntime.sleep(25)\nvalue").output == 1


def test_version_4_of_the_protocol(make, cluster):
    cluster.protocols = ("v4.channel.k8s.io",)
    executor = make()
    executor.put_file(b"from the host", "in")
    assert executor("open('in').read()").output == "from the host"
    assert executor("1 + 1").output == 2


def test_server_without_these_protocols_is_named(make, cluster):
    cluster.protocols = ()
    with pytest.raises(ExecutorError, match=r"neither v5\.channel\.k8s\.io nor v4"):
        make()
    assert eventually(lambda: not cluster.pods)


def test_tls_with_the_authority_of_the_kubeconfig(engine, image, tmp_path, monkeypatch):
    double = ClusterDouble(engine, tls=certificates.made_in(tmp_path))
    try:
        monkeypatch.setenv("KUBECONFIG", str(double.kubeconfig(tmp_path / "config")))
        with DockerExecutor(
            engine=KubernetesEngine(), image=image, startup_timeout_seconds=180
        ) as executor:
            assert executor("1 + 1").output == 2
            executor.delete()
    finally:
        double.close()
