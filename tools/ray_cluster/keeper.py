"""The process that has a cluster: it ends the cluster when no user of it lives.

A run that is killed leaves nothing for longer than a second or two. Started by :mod:`.sharing`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from . import network
from .cluster import RayCluster, remove_stale
from .processes import alive

__all__ = ["FAILED", "READY", "USERS", "keep", "locked", "users"]

#: Files of the folder by which users and keeper know of each other.
READY, FAILED, USERS = "ready.json", "failed.txt", "users"
_LOOK_SECONDS = 0.5


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Have the folder alone."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def users(folder: Path) -> list[int]:
    """Return the processes that use the cluster."""
    return [int(path.name) for path in (folder / USERS).iterdir() if alive(int(path.name))]


def _stop(*_arguments: object) -> None:
    raise SystemExit


def _wait(folder: Path) -> None:
    """Return when there is no user any more."""
    while True:
        time.sleep(_LOOK_SECONDS)
        if not folder.exists():
            return
        if not users(folder):
            with locked(folder):
                if not users(folder):
                    (folder / READY).unlink(missing_ok=True)
                    return


def keep(folder: Path, size: int) -> None:
    """Start a cluster, describe it in ``folder``, and remove it after its last use.

    Args:
        folder: of the cluster's users.
        size: number of nodes that run sandboxes.
    """
    signal.signal(signal.SIGTERM, _stop)
    try:
        remove_stale()
        cluster = RayCluster.create(namespaces=not network.missing(), size=size)
    except BaseException:
        (folder / FAILED).write_text(traceback.format_exc())
        raise
    try:
        written = folder / f"{READY}.new"
        written.write_text(cluster.dump())
        written.replace(folder / READY)
        _wait(folder)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        cluster.remove()


if __name__ == "__main__":
    if os.fork() == 0:
        os.setsid()
        keep(Path(sys.argv[1]), int(sys.argv[2]))
