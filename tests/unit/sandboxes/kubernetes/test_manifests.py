"""Manifests against Kubernetes' own schemas, their security, and claimed pods against them."""

from __future__ import annotations

import copy
import decimal

import kubernetes_validate
import pytest
import yaml

from smolagents_fork.errors import ConfigurationError
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.kubernetes.kubernetes_engine import KubernetesEngine
from smolagents_fork.sandboxes.kubernetes.pod_manifest import (
    cluster_manifests,
    pod_manifest,
    yaml_of,
)
from smolagents_fork.sandboxes.kubernetes.sandbox_claims import differences
from smolagents_fork.sandboxes.provisioner import Limits, SandboxSpec

#: Oldest and newest release that the extra's client is for.
RELEASES = ("1.30", "1.37")


IMAGE = "registry/image:1"


def manifest_of(
    limits=None,
    *,
    image=IMAGE,
    user="1000:1000",
    lease_seconds=15.0,
    environment=None,
    token="t",
    **more,
):
    """Return the manifest of a pod, by default of one with the default options."""
    spec = SandboxSpec(
        image, limits or Limits(), environment=environment or {}, lease_seconds=lease_seconds
    )
    options = ContainerOptions(user=user)
    return pod_manifest(spec, options=options, sandbox="0a", token=token, max_seconds=60, **more)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    "manifest",
    [
        manifest_of(environment={"ASKED": "for"}),
        manifest_of(runtime_class="gvisor", network=True),
        manifest_of(Limits(None, None, None)),
        manifest_of(warm=True),
    ],
    ids=["default", "runtime class", "without limits", "warm"],
)
def test_pods_are_valid(manifest, release):
    kubernetes_validate.validate(manifest, release, strict=True)


@pytest.mark.parametrize("release", RELEASES)
def test_manifests_of_a_cluster_are_valid(release):
    made = cluster_manifests("agents", image=IMAGE, warm_pool="ready")
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
    spec = manifest_of()["spec"]
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
    assert selected <= manifest_of()["metadata"]["labels"].items()
    assert not selected <= manifest_of(network=True)["metadata"]["labels"].items()


def test_limits_are_in_the_clusters_units():
    limits = Limits(memory="1.5g", cpus=0.25, workdir_size="100m", tmp_size="10m")
    spec = manifest_of(limits)["spec"]
    resources = spec["containers"][0]["resources"]
    assert resources["limits"] == resources["requests"]
    assert resources["limits"]["memory"] == str(3 << 29)
    assert resources["limits"]["cpu"] == "250m"
    sizes = {volume["name"]: volume["emptyDir"]["sizeLimit"] for volume in spec["volumes"]}
    assert sizes == {"work": str(100 << 20), "tmp": str(10 << 20)}


@pytest.mark.parametrize("user", ["root", "0:0", "someone", "", "1000:staff"])
def test_users_are_numbers_and_not_root(user):
    with pytest.raises(ConfigurationError, match="pass numbers"):
        manifest_of(user=user)


def test_yaml_is_the_manifests():
    made = cluster_manifests("agents", image='registry/"image":1', warm_pool="ready")
    assert list(yaml.safe_load_all(yaml_of(made))) == made


def asked(**options):
    """Return the pod that an executor asks a warm pool for."""
    manifest = manifest_of(token="", warm=True, **options)
    del manifest["spec"]["activeDeadlineSeconds"]
    return {"metadata": {"labels": manifest["metadata"]["labels"]}, "spec": manifest["spec"]}


def without_empty_values(value):
    """Return a part of a pod as the API describes it, which omits empty values."""
    if isinstance(value, dict):
        return {
            key: without_empty_values(one)
            for key, one in value.items()
            if one not in (False, "", [])
        }
    return [without_empty_values(one) for one in value] if isinstance(value, list) else value


@pytest.fixture
def pod():
    """Return a pod of the pool that ``setup --print`` writes, as the API describes it."""
    *_, template, _pool = cluster_manifests("namespace", image=IMAGE, warm_pool="ready")
    made = without_empty_values(copy.deepcopy(template["spec"]["podTemplate"]))
    made["spec"] |= {"nodeName": "n", "dnsPolicy": "ClusterFirst", "serviceAccountName": "default"}
    limits = made["spec"]["containers"][0]["resources"]["limits"]
    limits["cpu"], limits["memory"] = "1", "2Gi"
    return made


def places(pod, **options):
    return [text.partition(":")[0] for text in differences(asked(**options), pod)]


def test_pod_of_the_written_template_is_as_asked_for(pod):
    assert list(differences(asked(), pod)) == []


def test_quantities_are_compared_exactly_whatever_the_applications_context(pod):
    with decimal.localcontext() as context:
        context.prec = 3
        assert list(differences(asked(), pod)) == []


CONTAINER = "spec.containers.sandbox"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"image": "registry/image:2"}, [f"{CONTAINER}.image"]),
        (
            {"limits": Limits(memory="3g", cpus=7)},
            [f"{CONTAINER}.resources.{kind}.{name}"
             for kind in ("limits", "requests") for name in ("memory", "cpu")],
        ),
        ({"limits": Limits(workdir_size="1m")}, ["spec.volumes.work.emptyDir.sizeLimit"]),
        ({"user": "1001:1000"}, ["spec.securityContext.runAsUser"]),
        ({"lease_seconds": 7.0}, [f"{CONTAINER}.command"]),
        ({"runtime_class": "gvisor"}, ["spec.runtimeClassName"]),
        ({"network": True}, ["metadata.labels.smolagents-fork/network"]),
        ({"environment": {"KEY": "value"}}, [f"{CONTAINER}.env.KEY.name",
                                             f"{CONTAINER}.env.KEY.value"]),
    ],
)  # fmt: skip
def test_other_options_are_differences(pod, options, expected):
    assert places(pod, **options) == expected


@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        ("spec", "hostIPC", True),
        ("spec", "automountServiceAccountToken", True),
        ("spec", "initContainers", [{"name": "first"}]),
        (CONTAINER, "envFrom", [{"secretRef": {"name": "keys"}}]),
        (CONTAINER, "args", ["--more"]),
        (f"{CONTAINER}.securityContext", "privileged", True),
        (f"{CONTAINER}.securityContext.capabilities", "add", ["SYS_ADMIN"]),
        (f"{CONTAINER}.securityContext.capabilities", "drop", ["NET_RAW"]),
    ],
)
def test_less_confinement_is_a_difference(pod, place, name, value):
    part = pod["spec"]
    for key in place.split(".")[1:]:
        part = part[0] if key == "sandbox" else part[key]
    part[name] = value
    assert places(pod) == [f"{place}.{name}"]


@pytest.mark.parametrize(
    ("place", "entry"),
    [("containers", {"name": "other"}), ("volumes", {"name": "host", "hostPath": {"path": "/"}})],
)
def test_more_entries_are_a_difference(pod, place, entry):
    pod["spec"][place].append(entry)
    words = f"spec.{place}: has {entry['name']}, which was not asked for"
    assert list(differences(asked(), pod)) == [words]


def test_limit_that_was_not_asked_for_is_a_difference(pod):
    kinds = [f"{CONTAINER}.resources.{kind}" for kind in ("limits", "requests")]
    assert places(pod, limits=Limits(cpus=None)) == kinds


@pytest.mark.parametrize("value", [True, False, 0, "", "a b"])
def test_pools_have_names(value):
    with pytest.raises(ConfigurationError, match=f"warm_pool={value!r}: pass a name .* or None"):
        KubernetesEngine(warm_pool=value)
