"""Comparison of a claimed pod with what was asked for."""

from __future__ import annotations

import copy
import decimal

import pytest

from smolagents_fork.errors import ConfigurationError
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.kubernetes.kubernetes_engine import KubernetesEngine
from smolagents_fork.sandboxes.kubernetes.pod_manifest import cluster_manifests, pod_manifest
from smolagents_fork.sandboxes.kubernetes.sandbox_claims import differences
from smolagents_fork.sandboxes.provisioner import Limits, SandboxSpec

IMAGE = "registry/image:1"


def asked(image=IMAGE, user="1000:1000", lease_seconds=15.0, limits=None, environment=None, **more):
    """Return the pod that an executor asks for, by default one with the default options."""
    spec = SandboxSpec(
        image,
        limits or Limits(),
        environment=environment or {},
        lease_seconds=lease_seconds,
    )
    options = ContainerOptions(user=user)
    manifest = pod_manifest(
        spec, options=options, sandbox="a", token="", max_seconds=60, warm=True, **more
    )
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
        ("spec", "initContainers", [{"name": "first"}]),
        (CONTAINER, "envFrom", [{"secretRef": {"name": "keys"}}]),
        (CONTAINER, "args", ["--more"]),
        (f"{CONTAINER}.securityContext", "privileged", True),
        (f"{CONTAINER}.securityContext.capabilities", "add", ["SYS_ADMIN"]),
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
