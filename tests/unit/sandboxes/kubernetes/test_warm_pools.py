"""Choice between a claim and a new pod, with the real client and a double of the API."""

from __future__ import annotations

import copy
import re
import threading

import pytest
from cluster_double import NAMESPACE, ClusterDouble, Fault

from smolagents_fork.errors import ConfigurationError, ExecutorStartError
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.kubernetes.api_client import ClusterClient
from smolagents_fork.sandboxes.kubernetes.claims import warm_pools
from smolagents_fork.sandboxes.kubernetes.claims.warm_pools import WarmPools, choose_source
from smolagents_fork.sandboxes.kubernetes.cluster_manifests import cluster_manifests
from smolagents_fork.sandboxes.kubernetes.kubernetes_engine import KubernetesEngine
from smolagents_fork.sandboxes.kubernetes.pod_manifest import pod_manifest
from smolagents_fork.sandboxes.provisioner import Limits, SandboxSpec

IMAGE = "registry/image:1"
PREFIX = f"/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/{NAMESPACE}/"
LOOK_UP = [("GET", PREFIX + "sandboxwarmpools"), ("GET", PREFIX + "sandboxtemplates")]


@pytest.fixture(scope="module")
def server():
    made = ClusterDouble(engine=None)
    yield made
    made.close()


@pytest.fixture
def cluster(server, tmp_path, monkeypatch):
    """A cluster whose namespace has the pool that ``setup --print`` writes."""
    server.reset()
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path / "kubeconfig")))
    *_, template, pool = cluster_manifests(NAMESPACE, image=IMAGE, warm_pool="ready")
    server.objects = {"sandboxwarmpools": {"ready": pool}, "sandboxtemplates": {"ready": template}}
    return server


@pytest.fixture
def client(cluster):
    made = ClusterClient(None, None)
    yield made
    made.close()


def asked(image=IMAGE, user="1000:1000", lease_seconds=15.0, limits=None, **options):
    """Return the pod that an executor asks for, by default one with the default options."""
    environment = options.pop("environment", {})
    defaults = ContainerOptions()
    spec = SandboxSpec(
        image,
        limits or Limits(),
        workdir=defaults.workdir,
        environment=environment,
        lease_seconds=lease_seconds,
    )
    container = ContainerOptions(user=user)
    return pod_manifest(spec, container, sandbox="", token="", max_seconds=60, warm=True, **options)


def test_pool_with_what_is_asked_for_is_found_once(cluster, client):
    pools = WarmPools()
    for _ in range(3):
        source = choose_source(None, pools, client, asked())
        assert (source.pool, source.optional) == ("ready", True)
    assert str(source) == "claimed from warm pool 'ready': its pods are as asked for"
    assert cluster.requests == LOOK_UP


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"image": "registry/image:2"}, "image"),
        ({"limits": Limits(memory="3g", cpus=7)}, "memory, cpu"),
        ({"limits": Limits(workdir_size="1m")}, "files"),
        ({"user": "1001:1002"}, "runAsUser, runAsGroup"),
        ({"lease_seconds": 7.0}, "command"),
        ({"runtime_class": "gvisor"}, "runtimeClassName"),
        ({"network": True}, "smolagents-fork/network"),
        ({"environment": {"KEY": "secret"}}, "environment"),
    ],
)
def test_other_options_are_a_new_pod(client, options, names):
    source = choose_source(None, WarmPools(), client, asked(**options))
    assert str(source) == f"a new pod: warm pool 'ready' differs in {names}"


@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        ("pod", "hostIPC", True),
        ("pod", "initContainers", [{"name": "first"}]),
        ("container", "envFrom", [{"secretRef": {"name": "keys"}}]),
        ("security", "capabilities", {"drop": ["ALL"], "add": ["SYS_ADMIN"]}),
    ],
)
def test_less_confinement_is_a_difference(cluster, client, place, name, value):
    pod = cluster.objects["sandboxtemplates"]["ready"]["spec"]["podTemplate"]["spec"]
    container = pod["containers"][0]
    {"pod": pod, "container": container, "security": container["securityContext"]}[place][name] = (
        value
    )
    source = choose_source(None, WarmPools(), client, asked())
    assert str(source) == f"a new pod: warm pool 'ready' differs in {name}"


