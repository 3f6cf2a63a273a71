"""The table of hostile programs is complete; harmless ones that look alike run as in CPython."""

from __future__ import annotations

from pathlib import Path

import case_harness
import hostile_harness
import hostile_table
import pytest

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


def test_worker_of_the_harness_reports_a_crash_and_goes_on() -> None:
    crash = hostile_table.Program("f", "crash", "import os\nos.abort()\n", Path("f"), 1)
    after = hostile_table.Program("f", "after", "trip()\n", Path("f"), 2)
    with hostile_harness.Worker() as worker:
        answers = worker.batch("weak", [crash, after])["answers"]
    assert answers[0]["reached"] == ["crashed, status 6"]
    assert answers[1]["reached"] == ["trip()"]


CASES = [
    case
    for path in sorted((Path(__file__).parent / "programs" / "harmless").glob("*.py"))
    for case in case_harness.read_cases(path)
]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_harmless_program_is_not_refused(case: case_harness.Case) -> None:
    expected = case_harness.run_reference(case.code)
    assert not expected.error, "a harmless program ends without an error"
    got = case_harness.run_ours(case.code)
    assert got == expected, f"line {case.line}\n{case.code}\n{got.extra}"


def test_at_least_sixty() -> None:
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)
