"""Sandboxes claimed from a warm pool, whose controller is doubled."""

from __future__ import annotations

import copy

import pytest
from background import eventually

from smolagents_fork import KubernetesEngine
from smolagents_fork.deadline import Deadline
from smolagents_fork.errors import ConfigurationError, ExecutorError, ExecutorStartError
from smolagents_fork.sandboxes.kubernetes.api_client import ClusterClient
from smolagents_fork.sandboxes.kubernetes.pod_manifest import cluster_manifests
from smolagents_fork.sandboxes.kubernetes.sandbox_claims import delete_claim

POD_NAME = "agents.x-k8s.io/pod-name"


class Controller:
    """Hands out pods that were made from the template that ``setup --print`` writes."""

    def __init__(self, cluster, image):
        self.cluster = cluster
        *_, template, _pool = cluster_manifests("x", image=image, warm_pool="ready")
        self.template = template["spec"]["podTemplate"]
        self.claims = []
        self.hands_out = True
        cluster.objects = {
            "sandboxclaims": {},
            "sandboxes": {},
        }
        cluster.created = self.changed

    def fill(self, name="warm-1"):
        manifest = copy.deepcopy(self.template) | {"apiVersion": "v1", "kind": "Pod"}
        manifest["metadata"] = {**manifest["metadata"], "name": name}
        self.cluster.add(manifest)
        pod = self.cluster.pods[name]
        assert eventually(lambda: self.cluster.described(pod)["status"]["phase"] == "Running")

    def changed(self, plural, found):
        if plural == "-sandboxclaims":
            for name in list(self.cluster.objects["sandboxes"]):
                del self.cluster.objects["sandboxes"][name]
                self.cluster.remove("warm-1")
        elif plural == "sandboxclaims":
            self.claims.append(found)
            condition = {"type": "Ready", "status": "False", "reason": "PoolEmpty", "message": "0"}
            added = found["spec"]["additionalPodMetadata"]
            if "labels" in added:
                # The published controller's rule for labels of other domains than its own list.
                condition["reason"] = "InvalidMetadata"
            elif self.hands_out:
                pod = self.cluster.pods["warm-1"].manifest["metadata"]
                pod["annotations"] = {**pod.get("annotations", {}), **added["annotations"]}
                sandbox = {"metadata": {"name": "s-1", "annotations": {POD_NAME: "warm-1"}}}
                self.cluster.objects["sandboxes"]["s-1"] = sandbox
                condition["status"] = "True"
            found["status"] = {"conditions": [condition], "sandbox": {"name": "s-1"}}


@pytest.fixture
def controller(cluster, image):
    made = Controller(cluster, image)
    made.fill()
    return made


@pytest.fixture
def engine_of_pool():
    return KubernetesEngine(warm_pool="ready")


def test_claimed_pod_runs_code_and_is_given_up(make, cluster, controller, engine_of_pool):
    executor = make(engine=engine_of_pool)
    assert executor("1 + 1").output == 2
    (claim,) = controller.claims
    assert claim["spec"]["warmPoolRef"] == {"name": "ready"}
    assert claim["spec"]["lifecycle"]["shutdownPolicy"] == "Delete"
    assert list(cluster.pods) == ["warm-1"]
    executor.delete()
    assert (cluster.pods, cluster.objects["sandboxclaims"]) == ({}, {})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"memory": "3g"}, "limits.memory: asked for '3221225472', has '2147483648'"),
        ({"environment": {"A": "b"}}, "env.A.value: asked for 'b', has None"),
        ({"lease_seconds": 7}, "command: asked for .*has"),
    ],
)
def test_pod_that_differs_is_an_error_with_both_values(
    make, cluster, controller, engine_of_pool, options, words
):
    with pytest.raises(ConfigurationError, match=words):
        make(engine=engine_of_pool, **options)
    assert eventually(lambda: not cluster.objects["sandboxclaims"])


def test_pool_that_gives_nothing_is_named(make, cluster, controller, engine_of_pool):
    controller.hands_out = False
    with pytest.raises(
        ExecutorStartError,
        match=r"warm_pool='ready' gave no sandbox in 1 s: PoolEmpty: 0; a longer startup_t",
    ):
        make(engine=engine_of_pool, startup_timeout_seconds=1)
    assert eventually(lambda: not cluster.objects["sandboxclaims"])


def test_cluster_without_agent_sandbox_is_named(make, cluster, engine_of_pool):
    with pytest.raises(ExecutorStartError, match="install kubernetes-sigs/agent-sandbox"):
        make(engine=engine_of_pool)


def test_claim_that_stays_is_an_error(cluster, controller):
    claims = cluster.objects["sandboxclaims"]
    claims["kept"] = {"metadata": {"name": "kept", "finalizers": ["example.org/kept"]}}
    client = ClusterClient(None, None)
    with pytest.raises(ExecutorError, match=r"claim kept .* still exists 2 s after its deletion"):
        delete_claim(client, "kept", Deadline(2))
    del claims["kept"]["metadata"]["finalizers"]
    delete_claim(client, "kept", Deadline(60))
    assert claims == {}
    delete_claim(client, "kept", Deadline(60))