def test_first_pool_that_fits_is_chosen(cluster, client):
    for name, image in (("a-other", "registry/image:2"), ("b-same", IMAGE)):
        *_, template, pool = cluster_manifests(NAMESPACE, image=image, warm_pool=name)
        cluster.objects["sandboxwarmpools"][name] = pool
        cluster.objects["sandboxtemplates"][name] = template
    assert choose_source(None, WarmPools(), client, asked()).pool == "b-same"


@pytest.mark.parametrize("plural", ["sandboxwarmpools", "sandboxtemplates"])
def test_pool_of_somebody_else_is_not_used(cluster, client, plural):
    del cluster.objects[plural]["ready"]["metadata"]["labels"]
    reason = (
        f"namespace '{NAMESPACE}' has no warm pool that 'smolagents-fork setup kubernetes' made"
    )
    for _ in range(2):
        assert str(choose_source(None, WarmPools(), client, asked())) == f"a new pod: {reason}"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (403, "the account may not list sandboxwarmpools and sandboxtemplates"),
        (404, r"the cluster has no sandboxwarmpools of extensions\.agents\.x-k8s\.io/v1beta1"),
        (500, "listing sandboxwarmpools .*cannot work now"),
        (0, "listing sandboxwarmpools: the cluster at .* does not answer"),
    ],
)
def test_failed_look_up_is_a_new_pod_and_is_not_repeated(cluster, client, status, words):
    cluster.faults.append(Fault("GET", "sandboxwarmpools", status, times=9))
    pools = WarmPools()
    for _ in range(2):
        source = choose_source(None, pools, client, asked())
        assert source.pool == ""
        assert re.match(words, source.reason)
    assert len(cluster.requests) == 1


def test_look_up_has_a_deadline(cluster, client, monkeypatch):
    monkeypatch.setattr(warm_pools, "CHECK_SECONDS", 0.05)
    ended = threading.Event()
    monkeypatch.setattr(client, "call", lambda *_, **__: ended.wait(60) and {})
    source = choose_source(None, WarmPools(), client, asked())
    ended.set()
    assert source.reason == "looking for warm pools took more than 0.05 s"


@pytest.mark.parametrize(("warm_pool", "pool"), [(False, ""), ("named", "named")])
def test_argument_decides_without_a_look_up(cluster, client, warm_pool, pool):
    source = choose_source(warm_pool, WarmPools(), client, asked())
    assert (source.pool, source.optional) == (pool, False)
    assert source.reason == f"warm_pool={warm_pool!r}"
    assert cluster.requests == []


def test_pool_that_failed_is_not_used_again_by_its_engine(cluster, client):
    pools = WarmPools()
    first = choose_source(None, pools, client, asked())
    reason = "warm pool 'ready' gave none: no sandbox in 30 s"
    given = pools.give_up(client, first.pool, ExecutorStartError("no sandbox in 30 s"))
    assert given == choose_source(None, pools, client, asked())
    assert (given.pool, given.reason) == ("", reason)
    assert choose_source(None, WarmPools(), client, asked()).pool == "ready"


def test_engine_with_a_look_up_is_data_still(client):
    engine = KubernetesEngine()
    choose_source(None, engine._pools, client, asked())
    assert copy.deepcopy(engine) == engine == KubernetesEngine()
    assert hash(engine) == hash(KubernetesEngine())
    assert "pools" not in repr(engine)


@pytest.mark.parametrize("value", [True, 0, "", "a b"])
def test_other_values_are_refused(value):
    words = f"warm_pool={value!r}: give a name .* None for a pool that fits, or False for none"
    with pytest.raises(ConfigurationError, match=words):
        KubernetesEngine(warm_pool=value)


def test_role_allows_what_the_look_up_reads(cluster, client):
    choose_source(None, WarmPools(), client, asked())
    read = {path.removeprefix(PREFIX) for _, path in cluster.requests}
    role = cluster_manifests(NAMESPACE, image=IMAGE, warm_pool="ready")[3]
    listed = {
        rule["resources"][0]
        for rule in role["rules"]
        if rule["verbs"] == ["list"] and rule["apiGroups"] != [""]
    }
    assert listed == read
    without = cluster_manifests(NAMESPACE, image=IMAGE)[3]
    assert all(rule["apiGroups"] == [""] for rule in without["rules"])
