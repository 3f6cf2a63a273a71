"""The run of all tests: failed ones run once more, alone, and a second failure counts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.command import Command
from tools.errors import CommandError
from tools.paths import ROOT
from tools.run_all import __main__ as run_all
from tools.run_all.own_tests import MOST_REPEATED, OwnTests

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
BROAD = "import pytest\n\n@pytest.mark.broad\ndef test_broad():\n    pass\n"
CRASHES = "import os\n\ndef test_crashes():\n    os.abort()\n"


def own_tests(folder: Path, *texts: str) -> OwnTests:
    """Make a project with a test file for each text."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    # In place of the package, which the processes would import, and not use.
    (folder / "hypothesis.py").write_text("raise ImportError\n")
    shutil.copy(ROOT / "tests" / "conftest.py", folder)
    for number, text in enumerate(texts):
        (folder / f"test_number_{number}.py").write_text(text)
    return OwnTests(
        folder, folder / "reports", ("-p", "xdist", "-n", "1", "--max-worker-restart=0")
    )


@pytest.fixture(autouse=True)
def _few_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare each of the processes the import of plug-ins that the runs do not use."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.mark.slow
def test_rest_collects_the_files_that_have_some_of_its_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_tests(tmp_path, PASSES, BROAD + PASSES)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = broad\n")
    monkeypatch.setattr(run_all, "ROOT", tmp_path)
    monkeypatch.setattr(run_all, "REPORTS", tmp_path / "reports")
    assert run_all._collect("-m", "broad") == ["test_number_1.py"]
    assert run_all._collect("-m", "of_another_name") == []


@pytest.mark.slow
def test_file_that_cannot_be_imported_stops_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_tests(tmp_path, "import nothing_of_that_name\n")
    monkeypatch.setattr(run_all, "ROOT", tmp_path)
    monkeypatch.setattr(run_all, "REPORTS", tmp_path / "reports")
    with pytest.raises(CommandError, match="nothing_of_that_name"):
        run_all._collect("-m", "broad")


def test_upstreams_tests_that_fail_say_so_after_their_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run_all, "REPORTS", tmp_path)
    command = ["sh", "-c", "echo words; exit 3"]
    with Command(command, timeout_seconds=60, log=tmp_path / "upstream.log") as upstream:
        assert run_all._both(None, upstream) == (True, False)
    assert "words\n `sh -c echo words; exit 3` exited 3" in capsys.readouterr().out


@pytest.mark.slow
def test_test_that_passes_alone_is_printed_as_unstable(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tests = own_tests(tmp_path, PASSES, FAILS_BESIDE_OTHERS)
    assert tests.run()
    assert tests.shortcomings() == ["test_number_1.py::test_needs_quiet"]
    tests.print_names()
    *_, title, name = capfd.readouterr().out.splitlines()
    assert title.startswith("== UNSTABLE: ")
    assert name == "test_number_1.py::test_needs_quiet"


@pytest.mark.parametrize("run", ["first", "second"])
@pytest.mark.parametrize("name", ["unstable.txt", "left-behind.txt"])
def test_shortcoming_of_either_run_fails_the_last_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: str, name: str
) -> None:
    runs = [OwnTests(reports=tmp_path / one) for one in ("first", "second")]
    monkeypatch.setattr(run_all, "_both_runs", lambda: runs)
    assert run_all.main(["--after"]) == 0
    (tmp_path / run).mkdir()
    (tmp_path / run / name).write_text("test_one.py::test_one\n")
    assert run_all.main(["--after"]) == 1


def test_what_is_left_behind_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tests = OwnTests(reports=tmp_path)
    tests.note_left(["file audit.jsonl"])
    tests.print_names()
    assert capsys.readouterr().out == "\n== LEFT BEHIND by the tests\nfile audit.jsonl\n"
    tests.note_left([])
    tests.print_names()
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_many_failures_are_not_repeated(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tests = own_tests(tmp_path, FAILS.format(MOST_REPEATED + 1))
    assert not tests.run()
    tests.print_names()
    output = capfd.readouterr().out
    assert "once more" not in output
    assert output.splitlines()[-1] == f"test_number_0.py::test_fails[{MOST_REPEATED}]"


@pytest.mark.slow
def test_passed_tests_run_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert own_tests(tmp_path, PASSES).run()
    assert "once more" not in capfd.readouterr().out


@pytest.mark.slow
def test_test_that_crashes_its_worker_fails_the_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tests = own_tests(tmp_path, PASSES, CRASHES)
    assert not tests.run()
    tests.print_names()
    output = capfd.readouterr()
    assert output.out.splitlines()[-1] == "test_number_1.py::test_crashes"
    assert "once more" not in output.out
    assert "in test_crashes" in output.err  # its stacks


@pytest.mark.slow
def test_test_that_fails_alone_too_fails_the_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tests = own_tests(tmp_path, FAILS.format(1), FAILS_BESIDE_OTHERS)
    assert not tests.run()
    assert tests.shortcomings() == ["test_number_1.py::test_needs_quiet"]
    tests.print_names()
    assert "== FAILED: 1\ntest_number_0.py::test_fails[0]\n" in capfd.readouterr().out


@pytest.mark.slow
def test_file_that_cannot_be_imported_fails_the_run(tmp_path: Path) -> None:
    assert not own_tests(tmp_path, PASSES, "import nothing_of_that_name\n").run()
