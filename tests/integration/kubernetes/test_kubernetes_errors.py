"""Errors of a cluster in its own words: its API, its pods, its network, wrong settings."""

from __future__ import annotations

import socket
import sys
import time

import pytest
from background import eventually
from cluster_double import Fault

from smolagents_fork import DockerExecutor
from smolagents_fork.errors import (
    ConfigurationError,
    EngineUnavailableError,
    ExecutorStartError,
    SandboxDiedError,
)
from smolagents_fork.executors.jupyter import connection
from smolagents_fork.executors.jupyter.connection import status_after_end
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.containers import network_probe
from smolagents_fork.sandboxes.kubernetes.api_client import ClusterRefusal
from smolagents_fork.sandboxes.kubernetes.kubernetes_engine import KubernetesEngine
from smolagents_fork.sandboxes.provisioner import ImageSpec, SandboxSpec


@pytest.fixture
def provisioner(cluster):
    made = KubernetesEngine().connect(ContainerOptions())
    yield made
    assert made.wait_until_removed(120)
    made.close()


@pytest.fixture
def spec(image):
    return SandboxSpec(image, start_seconds=120)


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (0, EngineUnavailableError, "the cluster at http://127.0.0.1:.* does not answer"),
        (401, EngineUnavailableError, "does not accept the token or certificate"),
        (404, ClusterRefusal, "forbidden by test.*HTTP status 404"),
        (409, ClusterRefusal, "HTTP status 409"),
        (410, ClusterRefusal, "HTTP status 410"),
        (429, ClusterRefusal, "overloaded"),
        (500, EngineUnavailableError, "the cluster is unavailable"),
    ],
)
def test_refused_pod_is_an_error_in_the_clusters_words(
    cluster, provisioner, spec, status, error, words
):
    headers = {"Retry-After": "86400"}  # beyond the deadline
    cluster.faults.append(Fault("POST", "/pods$", status, "forbidden by test", headers, times=5))
    with pytest.raises(error, match=words):
        provisioner.start(spec)
    assert cluster.pods == {}


ADMISSION = "the cluster's admission refuses it"
ROLE = "'smolagents-fork setup kubernetes --print' writes the Role"


@pytest.mark.parametrize(
    ("words", "advice", "other"),
    [
        (
            'pods is forbidden: User "system:serviceaccount:a:b" cannot create resource "pods" in '
            'API group "" in the namespace "a"',
            ROLE,
            ADMISSION,
        ),
        ('pods "p" is forbidden: pod rejected: RuntimeClass "gvisor" not found', ADMISSION, ROLE),
        ('pods "p" is forbidden: violates PodSecurity "restricted:latest"', ADMISSION, ROLE),
        ('pods "p" is forbidden: maximum cpu usage per Container is 500m', ADMISSION, ROLE),
        (
            'pods "p" is forbidden: exceeded quota: q, used: pods=2, limited: pods=2',
            ADMISSION,
            ROLE,
        ),
        ('admission webhook "w.example" denied the request: no', ADMISSION, ROLE),
    ],
)
def test_403_advises_the_role_for_missing_permissions_only(
    cluster, provisioner, spec, words, advice, other
):
    cluster.faults.append(Fault("POST", "/pods$", 403, words))
    with pytest.raises(ExecutorStartError) as refused:
        provisioner.start(spec)
    assert words in str(refused.value)
    assert advice in str(refused.value)
    assert other not in str(refused.value)


def test_overloaded_server_is_waited_for_as_long_as_it_asks(cluster, provisioner, spec):
    cluster.faults.append(Fault("POST", "/pods$", 429, headers={"Retry-After": "1"}, times=2))
    started = time.monotonic()
    provisioner.start(spec).remove()
    assert time.monotonic() - started >= 2


def test_refused_exec_is_an_error_and_leaves_nothing(cluster, provisioner, spec):
    cluster.faults.append(Fault("GET", "/exec$", 403, "pods/exec is forbidden"))
    with pytest.raises(ExecutorStartError, match="pods/exec is forbidden"):
        provisioner.start(spec)
    assert eventually(lambda: not cluster.pods)


def test_wrong_token_is_named(cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig(tmp_path / "wrong", token="wrong")))
    with pytest.raises(EngineUnavailableError, match="does not accept the token"):
        KubernetesEngine().connect(ContainerOptions())


@pytest.mark.parametrize("kind", ["closed", "silent"])
def test_wrong_address_is_named(cluster, tmp_path, monkeypatch, kind):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.listen(5)
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        if kind == "closed":
            server.close()
        config = cluster.kubeconfig(tmp_path / "wrong", server=address)
        monkeypatch.setenv("KUBECONFIG", str(config))
        with pytest.raises(EngineUnavailableError, match=address):
            KubernetesEngine().connect(ContainerOptions())


@pytest.mark.parametrize(
    ("keywords", "error", "words"),
    [
        ({"namespace": "other"}, ExecutorStartError, 'namespaces "other" not found'),
        ({"context": "nowhere"}, EngineUnavailableError, "nowhere"),
    ],
)
def test_namespace_and_context_that_do_not_exist_are_named(cluster, keywords, error, words):
    with pytest.raises(error, match=words):
        KubernetesEngine(**keywords).connect(ContainerOptions())


def test_missing_package_says_which_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    monkeypatch.setitem(sys.modules, "kubernetes.client", None)
    with pytest.raises(EngineUnavailableError, match=r"pip install 'smolagents\[kubernetes\]'"):
        KubernetesEngine().connect(ContainerOptions())


