"""The run of all tests: failed ones run once more, alone, and a second failure counts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.paths import ROOT
from tools.whole_run import MOST_REPEATED, OwnTests

PASSES = "def test_passes():\n    pass\n"
FAILS = """
import pytest

@pytest.mark.parametrize("number", range({}))
def test_fails(number):
    assert False
"""
# Fails when another process runs tests beside it.
FAILS_BESIDE_OTHERS = """
import os

def test_needs_quiet():
    assert "PYTEST_XDIST_WORKER" not in os.environ
"""
ENDS_ITS_WORKER = "import os\n\ndef test_ends_its_worker():\n    os._exit(1)\n"


def own_tests(folder: Path, *texts: str) -> OwnTests:
    """Make a project with a test file for each text."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    for number, text in enumerate(texts):
        (folder / f"test_number_{number}.py").write_text(text)
    reports = folder / "reports"
    reports.mkdir()
    return OwnTests(folder, reports, ("-n", "1"))


@pytest.mark.slow
def test_test_that_passes_alone_is_printed_as_unstable(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tests = own_tests(tmp_path, PASSES, FAILS_BESIDE_OTHERS)
    assert tests.run()
    said = (tmp_path / "reports" / "unstable.txt").read_text().split()
    assert said == ["test_number_1.py::test_needs_quiet"]
    assert "UNSTABLE" in capfd.readouterr().out


@pytest.mark.slow
def test_test_that_fails_alone_too_fails_the_run(tmp_path: Path) -> None:
    tests = own_tests(tmp_path, PASSES, FAILS_BESIDE_OTHERS, FAILS.format(1))
    assert not tests.run()
    assert not (tmp_path / "reports" / "unstable.txt").exists()


@pytest.mark.slow
def test_many_failures_are_not_repeated(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tests = own_tests(tmp_path, FAILS.format(MOST_REPEATED + 1))
    assert not tests.run()
    assert "once more" not in capfd.readouterr().out


@pytest.mark.slow
def test_passed_tests_run_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert own_tests(tmp_path, PASSES).run()
    assert "once more" not in capfd.readouterr().out


@pytest.mark.slow
def test_run_that_a_dead_worker_ended_is_not_repeated(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tests = own_tests(tmp_path, PASSES, ENDS_ITS_WORKER)
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    assert not tests.run()
    assert "once more" not in capfd.readouterr().out


@pytest.mark.slow
def test_file_that_cannot_be_imported_fails_the_run(tmp_path: Path) -> None:
    assert not own_tests(tmp_path, PASSES, "import nothing_of_that_name\n").run()
