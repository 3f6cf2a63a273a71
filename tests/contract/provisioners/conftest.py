"""Provisioners that the contract suite runs over."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from process_provisioner import ProcessEngine
from whole_contract import WHOLE

from smolagents_fork import RayEngine
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.docker.docker_engine import DockerEngine
from smolagents_fork.sandboxes.engine_protocol import Engine
from smolagents_fork.sandboxes.kubernetes.kubernetes_engine import KubernetesEngine
from smolagents_fork.sandboxes.provisioner import (
    ImageSpec,
    Limits,
    Provisioner,
    Sandbox,
    SandboxSpec,
)
from tools.paths import ROOT


@dataclass
class Place:
    """A provisioner, and valid specifications for it.

    Attributes:
        engine: that is connected to.
        provisioner: the test's own.
        image: of sandboxes.
        spec: of a sandbox.
    """

    engine: Engine
    provisioner: Provisioner
    image: ImageSpec
    spec: SandboxSpec

    def start(self, **changes: Any) -> Sandbox:
        """Start a sandbox that is removed after the test."""
        return self.provisioner.start(replace(self.spec, **changes))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out two of three tests of sessions in pods.

    ``test_provisioner_contract.py`` has all that a session asks of a pod. ``WHOLE_CONTRACT=1``
    leaves out nothing.
    """
    in_pods = [
        item
        for item in items
        if item.path.name == "test_session_over_provisioners.py"
        and item.callspec.params.get("connected") == "kubernetes"
    ]
    left_out = {id(item) for item in (() if WHOLE else in_pods) if in_pods.index(item) % 3}
    config.hook.pytest_deselected(items=[item for item in items if id(item) in left_out])
    items[:] = [item for item in items if id(item) not in left_out]


@pytest.fixture(scope="session")
def kernel_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with the image's packages, installed once for all workers of a run."""
    requirements = ROOT / "docker" / "jupyter" / "requirements.txt"
    base = tmp_path_factory.getbasetemp()
    if base.name.startswith("popen-"):  # a worker's
        base = base.parent
    folder = base / f"kernel-{hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]}"
    python = folder / "bin" / "python"
    with (base / "kernel.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            uv = [sys.executable, "-m", "uv"]
            install = [*uv, "pip", "install", "--python", str(python), "--no-deps"]
            for command in (
                [*uv, "venv", "--clear", "--python", sys.executable, str(folder)],
                [*install, "--require-hashes", "-r", str(requirements)],
            ):
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                assert done.returncode == 0, done.stderr
            (folder / "complete").touch()
    return python


#: An image that the nodes of the kubeconfig's cluster can pull: pods are that cluster's.
_IMAGE = os.environ.get("KUBERNETES_IMAGE", "")
_IS_REAL = bool(_IMAGE or os.environ.get("KUBERNETES_CLUSTER"))
PLACES = [
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("process", marks=pytest.mark.network),
    pytest.param("kubernetes", marks=pytest.mark.docker),
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
def connected(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """Yield each place in turn, with an image that is there."""
    engine: Engine
    image, workdir = ImageSpec(), "/workspace"
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
        elif request.param == "kubernetes":
            image, engine = request.getfixturevalue("pods"), KubernetesEngine()
        else:
            python = request.getfixturevalue("kernel_python")
            image, engine = ImageSpec(image=str(python)), ProcessEngine()
            workdir = str(tmp_path_factory.mktemp("process") / "work")
        provisioner = engine.connect(ContainerOptions())
        name = provisioner.prepare_image(image, report=lambda _line: None)
        # A node of two processors would reserve one for each pod.
        limits = Limits(memory="1500m", **({"cpus": None} if _IS_REAL else {}))
        # Of a module: on a busy machine, a lease of a few seconds ends between its tests.
        spec = SandboxSpec(name, limits, workdir=workdir, lease_seconds=60)
        yield Place(engine, provisioner, image, spec)
        assert provisioner.wait_until_removed(120)
        provisioner.close()


@pytest.fixture
def place(connected: Place, tmp_path: Path) -> Iterator[Place]:
    """Yield each place in turn, and remove the sandboxes of the test."""
    provisioner, spec = connected.provisioner, connected.spec
    if isinstance(connected.engine, ProcessEngine):
        spec = replace(spec, workdir=str(tmp_path / "work"))
    started: list[Sandbox] = []
    start = provisioner.start

    def noted(spec: SandboxSpec) -> Sandbox:
        made = start(spec)
        started.append(made)
        return made

    with pytest.MonkeyPatch.context() as patch:
        # To remove every sandbox, also those that a session starts.
        patch.setattr(provisioner, "start", noted)
        yield replace(connected, spec=spec)
    for sandbox in started:
        sandbox.remove()
    assert provisioner.wait_until_removed(120)


@pytest.fixture(scope="module")
def shared(connected: Place) -> Iterator[Sandbox]:
    """One sandbox at each place, for tests that leave it running."""
    sandbox = connected.start()
    yield sandbox
    sandbox.remove()
