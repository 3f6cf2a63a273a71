"""Folders of supervisors: none outlives its supervisor for long."""

from __future__ import annotations

import os
import subprocess
import sys

from background import eventually

from smolagents_fork.ray_cluster.node.watched_folder import WatchedFolder

PROGRAM = (
    "import sys, time\n"
    "from smolagents_fork.ray_cluster.node.watched_folder import WatchedFolder\n"
    "print(WatchedFolder().path, flush=True)\n"
    "time.sleep(600)\n"
)


def test_folder_of_a_killed_process_is_removed():
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        path = owner.stdout.readline().strip()
        assert os.path.isdir(path)
        owner.kill()
    assert eventually(lambda: not os.path.exists(path), 60)


def test_folder_of_a_supervisor_that_ends_is_removed():
    one, other = WatchedFolder(), WatchedFolder()
    one.close()
    assert not os.path.exists(one.path)
    assert os.path.isdir(other.path)
    other.close()
    one.close()
    assert not os.path.exists(other.path)
