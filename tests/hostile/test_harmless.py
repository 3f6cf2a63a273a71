"""Programs that an imprecise guard would refuse behave as in CPython."""

from __future__ import annotations

from pathlib import Path

import case_harness
import pytest

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
