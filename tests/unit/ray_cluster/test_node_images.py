"""Images on the nodes of a cluster: prepared on each, and compared.

The placer is doubled here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from doubled_placer import STARTING, DoubledPlacer, Node, cluster_of

from smolagents_fork.errors import EngineUnavailableError, ExecutorStartError, ImageBuildError
from smolagents_fork.ray_cluster import docker_node, remote_provisioner
from smolagents_fork.ray_cluster.plain_data import Reservation
from smolagents_fork.ray_cluster.remote_provisioner import RemoteProvisioner
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.provisioner import ImageSpec, SandboxSpec, SandboxStatus

_RESERVATION = Reservation("docker", 4, 1.0, 0, 15.0)


class DoubledEngine:
    """The Docker engine of a node: its images by name, with their digests."""

    def __init__(self) -> None:
        self.digests: dict[str, str] = {}
        self.prepared: list[tuple[str, str]] = []
        self.fails: set[str] = set()

    def prepare_image(self, spec: ImageSpec, *, report: Any, rebuild: bool = False) -> str:
        if STARTING.node in self.fails:
            raise ImageBuildError("pip found no numpy")
        name = spec.image or "built:" + "-".join(spec.requirements)
        self.prepared.append((STARTING.node, name))
        return name

    def image_digest(self, image: str) -> str:
        return self.digests.get(STARTING.node, "sha256:same")

    def start(self, spec: SandboxSpec) -> Any:
        container = MagicMock(id="0123456789ab", gateway_token="token")
        container.spec, container.status.return_value = spec, SandboxStatus("running")
        return container

    def wait_until_removed(self, seconds: float) -> bool:
        return True

    def close(self) -> None:
        pass


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> DoubledEngine:
    made = DoubledEngine()
    monkeypatch.setattr(docker_node, "DockerProvisioner", lambda _options: made)
    return made


@pytest.fixture
def nodes() -> Iterator[list[Node]]:
    made = [Node("docker", "node1"), Node("docker", "node2")]
    yield made
    for node in made:
        node.close()


@pytest.fixture
def provisioner(nodes: list[Node], monkeypatch: pytest.MonkeyPatch) -> RemoteProvisioner:
    monkeypatch.setattr(remote_provisioner, "_images", {})
    cluster = cluster_of(monkeypatch, DoubledPlacer(*nodes))
    options = ContainerOptions()
    return RemoteProvisioner("here", cluster, options, lambda *_limits: _RESERVATION, 15.0, "")


def prepare(provisioner: RemoteProvisioner, **spec: Any) -> str:
    return provisioner.prepare_image(ImageSpec(**spec), report=lambda _line: None)


def test_image_is_prepared_on_each_node(engine: DoubledEngine, provisioner: RemoteProvisioner):
    name = prepare(provisioner, requirements=("numpy",))
    assert prepare(provisioner, requirements=("numpy",)) == name == "built:numpy"
    for _ in range(4):
        container = provisioner.start(SandboxSpec(name, start_seconds=7.0))
        assert container.status().running
    # A start may build an image, for as long as that takes; it does not wait so long for a slot.
    placer: Any = provisioner._cluster._supervisors.placer
    assert [seconds <= 7.0 for seconds in placer.creation_seconds] == [False, True]
    assert set(engine.prepared) == {("node1", name), ("node2", name)}


def test_other_digest_on_a_node_is_said(engine: DoubledEngine, provisioner: RemoteProvisioner):
    engine.digests.update(node1="sha256:one", node2="sha256:two")
    name = prepare(provisioner, image="mine:1")
    with pytest.raises(ExecutorStartError) as caught:
        provisioner.start(SandboxSpec(name))
    assert str(caught.value) == (
        "node 127.0.0.1 (node2): image 'mine:1' is sha256:two here and sha256:one on another node: "
        "load the same image on every node"
    )


def test_built_images_are_named_by_their_content(
    engine: DoubledEngine, provisioner: RemoteProvisioner
):
    engine.digests.update(node1="sha256:one", node2="sha256:two")
    name = prepare(provisioner, requirements=("numpy",))
    for _ in range(2):
        assert provisioner.start(SandboxSpec(name)).status().running


def test_image_that_fails_on_one_node_is_an_error(
    engine: DoubledEngine, provisioner: RemoteProvisioner
):
    engine.fails.add("node2")
    name = prepare(provisioner, requirements=("numpy",))
    with pytest.raises(ImageBuildError, match=r"^node 127\.0\.0\.1 \(node2\): pip found no numpy"):
        provisioner.start(SandboxSpec(name))


@pytest.mark.parametrize("rebuild", [False, True])
def test_setup_prepares_every_node(
    engine: DoubledEngine, provisioner: RemoteProvisioner, rebuild: bool
):
    lines: list[str] = []
    spec = ImageSpec(requirements=("numpy",))
    for _ in range(2):
        name = provisioner.prepare_on_all_nodes(spec, report=lines.append, rebuild=rebuild)
    assert name == "built:numpy"
    prepared = [("node1", name), ("node2", name)]
    assert sorted(engine.prepared) == sorted(prepared * 2)
    assert lines[:3] == [
        "==> a node of the cluster prepares the image",
        "==> node node1 has the image",
        "==> node node2 has the image",
    ]


def test_setup_reports_nodes_that_fail(engine: DoubledEngine, provisioner: RemoteProvisioner):
    engine.fails.add("node2")
    lines: list[str] = []
    provisioner.prepare_on_all_nodes(ImageSpec(), report=lines.append)
    assert lines[-1] == ("==> not on every node: node 127.0.0.1 (node2): pip found no numpy")


def test_node_without_docker_says_what_to_do(
    provisioner: RemoteProvisioner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(EngineUnavailableError) as caught:
        prepare(provisioner, image="mine:1")
    text = str(caught.value)
    assert text.startswith("node 127.0.0.1 (node1): no Docker engine answers (")
    assert f"{tmp_path}/none.sock" in text
    assert text.endswith("start one there, or pass RayEngine(sandbox='process')")
