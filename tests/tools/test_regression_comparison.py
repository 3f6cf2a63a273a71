"""What a pair of runs means, from made-up JUnit files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.regression.causes import UNEXPLAINED, classify
from tools.regression.comparison import Comparison, Kind, Report, compare
from tools.regression.deviations import Deviation
from tools.regression.junit import Outcome, read_junit
from tools.regression.reruns import RERUN_AT_MOST, run_again, settle

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


def test_equal_runs_pass(tmp_path: Path) -> None:
    both = side(tmp_path, test_a="", test_b=FAILURE, test_c=SKIP)
    report = compared(both, both)
    assert kinds(report) == {
        "test_a": Kind.PASSED_BOTH,
        "test_b": Kind.FAILED_BOTH,
        "test_c": Kind.SKIPPED_BOTH,
    }
    assert report.exit_status == 0
    assert report.ran == 2


@pytest.mark.parametrize("element", [FAILURE, ERROR, SKIP])
def test_a_test_that_no_longer_passes_is_a_difference(tmp_path: Path, element: str) -> None:
    report = compared(side(tmp_path, test_a=""), side(tmp_path, test_a=element))
    assert kinds(report) == {"test_a": Kind.UNDECLARED}
    assert report.exit_status == 1


def test_a_lost_test_is_a_difference(tmp_path: Path) -> None:
    report = compared(side(tmp_path, test_a="", test_b=""), side(tmp_path, test_b=""))
    assert kinds(report) == {"test_a": Kind.UNDECLARED, "test_b": Kind.PASSED_BOTH}
    assert report.of(Kind.UNDECLARED)[0].fork.status == "missing"
    assert report.exit_status == 1


def test_a_file_that_broke_on_the_fork_is_a_difference(tmp_path: Path) -> None:
    # Its tests are lost, and the file itself is an error that pristine does not have.
    fork = side(tmp_path, test_b="", test_file_error=ERROR)
    report = compared(side(tmp_path, test_b=""), fork)
    assert kinds(report)["test_file_error"] is Kind.UNDECLARED
    assert report.exit_status == 1


def test_a_test_that_only_the_fork_passes_is_no_failure(tmp_path: Path) -> None:
    report = compared(side(tmp_path, test_a=FAILURE), side(tmp_path, test_a=""))
    assert kinds(report) == {"test_a": Kind.GAINED}
    assert report.exit_status == 0


@pytest.mark.parametrize(
    ("element", "outcome"), [(FAILURE, "failed"), (ERROR, "error"), (SKIP, "skipped")]
)
def test_a_declared_difference_is_accepted(tmp_path: Path, element: str, outcome: str) -> None:
    declared = Deviation(A, outcome, REASON)  # type: ignore[arg-type]
    report = compared(side(tmp_path, test_a=""), side(tmp_path, test_a=element), declared)
    assert kinds(report) == {"test_a": Kind.DECLARED}
    assert report.comparisons[0].reason == REASON
    assert report.exit_status == 0


def test_a_difference_of_another_sort_than_declared_is_not_accepted(tmp_path: Path) -> None:
    declared = Deviation(A, "failed", REASON)
    report = compared(side(tmp_path, test_a=""), {}, declared)
    assert kinds(report) == {"test_a": Kind.UNDECLARED}
    assert report.stale == [
        f"{A}: declared as failed on the fork, but is now passed on pristine and missing on the "
        f"fork; remove the entry or correct it"
    ]


def test_a_declaration_that_no_longer_differs_is_an_error(tmp_path: Path) -> None:
    both = side(tmp_path, test_a="")
    report = compared(both, both, Deviation(A, "failed", REASON))
    assert report.stale == [
        f"{A}: declared as failed on the fork, but is now passed on pristine and passed on the "
        f"fork; remove the entry or correct it"
    ]
    assert report.exit_status == 1


def test_a_declaration_of_a_test_that_fails_on_both_sides_is_an_error(tmp_path: Path) -> None:
    both = side(tmp_path, test_a=FAILURE)
    assert compared(both, both, Deviation(A, "failed", REASON)).exit_status == 1


def test_a_declaration_of_no_known_test_is_an_error(tmp_path: Path) -> None:
    both = side(tmp_path, test_b="")
    (sentence,) = compared(both, both, Deviation(A, "failed", REASON)).stale
    assert "but is now in neither run" in sentence


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
    assert (unknown.name, unknown.rule) == (UNEXPLAINED, "")
    assert [found.test for found in report.unexplained] == ["tests/test_a.py::test_b"]


def test_another_cause_on_the_fork_is_said(tmp_path: Path) -> None:
    network = '<failure message="gaierror: Name or service not known"/>'
    report = compared(side(tmp_path, test_a=network), side(tmp_path, test_a=FAILURE))
    (found,) = report.unexplained
    assert found.fork_cause is not None
    assert found.fork_cause.name == UNEXPLAINED


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("ModuleNotFoundError: No module named 'vllm'", "absent package"),
        ("ModuleNotFoundError: No module named 'smolagents_fork'", UNEXPLAINED),
        (
            "ImportError: cannot import name 'X' from 'smolagents.a' (p)",
            "stale test file in the sdist",
        ),
        ("ImportError: cannot import name 'X' from 'numpy' (p)", UNEXPLAINED),
        ("OSError: cannot load library 'libx.so'", "absent system library"),
        ("Failed: Timeout (>120.0s) from pytest-timeout.", "ran past the time limit"),
        ("assert 1 == 2", UNEXPLAINED),
    ],
)
def test_causes(words: str, cause: str) -> None:
    assert classify(Outcome("failed", words)).name == cause


PASSED, FAILED, GONE = Outcome("passed"), Outcome("failed", "assert"), Outcome("missing")
DIFFERS = Comparison(A, Kind.UNDECLARED, PASSED, FAILED)


@pytest.mark.parametrize(
    ("again", "kind"),
    [
        ([], Kind.UNDECLARED),
        ([(PASSED, FAILED), (PASSED, FAILED)], Kind.UNDECLARED),
        ([(PASSED, GONE)], Kind.UNDECLARED),
        ([(PASSED, PASSED)], Kind.FLAKY),
        ([(PASSED, FAILED), (PASSED, PASSED)], Kind.FLAKY),
        # Fails alone on pristine too, as one that needs the tests before it: no excuse.
        ([(FAILED, FAILED), (FAILED, FAILED)], Kind.UNDECLARED),
    ],
)
def test_a_difference_stands_until_the_fork_has_passed(
    again: list[tuple[Outcome, Outcome]], kind: Kind
) -> None:
    settled = settle(DIFFERS, again)
    assert settled.kind is kind
    assert settled.again == tuple(again)


def test_a_flaky_test_is_run_again_and_said_to_be_flaky() -> None:
    found = [DIFFERS, Comparison("tests/test_a.py::test_b", Kind.PASSED_BOTH, PASSED, PASSED)]
    asked: list[tuple[str, int]] = []
    said: list[str] = []

    def run_alone(test: str, attempt: int) -> tuple[Outcome, Outcome]:
        asked.append((test, attempt))
        return PASSED, PASSED if attempt == 1 else FAILED

    notes = run_again(found, run_alone, said.append)
    assert asked == [(A, 1)]
    assert said == [f"again, alone (1 of 2): {A}"]
    assert found[0].kind is Kind.FLAKY
    assert notes == ["tests that differed and were run again, alone, up to 2 times: 1"]


def test_a_steady_difference_is_run_twice_more() -> None:
    found = [DIFFERS]
    asked: list[int] = []

    def run_alone(test: str, attempt: int) -> tuple[Outcome, Outcome]:
        del test
        asked.append(attempt)
        return PASSED, FAILED

    run_again(found, run_alone, lambda words: None)
    assert asked == [1, 2]
    assert found[0].kind is Kind.UNDECLARED


def test_many_differences_are_not_run_again() -> None:
    found = [DIFFERS] * (RERUN_AT_MOST + 1)

    def run_alone(test: str, attempt: int) -> tuple[Outcome, Outcome]:
        raise AssertionError(f"{test} was run again, attempt {attempt}")

    notes = run_again(found, run_alone, lambda words: None)
    assert notes == ["21 tests differ, more than 20: none was run again alone"]
    assert all(one.kind is Kind.UNDECLARED for one in found)
