"""The cluster as the parts of the benchmark use it: executors there and here, and counts."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from smolagents_fork import DockerExecutor, ProcessExecutor, RayEngine
from smolagents_fork.errors import ForkError
from smolagents_fork.sandboxes.docker.engine import connect
from smolagents_fork.sandboxes.docker.lifetime.labels import CLUSTER_LABEL, NODE_LABEL

from ...ray_cluster.cluster import RayCluster
from ...ray_cluster.processes import alive, descendants
from ...ray_cluster.sharing import using_cluster
from ..base_image import base_image

__all__ = [
    "PATIENCE_SECONDS",
    "BenchCluster",
    "left",
    "pss_bytes",
    "using_bench_cluster",
    "waited",
]

#: Only detects hangs.
PATIENCE_SECONDS = 240.0


def waited(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until ``condition`` is true; tell whether it became true within ``seconds``."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return condition()
        time.sleep(0.02)
    return True


def pss_bytes(pids: set[int]) -> int:
    """Memory of processes in bytes; a page that several share counts once."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) << 10
    return total


class BenchCluster:
    """The cluster of a run.

    Args:
        cluster: that runs.
        docker: docker-py's client.
    """

    def __init__(self, cluster: RayCluster, docker: Any) -> None:
        self.cluster = cluster
        self._docker = docker
        # Executors with an equal reservation share supervisors, and others do not: the last digits
        # of the lease tell reservations apart.
        self._digits = itertools.count(1)

    def new_lease(self) -> float:
        """Return a lease in seconds: the default one, with digits that no other lease has."""
        return 15.0 + next(self._digits) / 1000

    def engine(
        self,
        sandbox: Literal["docker", "process"],
        lease: float,
        slots: int,
    ) -> RayEngine:
        """Return the engine; it reserves little, since idle supervisors keep that for a minute."""
        return RayEngine(
            self.cluster.address,
            sandbox=sandbox,
            slots_per_node=slots,
            lease_seconds=lease,
            cpus_per_slot=0.02,
            memory_per_slot="4m",
        )

    def process(self, lease: float, slots: int = 8) -> ProcessExecutor:
        """Return a process sandbox on the cluster."""
        return ProcessExecutor(
            ["time"],
            engine=self.engine("process", lease, slots),
            startup_timeout_seconds=PATIENCE_SECONDS,
            timeout_seconds=2 * PATIENCE_SECONDS,
        )

    def container(self, lease: float, slots: int = 8) -> DockerExecutor:
        """Return a container on the cluster."""
        return DockerExecutor(
            engine=self.engine("docker", lease, slots),
            startup_timeout_seconds=PATIENCE_SECONDS,
            timeout_seconds=2 * PATIENCE_SECONDS,
        )

    # -- counts --

    def supervisors(self) -> dict[int, str]:
        """Return processes of the supervisors, each with its node."""
        found = {
            pid: node
            for node in self.cluster.nodes
            for pid in self.cluster.processes(node, "SupervisorActor")
        }
        # A child has its parent's command until it runs a program of its own.
        children = {child for pid in found for child in descendants(pid)}
        return {pid: node for pid, node in found.items() if pid not in children}

    def containers(self, node_id: str = "") -> set[str]:
        """Ids of the containers of the cluster's supervisors.

        Args:
            node_id: Ray's id of a node, for those of that node; empty for all.
        """
        labels = [f"{CLUSTER_LABEL}={self.cluster.address}"]
        labels += [f"{NODE_LABEL}={node_id}"] if node_id else []
        wanted = {"label": labels}
        return {one["Id"] for one in self._docker.api.containers(all=True, filters=wanted)}

    def node_ids(self) -> dict[str, str]:
        """Ray's ids of the nodes that are alive, by name."""
        ids = self.cluster.alive()
        addresses = {node: self.cluster.address_of(node) for node in self.cluster.nodes}
        return {node: ids[address] for node, address in addresses.items() if address in ids}

    def node_of(self, pid: int | None) -> str:
        """Return the node of a process sandbox.

        Args:
            pid: of its child process.

        Raises:
            ForkError: no supervisor has this child.
        """
        for supervisor, node in self.supervisors().items():
            if pid in descendants(supervisor):
                return node
        raise ForkError(f"no supervisor has the child process {pid}")

    def sandboxes(self) -> set[int]:
        """Return processes of the supervisors and of all that they have started."""
        found = self.supervisors().keys()
        return {*found, *(child for pid in found for child in descendants(pid))}


def left(bench: BenchCluster, processes: set[int], containers: set[str]) -> int:
    """Count those of the processes and containers that are there now."""
    return sum(map(alive, processes)) + len(containers & bench.containers())


@contextlib.contextmanager
def using_bench_cluster() -> Iterator[BenchCluster]:
    """Start a cluster, with its token in the environment; end it with all it has."""
    docker = connect()
    before = dict(os.environ)
    try:
        base_image(docker)
        DockerExecutor.setup([], progress=lambda _line: None)
        with (
            tempfile.TemporaryDirectory(prefix="bench-ray-") as folder,
            using_cluster(Path(folder)) as cluster,
        ):
            os.environ |= cluster.environment
            yield BenchCluster(cluster, docker)
    finally:
        docker.close()
        os.environ.clear()
        os.environ.update(before)
