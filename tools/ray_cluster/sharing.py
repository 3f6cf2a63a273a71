"""One cluster for all who ask with the same folder, in whatever process of a run."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from ..paths import ROOT
from .cluster import NODES, START_SECONDS, RayCluster
from .keeper import FAILED, READY, USERS, locked, users
from .processes import alive

__all__ = ["using_cluster"]


def _start(folder: Path, size: int) -> None:
    """Start a keeper and wait until its cluster is ready. The caller has the lock."""
    (folder / FAILED).unlink(missing_ok=True)
    with (folder / "keeper.log").open("w") as log:
        subprocess.run(
            [sys.executable, "-m", "tools.ray_cluster.keeper", str(folder), str(size)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            check=True,
            timeout=START_SECONDS,
        )
    deadline = time.monotonic() + START_SECONDS
    while not (folder / READY).exists():
        if (folder / FAILED).exists():
            raise AssertionError(f"the cluster did not start: {(folder / FAILED).read_text()}")
        assert time.monotonic() < deadline, (folder / "keeper.log").read_text()
        time.sleep(0.1)


def _cluster(folder: Path) -> RayCluster | None:
    """Return the cluster, if it and its keeper are there."""
    with contextlib.suppress(FileNotFoundError):
        cluster = RayCluster.load((folder / READY).read_text())
        if alive(cluster.pid):
            return cluster
    return None


@contextlib.contextmanager
def using_cluster(folder: Path, size: int = len(NODES)) -> Iterator[RayCluster]:
    """Have a cluster: the first user starts it, the last one waits until it is removed.

    Args:
        folder: of the run; users with the same folder have the same cluster.
        size: number of nodes that run sandboxes, of which the first user's counts.
    """
    (folder / USERS).mkdir(parents=True, exist_ok=True)
    mine = folder / USERS / str(os.getpid())
    with locked(folder):
        mine.touch()
        cluster = _cluster(folder)
        if cluster is None:
            (folder / READY).unlink(missing_ok=True)
            try:
                _start(folder, size)
            except AssertionError:  # every test that needs the cluster would fail
                _start(folder, size)
            cluster = _cluster(folder)
        assert cluster is not None, (folder / "keeper.log").read_text()
    try:
        yield cluster
    finally:
        with locked(folder):
            mine.unlink(missing_ok=True)
            last = not users(folder)
        deadline = time.monotonic() + START_SECONDS
        while last and alive(cluster.pid):
            assert time.monotonic() < deadline, (folder / "keeper.log").read_text()
            time.sleep(0.05)
