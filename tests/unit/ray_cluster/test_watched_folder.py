"""Folders of supervisors: none outlives its supervisor for long."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from background import eventually

from smolagents_fork.ray_cluster.node import watched_folder
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


def test_stale_folder_is_removed_and_a_used_one_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(watched_folder, "_NEW", 0.0)
    stale = tmp_path / f"{watched_folder.PREFIX}stale"
    (stale / "inside").mkdir(parents=True)
    used = WatchedFolder()
    assert not stale.exists()
    other = WatchedFolder()
    assert os.path.isdir(used.path)
    used.close()
    other.close()
    used.close()
    assert list(tmp_path.iterdir()) == []
