"""The report of ``make test-downstream``, and its verdict on each pair of outcomes."""

from __future__ import annotations

import pytest

from tools.downstream.__main__ import main
from tools.downstream.packages import Package
from tools.downstream.report import Result, is_regression, page, verdict
from tools.downstream.runs import Outcome

WORKS = Outcome(True, "1.2", "an answer")
FAILS = Outcome(False, "1.2", "KeyError: <no | such>")


@pytest.mark.parametrize(
    ("fork", "upstream", "words"),
    [
        (WORKS, WORKS, "works"),
        (WORKS, FAILS, "works; fails with upstream"),
        (FAILS, FAILS, "fails, as with upstream"),
        (FAILS, WORKS, "**fails; works with upstream**"),
    ],
)
def test_verdict_names_the_side_that_fails(fork, upstream, words):
    result = Result(Package("some-package", "some_use"), fork, upstream)
    assert verdict(result) == words
    assert is_regression(result) == (words == "**fails; works with upstream**")


def test_page_has_a_row_for_each_package_and_upstreams_failure_below():
    package = Package("some-package", "some_use", note="with a note")
    text = page([Result(package, WORKS, FAILS)], ("1+fork", "1"), "today")
    assert "| `some-package` | 1.2 | an answer | works; fails with upstream |" in text
    assert "- `some-package`: with a note." in text
    assert "- `some-package` with upstream: KeyError: &lt;no \\| such>" in text


def test_package_that_cannot_be_installed_has_no_version():
    absent = Outcome(False, "", "no such package")
    text = page([Result(Package("some-package", "use"), absent, absent)], ("1+fork", "1"), "today")
    assert "| `some-package` | not installed | no such package | fails, as with upstream |" in text


def test_unknown_package_is_an_error_that_names_the_others(capsys):
    assert main(["nosuch"]) == 2
    assert "no package nosuch; there are: smolagentsui, " in capsys.readouterr().err
