"""Files that the suite reads: the list of declared differences, and pytest's JUnit files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.errors import SuiteError
from tools.junit import Outcome, read_junit
from tools.regression.deviations import load_deviations
from tools.regression.settings import DEVIATIONS

GOOD = """
[[deviation]]
test = "tests/test_a.py::test_a"
outcome = "failed"
reason = "the fork stops this program on purpose, as its documentation says"
"""


def written(folder: Path, body: str, head: str = "schema = 1\n") -> Path:
    path = folder / "deviations.toml"
    path.write_text(head + body, "utf-8")
    return path


def test_the_repository_s_own_list_is_valid() -> None:
    load_deviations(DEVIATIONS, "1.26.0")


def test_a_good_entry_is_read(tmp_path: Path) -> None:
    (entry,) = load_deviations(written(tmp_path, GOOD), "1.26.0")
    assert entry.test == "tests/test_a.py::test_a"
    assert entry.outcome == "failed"
    assert entry.reason.startswith("the fork stops this program")


def test_an_entry_may_be_for_some_releases(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD + 'releases = ["1.25.0"]\n')
    assert load_deviations(path, "1.26.0") == []
    assert len(load_deviations(path, "1.25.0")) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("reason = ", "# reason = "), "reason, releases, test, got test, outcome"),
        (("the fork stops this program on purpose, as its documentation says", "   "),
         "the reason has 0 characters; say in at least 40 why"),
        (("the fork stops this program on purpose, as its documentation says", "see the docs"),
         "the reason has 12 characters; say in at least 40 why"),
        (('outcome = "failed"', 'outcome = "passed"'), "outcome must be one of failed, error,"),
        (("tests/test_a.py::test_a", "tests/test_a.py"), "test must be one test's id"),
        (("outcome = ", "result = "), "got test, result, reason"),
        (('outcome = "failed"', "outcome = 1"), "outcome must be one of failed, error,"),
    ],
)  # fmt: skip
def test_a_bad_entry_is_refused(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    path = written(tmp_path, GOOD.replace(*change))
    with pytest.raises(SuiteError) as caught:
        load_deviations(path, "1.26.0")
    assert f"{path}: deviation 1: " in str(caught.value)
    assert words in str(caught.value)


def test_a_test_listed_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"deviation 2: tests/test_a\.py::test_a is listed twice"):
        load_deviations(written(tmp_path, GOOD + GOOD), "1.26.0")


@pytest.mark.parametrize(
    ("body", "head", "words"),
    [
        ("", "", "expected `schema = 1`"),
        ("", "schema = 2\n", "expected `schema = 1`"),
        ("[[deviations]]\n", "schema = 1\n", "expected `schema = 1`"),
        ("deviation = 3\n", "schema = 1\n", "and [[deviation]] tables"),
        ("deviation = [3]\n", "schema = 1\n", "and [[deviation]] tables"),
        ("= broken", "schema = 1\n", "cannot be read"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, body: str, head: str, words: str) -> None:
    with pytest.raises(SuiteError) as caught:
        load_deviations(written(tmp_path, body, head), "1.26.0")
    assert words in str(caught.value)


def test_a_missing_file_is_no_empty_list(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="cannot be read"):
        load_deviations(tmp_path / "none.toml", "1.26.0")


A = "tests/test_a.py::test_a"
PASSED = Outcome("passed")


def suites(*cases: str) -> str:
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"


def case(name: str = "test_a", result: str = "", classname: str = "tests.test_a") -> str:
    return f'<testcase classname="{classname}" name="{name}" time="0.5">{result}</testcase>'


LATE = case(result='<error message="late"/>')


@pytest.mark.parametrize(
    ("cases", "test", "outcome"),
    [
        ([case()], A, PASSED),
        ([case("test_c[x::y.z]", "", "tests.test_a.TestB")],
         "tests/test_a.py::TestB::test_c[x::y.z]", PASSED),
        ([case("test_d", "", "tests.deep.test_a.TestB.TestC")],
         "tests/deep/test_a.py::TestB::TestC::test_d", PASSED),
        # What pytest writes for a module, and for a class, that could not be collected.
        ([case("tests.test_a", '<error message="m"/>', "")], "tests/test_a.py",
         Outcome("error", "m")),
        ([case("TestB", '<error message="m"/>')], "tests/test_a.py::TestB", Outcome("error", "m")),
        ([case(result='<failure message="m">t</failure>')], A, Outcome("failed", "m", "t")),
        ([case(result='<skipped message="why"/>')], A, Outcome("skipped", "why")),
        ([case(result="<system-out>x</system-out>")], A, PASSED),
        # A failing teardown outweighs a passing body.
        ([case(), LATE], A, Outcome("error", "late")),
        ([LATE, case()], A, Outcome("error", "late")),
    ],
)  # fmt: skip
def test_element_has_its_id_and_outcome(
    tmp_path: Path, cases: list[str], test: str, outcome: Outcome
) -> None:
    path = tmp_path / "out.xml"
    path.write_text(suites(*cases), "utf-8")
    assert read_junit(path) == {test: outcome}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (suites(), "names no test at all; the run collected nothing"),
        ("", "no readable JUnit file"),
        ("<testsuites><testcase", "no readable JUnit file"),
        ("not xml", "no readable JUnit file"),
        (None, "no readable JUnit file"),
    ],
    ids=["empty run", "empty", "truncated", "text", "missing"],
)
def test_what_has_no_outcomes_is_no_result(tmp_path: Path, content: str | None, words: str) -> None:
    path = tmp_path / "out.xml"
    if content is not None:
        path.write_text(content, "utf-8")
    with pytest.raises(SuiteError, match=words):
        read_junit(path)