def test_image_without_a_distribution_is_named(provisioner, image):
    spec = ImageSpec(image=image, requirements=("ipykernel>=6", "no-such-thing==1"))
    with pytest.raises(ExecutorStartError, match="has no no-such-thing, which the imports need"):
        provisioner.prepare_image(spec, report=print)


WAITING = ("PodInitializing", "")
NO_VOLUME = ("FailedMount", "no such volume", 75)
NO_VOLUME_YET = ("FailedMount", "not yet", 1)
# Nodes also warn of what keeps no pod from starting.
NO_SERVERS = ("MissingClusterDNS", "no servers", 900)


@pytest.mark.parametrize(
    ("seconds", "state", "words"),
    [
        (
            120,
            {"waiting": WAITING, "warnings": [NO_VOLUME]},
            r"repeated for 75 s: .*FailedMount: no such vol",
        ),
        (
            3,
            {"waiting": WAITING, "warnings": [NO_VOLUME_YET, NO_SERVERS]},
            r"seconds=3 .*PodInitializing; FailedMount: not",
        ),
        (
            1,
            {"waiting": ("", "")},
            r"seconds=1 on node node-1: phase Pending, without a reason in its status or",
        ),
    ],
    ids=["repeated event", "event that may pass", "no reason"],
)
def test_pod_that_does_not_start_says_why(cluster, provisioner, image, seconds, state, words):
    cluster.before_start = lambda pod: vars(pod).update(state)
    with pytest.raises(ExecutorStartError, match=words):
        provisioner.start(SandboxSpec(image, start_seconds=seconds))
    assert cluster.pods == {}


def test_end_of_the_kernel_is_known_before_the_api_has_it(make, cluster):
    executor = make(timeout_seconds=600)
    executor("import os")
    cluster.lag = 600.0
    with pytest.raises(SandboxDiedError, match="exit code 7") as died:
        executor("os._exit(7)")
    assert "sandbox ended" in str(died.value)


def test_end_without_the_first_processs_words_is_waited_for(make, cluster, provisioner, spec):
    sandbox = provisioner.start(spec)
    assert eventually(lambda: sandbox.first_process.connected)
    (pod,) = cluster.pods.values()
    cluster.lag = 3.0
    pod.container.kill()
    assert eventually(lambda: not sandbox.first_process.connected)
    status = status_after_end(sandbox)
    assert status.state.startswith("ended")
    assert status.exit_code == 137


#: The gateway on the pod's own loopback, in the place of the API server.
GATEWAY = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "8888"}


def test_network_that_reaches_something_is_refused(cluster, provisioner, spec, monkeypatch):
    monkeypatch.setattr(network_probe, "_APPLY_SECONDS", 1.5)
    cluster.service = GATEWAY
    words = r"has a network, so no code is run in it: it reaches the API server \(127\.0\.0\.1 port"
    with pytest.raises(ExecutorStartError, match=words):
        provisioner.start(spec)
    assert eventually(lambda: not cluster.pods)


def test_network_is_allowed_on_request(cluster, image):
    cluster.service = GATEWAY
    provisioner = KubernetesEngine(allow_network=True).connect(ContainerOptions())
    sandbox = provisioner.start(SandboxSpec(image, start_seconds=120))
    (pod,) = cluster.pods.values()
    assert pod.manifest["metadata"]["labels"]["smolagents-fork/network"] == "allowed"
    sandbox.remove()
    assert provisioner.wait_until_removed(120)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"volumes": ["/a:/b"]}, "no paths of this machine"),
        ({"network": "bridge"}, "allow_network=True"),
        ({"port": 8888}, "publish no port"),
        ({"runtime": "runsc"}, "runtime_class="),
        ({"dockerfile_content": "FROM x"}, "nothing is built in a cluster"),
        ({"user": "someone"}, "pass numbers"),
    ],
)
def test_options_that_a_pod_cannot_have(cluster, option, words):
    with pytest.raises(ConfigurationError, match=words):
        DockerExecutor(engine=KubernetesEngine(), **option)
    assert cluster.pods == {}


def test_image_has_to_be_named(cluster):
    with pytest.raises(ConfigurationError, match="image=None"):
        DockerExecutor(engine=KubernetesEngine())


@pytest.mark.parametrize(
    "arguments",
    [
        {"namespace": "Upper"},
        {"context": ""},
        {"runtime_class": "a b"},
        {"warm_pool": ""},
        {"allow_network": "yes"},
        {"gateway_command": "python x"},
        {"max_seconds": 0},
        {"tenant": None},
        {"tenant": "x" * 201},
    ],
)
def test_arguments_of_the_engine(arguments):
    (name,) = arguments
    with pytest.raises(ConfigurationError, match=name):
        KubernetesEngine(**arguments)


def test_cluster_that_stays_out_of_reach_is_named(make, cluster, monkeypatch):
    monkeypatch.setattr(connection, "_PATIENCE_SECONDS", 3.0)  # which a connection reads once
    executor = make(lease_seconds=300, timeout_seconds=600)
    executor.send_tools({"down": lambda: cluster.proxy.reset(refuse=True)})
    with pytest.raises(SandboxDiedError, match="the cluster does not answer"):
        executor("down()\nimport time\ntime.sleep(600)")
    cluster.proxy.heal()
