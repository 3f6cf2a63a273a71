"""Manifests against Kubernetes' own schemas, strictly, and their pod security."""

from __future__ import annotations

import kubernetes_validate
import pytest
import yaml

from smolagents_fork.errors import ConfigurationError
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.kubernetes.pod_manifest import (
    cluster_manifests,
    pod_manifest,
    yaml_of,
)
from smolagents_fork.sandboxes.provisioner import Limits, SandboxSpec

#: Oldest and newest release that the extra's client is for.
RELEASES = ("1.30", "1.37")


def pod(limits: Limits | None = None, **options):
    spec = SandboxSpec("registry/image:1", limits or Limits(), environment={"ASKED": "for"})
    return pod_manifest(
        spec,
        options=ContainerOptions(),
        sandbox="0123456789ab",
        token="t",
        max_seconds=60.0,
        **options,
    )


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    "manifest",
    [
        pod(),
        pod(runtime_class="gvisor", network=True),
        pod(Limits(None, None, None)),
        pod(warm=True),
    ],
    ids=["default", "runtime class", "without limits", "warm"],
)
def test_pods_are_valid(manifest, release):
    kubernetes_validate.validate(manifest, release, strict=True)


@pytest.mark.parametrize("release", RELEASES)
def test_manifests_of_a_cluster_are_valid(release):
    made = cluster_manifests("agents", image="registry/image:1", warm_pool="ready")
    known = [one for one in made if "agents.x-k8s.io" not in one["apiVersion"]]
    assert [one["kind"] for one in made] == [
        "Namespace",
        "NetworkPolicy",
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "SandboxTemplate",
        "SandboxWarmPool",
    ]
    for manifest in known:
        kubernetes_validate.validate(manifest, release, strict=True)


def test_pod_security_is_restricted():
    """The rules of the standard "restricted", and no token or service of the cluster inside."""
    spec = pod()["spec"]
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"], "add": []},
    }
    assert {next(iter(set(volume) - {"name"})) for volume in spec["volumes"]} == {"emptyDir"}
    assert not any(spec[name] for name in ("hostNetwork", "hostPID", "hostIPC"))
    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False
    assert spec["restartPolicy"] == "Never"
    assert spec["activeDeadlineSeconds"] == 60


def test_policy_selects_pods_without_a_network_and_denies_all():
    policy = cluster_manifests("agents", image="")[1]["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert not {"ingress", "egress"} & set(policy)
    selected = policy["podSelector"]["matchLabels"].items()
    assert selected <= pod()["metadata"]["labels"].items()
    assert not selected <= pod(network=True)["metadata"]["labels"].items()


def test_limits_are_in_the_clusters_units():
    limits = Limits(memory="1.5g", cpus=0.25, workdir_size="100m", tmp_size="10m")
    spec = pod(limits)["spec"]
    resources = spec["containers"][0]["resources"]
    assert resources["limits"] == resources["requests"]
    assert resources["limits"]["memory"] == str(3 << 29)
    assert resources["limits"]["cpu"] == "250m"
    sizes = {volume["name"]: volume["emptyDir"]["sizeLimit"] for volume in spec["volumes"]}
    assert sizes == {"work": str(100 << 20), "tmp": str(10 << 20)}


@pytest.mark.parametrize("user", ["root", "0:0", "someone", "", "1000:staff"])
def test_users_are_numbers_and_not_root(user):
    with pytest.raises(ConfigurationError, match="pass numbers"):
        pod_manifest(
            SandboxSpec("i"),
            options=ContainerOptions(user=user),
            sandbox="a",
            token="t",
            max_seconds=1.0,
        )


def test_yaml_is_the_manifests():
    made = cluster_manifests("agents", image='registry/"image":1', warm_pool="ready")
    assert list(yaml.safe_load_all(yaml_of(made))) == made
