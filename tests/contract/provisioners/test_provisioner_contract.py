"""The contract of engines, on real kernels; the page about engines runs it over its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from whole_contract import WHOLE

from smolagents_fork import RayEngine
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.docker.docker_engine import DockerEngine
from smolagents_fork.sandboxes.engine_protocol import Engine
from smolagents_fork.sandboxes.kubernetes.kubernetes_engine import KubernetesEngine
from smolagents_fork.sandboxes.provisioner import ImageSpec
from smolagents_fork.testing import EngineContract, EngineUnderTest

#: An image that the nodes of the kubeconfig's cluster can pull: pods are that cluster's.
_IMAGE = os.environ.get("KUBERNETES_IMAGE", "")
_IS_REAL = bool(_IMAGE or os.environ.get("KUBERNETES_CLUSTER"))
PLACES = [
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("kubernetes", marks=(pytest.mark.docker, pytest.mark.kubernetes)),
]
if WHOLE:  # minutes, and the executors' suite uses it as well
    marks = (pytest.mark.ray, pytest.mark.docker, pytest.mark.limit(1800))
    PLACES.append(pytest.param("ray", marks=marks))


@pytest.fixture(scope="module")
def pods(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ImageSpec]:
    """A cluster or the double of one that ``KUBECONFIG`` names, and an image that it has."""
    from cluster_double import ClusterDouble

    if _IMAGE:
        yield ImageSpec(image=_IMAGE)
        return
    engine = request.getfixturevalue("engine")
    docker = DockerEngine().connect(ContainerOptions())
    image = docker.prepare_image(ImageSpec(), report=lambda _line: None)
    docker.close()
    if _IS_REAL:
        yield ImageSpec(image=image)
        return
    double = ClusterDouble(engine)
    try:
        with pytest.MonkeyPatch.context() as patch:
            config = double.kubeconfig(tmp_path_factory.mktemp("pods") / "kubeconfig")
            patch.setenv("KUBECONFIG", str(config))
            yield ImageSpec(image=image)
    finally:
        double.close()


@pytest.fixture(scope="module", params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[EngineUnderTest]:
    """Yield each engine in turn, with an image that is there."""
    engine: Engine
    image = ImageSpec()
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "ray":
            request.getfixturevalue("engine")
            cluster = request.getfixturevalue("ray_cluster")
            for variable, value in cluster.environment.items():
                patch.setenv(variable, value)
            engine = RayEngine(
                cluster.address, cpus_per_slot=0.25, memory_per_slot="32m", lease_seconds=60
            )
        elif request.param == "docker":
            request.getfixturevalue("engine")
            engine = DockerEngine()
        else:
            image, engine = request.getfixturevalue("pods"), KubernetesEngine()
        # A node of a cluster would reserve them for each pod.
        limits: dict[str, Any] = {"memory": "1g", "cpus": None} if _IS_REAL else {}
        with EngineUnderTest(engine, image, **limits) as under_test:
            yield under_test


class TestEngine(EngineContract):
    """Runs over each engine of the fixture ``place``."""
