"""Files that share executors stay with few workers, and no worker is idle for that."""

from __future__ import annotations

from typing import Any

import pytest
from file_scheduling import SHARED_IN, SHARERS, SharingFiles

from tools.paths import ROOT

#: Between the files of a folder, files of others.
FILES = [
    name
    for number in range(6)
    for name in (f"{SHARED_IN[0]}test_{number}.py", f"tests/unit/test_{number}.py")
]


class Worker:
    """A worker that takes every file and runs none."""

    shutting_down = False

    def __init__(self, name: str) -> None:
        self.gateway = type("Gateway", (), {"id": name})
        self.files: list[str] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        self.files += [FILES[index] for index in indices]

    def shutdown(self) -> None:
        self.shutting_down = True


@pytest.fixture
def workers(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> list[Worker]:
    """Workers that each got a file after the other until none was left."""
    monkeypatch.setattr(pytestconfig.option, "tx", ["popen"] * 4, raising=False)
    monkeypatch.setattr(pytestconfig.option, "loadscopereorder", False, raising=False)
    scheduler: Any = SharingFiles(pytestconfig)
    made = [Worker(f"gw{number}") for number in range(4)]
    for worker in made:
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, [f"{file}::test_one" for file in FILES])
    scheduler.schedule()
    while scheduler.workqueue:
        for worker in made:
            if scheduler.workqueue:
                scheduler._assign_work_unit(worker)
    return made


def test_folder_stays_with_few_workers(workers: list[Worker]) -> None:
    sharers = [one for one in workers if any(SHARED_IN[0] in file for file in one.files[:2])]
    assert len(sharers) == SHARERS


def test_every_file_runs_once(workers: list[Worker]) -> None:
    assert sorted(file for one in workers for file in one.files) == sorted(FILES)


def test_folders_exist() -> None:
    assert [name for name in SHARED_IN if not (ROOT / name).is_dir()] == []
