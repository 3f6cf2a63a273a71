"""Comparison of two runs, from example JUnit files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.junit import Outcome, read_junit
from tools.regression.causes import UNEXPLAINED, classify
from tools.regression.comparison import (
    RERUN_AT_MOST,
    Comparison,
    Kind,
    Report,
    compare,
    run_again,
)
from tools.regression.deviations import Deviation

REASON = "the fork stops this program on purpose, as its documentation says"
A = "tests/test_a.py::test_a"


def side(folder: Path, **cases: str) -> dict[str, Outcome]:
    """Outcomes of a JUnit file with tests of `tests/test_a.py`; a value is an element or empty."""
    inner = "".join(
        f'<testcase classname="tests.test_a" name="{name}">{element}</testcase>'
        for name, element in cases.items()
    )
    path = folder / "out.xml"
    path.write_text(f"<testsuites><testsuite>{inner}</testsuite></testsuites>", "utf-8")
    return read_junit(path)


def compared(
    pristine: dict[str, Outcome], fork: dict[str, Outcome], *declared: Deviation
) -> Report:
    found, stale = compare(pristine, fork, declared)
    return Report("1.0", "1.0+fork.1", found, stale)


def kinds(report: Report) -> dict[str, Kind]:
    return {
        found.test.removeprefix("tests/test_a.py::"): found.kind for found in report.comparisons
    }


FAILURE = '<failure message="assert 1 == 2"/>'
ERROR = '<error message="boom"/>'
SKIP = '<skipped message="requires macOS"/>'


@pytest.mark.parametrize(
    ("pristine", "fork", "declared", "kind", "stale"),
    [
        ("", "", None, Kind.PASSED_BOTH, None),
        (FAILURE, FAILURE, None, Kind.FAILED_BOTH, None),
        (SKIP, SKIP, None, Kind.SKIPPED_BOTH, None),
        # A test that no longer passes, or is lost, or is of a file that broke on the fork.
        ("", FAILURE, None, Kind.UNDECLARED, None),
        ("", ERROR, None, Kind.UNDECLARED, None),
        ("", SKIP, None, Kind.UNDECLARED, None),
        ("", None, None, Kind.UNDECLARED, None),
        (None, ERROR, None, Kind.UNDECLARED, None),
        # No failure of the fork's.
        (FAILURE, "", None, Kind.GAINED, None),
        # Declared as it is, and otherwise.
        ("", FAILURE, "failed", Kind.DECLARED, None),
        ("", ERROR, "error", Kind.DECLARED, None),
        ("", SKIP, "skipped", Kind.DECLARED, None),
        ("", None, "missing", Kind.DECLARED, None),
        ("", None, "failed", Kind.UNDECLARED, "passed on pristine and missing on the fork"),
        ("", "", "failed", Kind.PASSED_BOTH, "passed on pristine and passed on the fork"),
        (FAILURE, FAILURE, "failed", Kind.FAILED_BOTH, "failed on pristine and failed on the fork"),
        (None, None, "failed", None, "in neither run"),
    ],
)
def test_pair_of_outcomes_is_judged(
    tmp_path: Path,
    pristine: str | None,
    fork: str | None,
    declared: str | None,
    kind: Kind | None,
    stale: str | None,
) -> None:
    sides = [
        side(tmp_path, test_other="", **({} if element is None else {"test_a": element}))
        for element in (pristine, fork)
    ]
    report = compared(*sides, *([Deviation(A, declared, REASON)] if declared else []))
    assert kinds(report).get("test_a") is kind
    assert report.stale == [
        f"{A}: declared as {declared} on the fork, but is now {words}; "
        f"remove the entry or correct it"
        for words in [stale]
        if words
    ]
    assert report.exit_status == int(kind is Kind.UNDECLARED or stale is not None)
    if kind is Kind.DECLARED:
        assert report.comparisons[1].reason == REASON


def test_tests_that_pristine_skips_did_not_run(tmp_path: Path) -> None:
    both = side(tmp_path, test_a="", test_b=FAILURE, test_c=SKIP)
    assert compared(both, both).ran == 2


@pytest.mark.parametrize(
    ("selection", "is_judged"),
    [
        ([], True),
        (["tests/test_a.py"], True),
        (["tests/test_z.py", "tests/test_a.py::test_a"], True),
        (["tests/test_z.py"], False),
        (["tests/test_a.py::test_b"], False),
        (["tests/test_a.py::test_ab"], False),
    ],
)
def test_a_declaration_is_called_stale_only_where_its_test_was_run(
    tmp_path: Path, selection: list[str], is_judged: bool
) -> None:
    both = side(tmp_path, test_b="")
    declared = Deviation("tests/test_a.py::test_a", "failed", REASON)
    _, stale = compare(both, both, [declared], selection=selection)
    assert bool(stale) is is_judged


def test_one_declaration_may_cover_all_parameters_of_a_test_and_no_other() -> None:
    declared = Deviation("tests/test_a.py::test_a[*]", "failed", REASON)
    assert declared.covers("tests/test_a.py::test_a[x-1]")
    assert not declared.covers("tests/test_a.py::test_a")
    assert not declared.covers("tests/test_a.py::test_ab[x]")


def test_failures_on_both_sides_carry_the_cause_and_the_rule(tmp_path: Path) -> None:
    network = '<failure message="gaierror: Name or service not known"/>'
    report = compared(
        side(tmp_path, test_a=network, test_b=FAILURE),
        side(tmp_path, test_a=network, test_b=FAILURE),
    )
    cause, unknown = (found.cause for found in report.comparisons)
    assert cause is not None
    assert unknown is not None
    assert cause.name == "needs network"
    assert "Name or service not known" in cause.rule
    assert unknown == UNEXPLAINED
    assert [found.test for found in report.unexplained] == ["tests/test_a.py::test_b"]


def test_another_cause_on_the_fork_is_said(tmp_path: Path) -> None:
    network = '<failure message="gaierror: Name or service not known"/>'
    report = compared(side(tmp_path, test_a=network), side(tmp_path, test_a=FAILURE))
    (found,) = report.unexplained
    assert found.fork_cause == UNEXPLAINED


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("ModuleNotFoundError: No module named 'vllm'", "absent package"),
        ("ModuleNotFoundError: No module named 'smolagents_fork'", "unexplained"),
        (
            "ImportError: cannot import name 'X' from 'smolagents.a' (p)",
            "stale test file in the sdist",
        ),
        ("ImportError: cannot import name 'X' from 'numpy' (p)", "unexplained"),
        ("OSError: cannot load library 'libx.so'", "absent system library"),
        ("Failed: Timeout (>120.0s) from pytest-timeout.", "ran past the time limit"),
        ("assert 1 == 2", "unexplained"),
    ],
)
def test_causes(words: str, cause: str) -> None:
    assert classify(Outcome("failed", words)).name == cause


PASSED, FAILED, GONE = Outcome("passed"), Outcome("failed", "assert"), Outcome("missing")
DIFFERS = Comparison(A, Kind.UNDECLARED, PASSED, FAILED)
GAINED = Comparison(A, Kind.GAINED, FAILED, PASSED)


@pytest.mark.parametrize(
    ("found", "again", "kind", "best"),
    [
        # A difference stands until the fork has passed.
        (DIFFERS, [(PASSED, FAILED), (PASSED, FAILED)], Kind.UNDECLARED, PASSED),
        (DIFFERS, [(PASSED, GONE), (PASSED, GONE)], Kind.UNDECLARED, PASSED),
        (DIFFERS, [(PASSED, PASSED)], Kind.FLAKY, PASSED),
        (DIFFERS, [(FAILED, PASSED)], Kind.FLAKY, PASSED),
        (DIFFERS, [(PASSED, FAILED), (PASSED, PASSED)], Kind.FLAKY, PASSED),
        # Fails alone on pristine too, as one that needs the tests before it: no excuse.
        (DIFFERS, [(FAILED, FAILED), (FAILED, FAILED)], Kind.UNDECLARED, PASSED),
        # A test that passes on the fork only does so each time.
        (GAINED, [(FAILED, PASSED), (FAILED, PASSED)], Kind.GAINED, FAILED),
        (GAINED, [(FAILED, PASSED), (PASSED, PASSED)], Kind.FLAKY, PASSED),
        (GAINED, [(PASSED, PASSED)], Kind.FLAKY, PASSED),
        (GAINED, [(FAILED, FAILED)], Kind.FLAKY, FAILED),
        # A file of the fork's that broke, and a test that passes on both, are left alone.
        (Comparison(A, Kind.UNDECLARED, GONE, FAILED), [], Kind.UNDECLARED, GONE),
        (Comparison(A, Kind.PASSED_BOTH, PASSED, PASSED), [], Kind.PASSED_BOTH, PASSED),
    ],
)
def test_differences_are_run_again_alone_until_they_are_flaky(
    found: Comparison, again: list[tuple[Outcome, Outcome]], kind: Kind, best: Outcome
) -> None:
    comparisons, said = [found], []
    runs = iter(enumerate(again, start=1))

    def run_alone(test: str, attempt: int) -> tuple[Outcome, Outcome]:
        number, outcomes = next(runs)
        assert (test, attempt) == (A, number)
        return outcomes

    notes = run_again(comparisons, run_alone, said.append)
    (judged,) = comparisons
    assert judged.kind is kind
    assert judged.again == tuple(again)
    assert judged.best_of_pristine == best
    assert said == [f"again, alone ({number} of 2): {A}" for number, _ in enumerate(again, 1)]
    expected = "tests that differed and were run again, alone, up to 2 times: 1"
    assert notes == ([expected] if again else [])


def test_many_differences_are_not_run_again() -> None:
    found = [DIFFERS] * (RERUN_AT_MOST + 1)

    def run_alone(test: str, attempt: int) -> tuple[Outcome, Outcome]:
        raise AssertionError(f"{test} was run again, attempt {attempt}")

    notes = run_again(found, run_alone, lambda words: None)
    assert notes == ["21 tests differ, more than 20: none was run again alone"]
    assert all(one.kind is Kind.UNDECLARED for one in found)
