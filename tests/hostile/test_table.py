"""The table of hostile programs is complete, and a command sorts it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import hostile_harness
import hostile_table
import pytest
import sort_programs
from hostile_harness import LIMITS, TIMEOUT_SECONDS

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "executors" / "local.md"
PROGRAMS = hostile_table.all_programs()

pytestmark = pytest.mark.limit(60)


def test_table_is_large_and_every_program_is_named_once() -> None:
    names = [p.id for p in PROGRAMS]
    assert len(names) >= 1200
    assert len(set(names)) == len(names)


def test_every_program_that_does_not_hold_in_local_says_why() -> None:
    for program in PROGRAMS:
        if program.local:
            answer, _, why = program.local.partition(" ")
            assert answer == "no", program.id
            assert len(why.split()) >= 3, program.id


def test_no_header_is_left_in_the_code() -> None:
    for program in PROGRAMS:
        for header in hostile_table.HEADERS:
            assert f"\n# {header}: " not in f"\n{program.code}", program.id


def test_limits_of_the_suite_are_those_the_interpreter_takes() -> None:
    from smolagents_fork.interpreter.guarded import RunLimits

    assert RunLimits(**LIMITS).timeout_seconds == TIMEOUT_SECONDS


def test_gaps_of_local_are_documented() -> None:
    page = " ".join(DOCUMENTATION.read_text("utf-8").split())
    words = [p.documented for p in PROGRAMS if p.documented]
    assert words
    for one in words:
        assert one in page


def test_parts_are_the_whole_table() -> None:
    parts = hostile_table.in_parts(PROGRAMS, 40)
    assert [p for part in parts.values() for p in part] == PROGRAMS
    assert max(map(len, parts.values())) == 40


FILE = """\
# A file of programs.
# imports: array
import array
# hostile: quiet
1 + 1
# hostile: reaches
trip("at once")
# hostile: documented
# limit: time
# local: no it was not held before
"held"
raise ValueError
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "programs").mkdir()
    path = tmp_path / "programs" / "some.py"
    path.write_text(FILE, encoding="utf-8")
    monkeypatch.setattr(hostile_table, "PROGRAMS", path.parent)
    monkeypatch.setattr(hostile_table, "CORPUS", tmp_path / "corpus")
    # Elsewhere only what a program reaches is a fault.
    monkeypatch.setattr(hostile_harness, "REFERENCE", sys.version_info[:2])
    return path


@pytest.mark.slow
def test_sorting_only_counts_where_no_reason_is_given(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sort_programs.main(["-v"]) == 1
    assert file.read_text(encoding="utf-8") == FILE
    shown = capsys.readouterr().out
    assert "some::reaches: reached: trip(at once)" in shown
    assert "some                     3      2        1      0     2\n" in shown


@pytest.mark.slow
def test_sorting_writes_the_reason_of_the_family(file: Path) -> None:
    arguments = ["--reason", "some=it is what a library does", "--quiet", "it is caught by itself"]
    assert sort_programs.main([*arguments, "--back"]) == 0
    programs = {p.name: p for p in hostile_table.read_programs(file)}
    assert programs["quiet"].ends == "quietly it is caught by itself"
    assert programs["quiet"].in_local
    assert programs["reaches"].local == "no it is what a library does"
    assert programs["documented"].in_local
    assert programs["documented"].limit == "time"
    assert [p.imports for p in programs.values()] == [("array",)] * 3
    assert programs["reaches"].code == 'import array\ntrip("at once")\n'


@pytest.mark.slow
def test_sorting_a_corpus_program_puts_the_header_first(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(tmp_path / "programs")
    (tmp_path / "programs").mkdir()
    (tmp_path / "corpus").mkdir()
    found = tmp_path / "corpus" / "found.py"
    found.write_text("# How it was found.\ntrip()\n", encoding="utf-8")
    monkeypatch.setattr(hostile_table, "CORPUS", tmp_path / "corpus")
    assert sort_programs.main(["--reason", "*=one call of C"]) == 0
    text = "# local: no one call of C\n# How it was found.\ntrip()\n"
    assert found.read_text(encoding="utf-8") == text
    assert sort_programs.main([]) == 0


def test_sorting_refuses_a_family_there_is_not() -> None:
    with pytest.raises(SystemExit, match=r"^no such family or program: nowhere$"):
        sort_programs.main(["nowhere"])


def test_worker_of_the_harness_reports_a_crash_and_goes_on() -> None:
    crash = hostile_table.Program("f", "crash", "import os\nos.abort()\n", Path("f"), 1)
    after = hostile_table.Program("f", "after", "trip()\n", Path("f"), 2)
    with hostile_harness.Worker() as worker:
        answers = worker.batch("weak", [crash, after])["answers"]
    assert answers[0]["reached"] == ["crashed, status 6"]
    assert answers[1]["reached"] == ["trip()"]
