"""Every program of the corpus has the same result in CPython and in the fork's interpreter."""

from __future__ import annotations

import case_harness
import pytest

CASES = case_harness.all_cases()


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_program_means_what_it_means_in_cpython(case: case_harness.Case) -> None:
    if reason := case.skip_reason():
        pytest.skip(reason)
    expected = case_harness.run_reference(case.code)
    got = case_harness.run_ours(case.code)
    if not case.compare_value:
        expected = case_harness.Outcome(
            expected.printed, "nothing", expected.error, expected.message, expected.line
        )
        got = case_harness.Outcome(got.printed, "nothing", got.error, got.message, got.line)
    assert got == expected, f"{case.family}.py line {case.line}\n{case.code}\n{got.extra}"


def test_corpus_is_large_and_every_program_is_named_once() -> None:
    names = [case.id for case in CASES]
    assert len(names) >= 600
    assert len(set(names)) == len(names)
