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
NOT_A_MODULE = "import nothing_of_that_name\n"
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
    own_tests(tmp_path, NOT_A_MODULE)
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


UNSTABLE = "== UNSTABLE: failed beside others and passed alone; mend these first"
NEEDS_QUIET = "test_number_1.py::test_needs_quiet"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("texts", "has_passed", "last_lines", "is_repeated"),
    [
        ([PASSES], True, [], False),
        ([PASSES, FAILS_BESIDE_OTHERS], True, [UNSTABLE, NEEDS_QUIET], True),
        (
            [FAILS.format(1), FAILS_BESIDE_OTHERS],
            False,
            ["== FAILED: 1", "test_number_0.py::test_fails[0]", "", UNSTABLE, NEEDS_QUIET],
            True,
        ),
        (
            [FAILS.format(MOST_REPEATED + 1)],
            False,
            [f"test_number_0.py::test_fails[{number}]" for number in range(MOST_REPEATED + 1)],
            False,
        ),
        ([PASSES, CRASHES], False, ["== FAILED: 1", "test_number_1.py::test_crashes"], False),
        ([PASSES, NOT_A_MODULE], False, ["== FAILED: 1", "test_number_1.py"], True),
    ],
    ids=["passes", "passes alone", "fails twice", "many fail", "crashes", "not imported"],
)
def test_failed_tests_run_once_more_alone(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    texts: list[str],
    has_passed: bool,
    last_lines: list[str],
    is_repeated: bool,
) -> None:
    tests = own_tests(tmp_path, *texts)
    assert tests.run() is has_passed
    assert tests.shortcomings() == [NEEDS_QUIET] * (NEEDS_QUIET in last_lines)
    tests.print_names()
    output = capfd.readouterr()
    lines = output.out.splitlines()
    assert lines[len(lines) - len(last_lines) :] == last_lines
    assert ("once more" in output.out) is is_repeated
    if CRASHES in texts:
        assert "in test_crashes" in output.err  # its stacks
