"""Watchdog: what it is to clean up goes once its process has ended, however that ended."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from background import eventually

from smolagents_fork.process.watchdog import Watchdog

REMOVE = "smolagents_fork.folders.removal:remove_tree"
PROGRAM = (
    "import sys, time\n"
    "from smolagents_fork.process.watchdog import Watchdog\n"
    f"watchdog = Watchdog({REMOVE!r}, sys.argv[1], 30.0)\n"
    "print('ready', flush=True)\n"
    "time.sleep(600)\n"
)


def test_folder_of_a_killed_process_is_removed(tmp_path: Path):
    folder = tmp_path / "folder"
    folder.mkdir()
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "ready\n"
        assert os.path.isdir(folder)
        owner.kill()
    assert eventually(lambda: not os.path.exists(folder), 60)


def test_clean_end_leaves_the_folder_and_another_removes_it(tmp_path: Path):
    kept, removed = tmp_path / "kept", tmp_path / "removed"
    for folder, clean in ((kept, True), (removed, False)):
        folder.mkdir()
        watchdog = Watchdog(REMOVE, str(folder), 30.0)
        watchdog.close(clean=clean)
        watchdog.close(clean=clean)
    assert eventually(lambda: not removed.exists(), 60)
    assert kept.is_dir()
