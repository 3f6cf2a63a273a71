"""Files that share executors stay with few workers, and no worker is idle for that.

``tests/file_scheduling.py`` uses undocumented parts of xdist. A new xdist that changes any of them
fails here, and not by a worse distribution that nobody notices.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from file_scheduling import SHARED_IN, SharingFiles

from tools.paths import ROOT


class Worker:
    """A worker that notes the tests it was sent, by number."""

    shutting_down = False

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.sent: list[int] = []

    def send_runtest_some(self, numbers: list[int]) -> None:
        self.sent += numbers

    def shutdown(self) -> None:
        self.shutting_down = True


@pytest.fixture
def scheduler(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A scheduler for four workers that keeps the files in their order."""
    monkeypatch.setattr(pytestconfig.option, "tx", ["4*popen"], raising=False)
    monkeypatch.setattr(pytestconfig.option, "loadscopereorder", False, raising=False)
    return SharingFiles(pytestconfig)


def start(scheduler: Any, files: list[str]) -> list[Worker]:
    """Distribute files of three tests each, and return the workers."""
    tests = [f"{file}::test_{number}" for file in files for number in range(3)]
    workers = [Worker(f"gw{number}") for number in range(4)]
    for worker in workers:
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, tests)
    scheduler.schedule()
    return workers


def test_files_of_a_shared_folder_are_left_to_two_workers(scheduler: Any) -> None:
    shared = [f"{SHARED_IN[0]}test_{number}.py" for number in range(4)]
    workers = start(scheduler, [*shared, "tests/unit/test_a.py", "tests/unit/test_b.py"])
    assert [worker.sent for worker in workers] == [
        [0, 1, 2],
        [3, 4, 5],
        [12, 13, 14],
        [15, 16, 17],
    ]


def test_no_worker_is_idle_while_a_shared_folder_has_files(scheduler: Any) -> None:
    workers = start(scheduler, [f"{SHARED_IN[0]}test_{number}.py" for number in range(4)])
    assert all(worker.sent for worker in workers)


def test_every_test_is_sent_once(scheduler: Any) -> None:
    files = [
        name
        for number in range(6)
        for name in (f"{SHARED_IN[0]}test_{number}.py", f"tests/unit/test_{number}.py")
    ]
    workers = start(scheduler, files)
    while scheduler.workqueue:
        for worker in workers:
            if scheduler.workqueue:
                scheduler._assign_work_unit(worker)
    sent = sorted(number for worker in workers for number in worker.sent)
    assert sent == list(range(3 * len(files)))


def test_folders_exist() -> None:
    assert [name for name in SHARED_IN if not (ROOT / name).is_dir()] == []
