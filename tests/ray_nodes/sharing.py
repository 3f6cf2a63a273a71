"""One cluster for all who ask with the same folder, in whatever process of a run.

The first user starts a process of its own, the keeper, which has the cluster. A user has a shared
lock on a file of the folder, which the system releases when its process ends. The keeper waits for
the exclusive one and then removes the cluster, so a run that is killed leaves nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock

from . import network
from .cluster import NODES, START_SECONDS, RayCluster, remove_stale
from .processes import alive

__all__ = ["using_cluster"]

# Files of the folder: the cluster's description, the keeper's error, the locks of the users, and
# the lock of what is done with the others.
_READY, _FAILED, _USERS, _LOCK = "ready.json", "failed.txt", "users", "lock"


@contextlib.contextmanager
def using_cluster(folder: Path, size: int = len(NODES)) -> Iterator[RayCluster]:
    """Have a cluster: the first user starts it, the last one waits until it is removed.

    A process uses a folder once at a time: its locks on a file are one.

    Args:
        folder: of the run; users with the same folder have the same cluster.
        size: number of nodes that run sandboxes, of which the first user's counts.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _USERS).open("a+") as users:
        with FileLock(folder / _LOCK):
            fcntl.lockf(users, fcntl.LOCK_SH)  # waits while a keeper removes its cluster
            cluster = _cluster(folder)
            if cluster is None:
                try:
                    cluster = _start(folder, size)
                except AssertionError:  # every test that needs the cluster would fail
                    cluster = _start(folder, size)
        try:
            yield cluster
        finally:
            with FileLock(folder / _LOCK):
                is_last = _is_only_user(users.fileno())
                users.close()
                deadline = time.monotonic() + START_SECONDS
                while is_last and alive(cluster.pid):
                    assert time.monotonic() < deadline, (folder / "keeper.log").read_text()
                    time.sleep(0.05)


def _is_only_user(users: int) -> bool:
    try:
        fcntl.lockf(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _cluster(folder: Path) -> RayCluster | None:
    """Return the cluster, if it and its keeper are there."""
    with contextlib.suppress(FileNotFoundError):
        cluster = RayCluster.load((folder / _READY).read_text())
        if alive(cluster.pid):
            return cluster
    return None


def _start(folder: Path, size: int) -> RayCluster:
    """Start a keeper and wait until its cluster is ready. The caller has the lock."""
    for name in (_READY, _FAILED):
        (folder / name).unlink(missing_ok=True)
    with (folder / "keeper.log").open("w") as log:
        subprocess.run(
            [sys.executable, "-m", __name__, str(folder), str(size)],
            cwd=Path(__file__).parents[1],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            check=True,
            timeout=START_SECONDS,
        )
    deadline = time.monotonic() + START_SECONDS
    while (cluster := _cluster(folder)) is None:
        if (folder / _FAILED).exists():
            raise AssertionError(f"the cluster did not start: {(folder / _FAILED).read_text()}")
        assert time.monotonic() < deadline, (folder / "keeper.log").read_text()
        time.sleep(0.1)
    return cluster


def _keep(folder: Path, size: int) -> None:
    """Start a cluster, describe it in ``folder``, and remove it after its last use."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        remove_stale()
        cluster = RayCluster.create(namespaces=not network.missing(), size=size)
    except BaseException:
        (folder / _FAILED).write_text(traceback.format_exc())
        raise
    with (folder / _USERS).open("a+") as users:
        try:
            written = folder / f"{_READY}.new"
            written.write_text(cluster.dump())
            written.replace(folder / _READY)
            fcntl.lockf(users, fcntl.LOCK_EX)  # is granted when no user is left
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            cluster.remove()


if __name__ == "__main__":
    if os.fork() == 0:
        os.setsid()
        _keep(Path(sys.argv[1]), int(sys.argv[2]))
