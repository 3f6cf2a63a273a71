"""The list of declared differences is validated entry by entry."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.errors import SuiteError
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
