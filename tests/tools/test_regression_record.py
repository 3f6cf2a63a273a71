"""Pristine's recorded outcomes: they stand only for the conditions they were recorded under."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from buildsys import lock as upstream_lock
from tools.junit import Outcome
from tools.paths import ROOT
from tools.regression import suite
from tools.regression.causes import UNEXPLAINED, classify
from tools.regression.environments import Environment
from tools.regression.record import changed_outcomes, conditions, read_record, write_record
from tools.regression.settings import RECORDS
from tools.uv import Uv

PASSED = Outcome("passed")
OUTCOMES = {
    "tests/test_a.py::test_passes": PASSED,
    "tests/test_a.py::test_skipped": Outcome("skipped", "requires macOS"),
    "tests/test_a.py::test_fails": Outcome("failed", "", "/some/path.py: No module named 'mlx'"),
}


@pytest.fixture
def wanted(tmp_path: Path) -> dict[str, str]:
    sdist = tmp_path / "upstream.tar.gz"
    sdist.write_bytes(b"tests")
    return conditions("1.26.0", sdist, "rich==14.0\n")


def test_record_gives_back_outcomes_with_causes_and_without_paths(
    wanted: dict[str, str], tmp_path: Path
) -> None:
    path = write_record(wanted, OUTCOMES, tmp_path / "records")
    found = read_record(wanted, tmp_path / "records")
    assert found is not None
    assert {test: one.status for test, one in found.items()} == {
        test: one.status for test, one in OUTCOMES.items()
    }
    assert found["tests/test_a.py::test_skipped"].message == "requires macOS"
    assert classify(found["tests/test_a.py::test_fails"]).name == "absent package"
    assert "/some/path.py" not in path.read_text("utf-8")


def test_other_packages_have_no_record(wanted: dict[str, str], tmp_path: Path) -> None:
    records = tmp_path / "records"
    assert read_record(wanted, records) is None
    write_record(wanted, OUTCOMES, records)
    other = conditions("1.26.0", tmp_path / "upstream.tar.gz", "rich==14.1\n")
    assert read_record(other, records) is None
    (tmp_path / "upstream.tar.gz").write_bytes(b"other tests")
    other = conditions("1.26.0", tmp_path / "upstream.tar.gz", "rich==14.0\n")
    assert read_record(other, records) is None


def test_changed_outcomes_are_sentences() -> None:
    new = {
        "tests/test_a.py::test_passes": Outcome("failed"),
        "tests/test_a.py::test_skipped": Outcome("skipped", "other words"),
        "tests/test_a.py::test_new": Outcome("passed"),
    }
    assert changed_outcomes(OUTCOMES, new) == [
        "tests/test_a.py::test_passes: recorded as passed, now failed",
        "tests/test_a.py::test_fails: recorded as failed, now missing",
        "tests/test_a.py::test_new: recorded as missing, now passed",
    ]


class BusyMachine:
    """Runs one test, which fails on pristine's side for the load, and passes alone."""

    def __init__(self, *_: object) -> None: ...

    def run_pristine(self, _: object) -> dict[str, Outcome]:
        return {"tests/test_a.py::test_a": Outcome("failed"), "tests/test_a.py::test_b": PASSED}

    def run_fork(self, _: object) -> dict[str, Outcome]:
        names = "test_a", "test_b", "test_of_the_fork"
        return {f"tests/test_a.py::{name}": PASSED for name in names}

    def run_alone(self, *_: object) -> tuple[Outcome, Outcome]:
        return PASSED, PASSED


def test_record_has_the_outcomes_of_tests_that_ran_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sdist = tmp_path / "upstream.tar.gz"
    sdist.write_bytes(b"tests")
    environment = Environment(Uv(), tmp_path, [], {}, [])
    recorded: dict[str, Outcome] = {}
    replaced = {
        "_release_files": [sdist, sdist],
        "_unpack_tests": tmp_path,
        "wheel_metadata": ("smolagents", "1.0", set[str]()),
        "build_environment": environment,
    }
    for name, value in replaced.items():
        monkeypatch.setattr(suite, name, lambda *_, value=value, **__: value)
    monkeypatch.setattr(suite, "Runner", BusyMachine)
    monkeypatch.setattr(suite, "write_record", lambda _, outcomes: recorded.update(outcomes))
    suite.run(fork_wheel=sdist, record=True, folder=tmp_path, console=Console(quiet=True))
    assert recorded == dict.fromkeys(["tests/test_a.py::test_a", "tests/test_a.py::test_b"], PASSED)


@pytest.mark.parametrize("path", sorted(RECORDS.glob("*.json")), ids=lambda path: path.stem)
def test_records_are_of_the_locked_release(path: Path) -> None:
    recorded = json.loads(path.read_text("utf-8"))["conditions"]
    lock = upstream_lock.load(ROOT / "upstream.lock")
    assert (recorded["release"], recorded["sdist"]) == (lock.version, lock.sdist.sha256)
    outcomes = read_record(recorded)
    assert outcomes is not None
    failed = [one for one in outcomes.values() if one.status in ("failed", "error")]
    assert UNEXPLAINED not in map(classify, failed)
