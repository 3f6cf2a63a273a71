"""The lint of the series: every demand by a patch that misses it."""

from __future__ import annotations

import re

import pytest
from rebase_harness import tiny_message

from tools.series.__main__ import main
from tools.series.edit import close_series, open_series
from tools.series.lint import ALLOWED_PATHS, lint_series
from tools.series.message import parse_message, parse_trailers

AGENTS = "smolagents/agents.py"


def edit_patch(project, pattern, replacement):
    patch = project.patches / "close-twice.patch"
    text, count = re.subn(pattern, replacement, patch.read_text(), flags=re.MULTILINE)
    assert count == 1, pattern
    patch.write_text(text)


def texts(project, *, errors=True, **options):
    found = lint_series(project, **options)
    assert all(finding.where.startswith("patches/") for finding in found)
    return [finding.text for finding in found if finding.is_error is errors]


def test_good_series_has_no_finding(tiny, capsys):
    assert lint_series(tiny) == []
    assert main(["lint"], tiny.root) == 0
    said = capsys.readouterr().out
    assert "3 patches, 0 errors, 0 notes" in said
    assert "docker>=7.1.0: DockerExecutor uses it to communicate with the engine" in said


@pytest.mark.parametrize(
    ("pattern", "replacement", "words"),
    [
        (r"^Patch-Name: .*\n", "", "needs one trailer 'Patch-Name:"),
        (r"^Patch-Name: .*", "Patch-Name: other.patch", "its Patch-Name is 'other.patch'"),
        (r"^Patch-Name: .*", "Patch-Name: Some Name", "needs one trailer 'Patch-Name:"),
        (r"^Forwarded: .*\n", "", "needs one trailer 'Forwarded'"),
        (r"^Forwarded: .*", "Forwarded: maybe later", "has 'maybe later'"),
        (r"^Forwarded: .*", "Forwarded: no\nForwarded: no", "needs one trailer 'Forwarded'"),
        (r"^Retire-When: .*\n", "", "needs one trailer 'Retire-When'"),
        (r"^Retire-When: .*", "Retire-When: never.", "'never.'"),
        (r"^Test: .*\n", "", "needs a trailer 'Test'"),
        (r"^Test: .*", "Test: tests/contract/test_tiny.py", "is not a test id"),
        (r"^Test: .*", "Test: tests/../x.py::test_a", "is not a test id"),
        (r"^Test: .*", "Test: tests/contract/test_none.py::test_a", "does not exist"),
        (r"^Test: .*", "Test: tests/contract/test_tiny.py::test_a", "defines no 'test_a'"),
        (r"^Test: .*", "Test: tests/contract/test_tiny.py::helper", "is not a test id"),
        (r"^The reason of this .*", "Because.", "gives no reason: its message has 8 characters"),
        (r"^From: .*", "From: nobody", "has no author of the form"),
        (r"^Subject: .*\n", "Subject: \n", "has no subject"),
        (r"^Date: .*\n", "", "has no date"),
    ],
)  # fmt: skip
def test_message_that_misses_a_demand_is_an_error(tiny, pattern, replacement, words):
    edit_patch(tiny, pattern, replacement)
    found = texts(tiny, with_release=False)
    assert len(found) == 1, found
    assert words in found[0]
    assert main(["lint", "--static"], tiny.root) == 1


@pytest.mark.parametrize(
    "value", ["no", "not-needed", "no (waits for issue 12)", "https://example.org/pull/1"]
)
def test_forwarded_takes_what_dep_3_says(tiny, value):
    edit_patch(tiny, r"^Forwarded: .*", f"Forwarded: {value}")
    assert texts(tiny, with_release=False) == []


def test_trailer_may_be_folded_and_a_test_may_be_in_a_class(tiny):
    edit_patch(tiny, r"^Retire-When: .*", "Retire-When: upstream does\n it by itself")
    edit_patch(tiny, r"^Test: .*", "Test: tests/contract/test_more.py::TestMore::test_one[case-2]")
    path = tiny.root / "tests" / "contract" / "test_more.py"
    path.write_text("class TestMore:\n    async def test_one(self): ...\n")
    assert texts(tiny, with_release=False) == []


def series_with(project, path, old, new, name="extra.patch", **trailers):
    """The project with one more patch, as a developer would add it."""
    git = open_series(project, project.build / "series", force=True)
    file = git.folder / path
    text = file.read_text() if file.exists() else ""
    file.write_text(text.replace(old, new) if old else text + new)
    git.run("add", "--all")
    message = tiny_message(name, **trailers)
    message = re.sub("::test_.*", "::test_close_twice", message)
    git.run("commit", "--quiet", "-m", message)
    close_series(project, git.folder)


def test_size_is_noted_over_20_lines_and_an_error_over_40(tiny):
    line = "FIRST_2 = 2\n"
    series_with(tiny, AGENTS, line, line + "# x\n" * 21)
    assert texts(tiny) == []
    assert texts(tiny, errors=False) == [
        "changes 21 lines; aim at 20 or fewer: a hook, not the code itself"
    ]
    series_with(tiny, AGENTS, "SECOND_2 = 2\n", "SECOND_2 = 2\n" + "# x\n" * 41, "large.patch")
    assert texts(tiny) == [
        "changes 41 lines; aim at 20 or fewer: a hook, not the code itself "
        "(over 40 needs a trailer 'Size-Reason')"
    ]


def test_large_patch_with_a_reason_is_a_note(tiny):
    line = "FIRST_2 = 2\n"
    series_with(tiny, AGENTS, line, line + "# x\n" * 41, Size_Reason="it was never smaller")
    assert texts(tiny) == []
    assert len(texts(tiny, errors=False)) == 1


LINE = "FIRST_2 = 2\n"


@pytest.mark.parametrize(
    ("path", "old", "new", "words"),
    [
        ("smolagents/console.py", "return 0", "return 1",
         f"changes smolagents/console.py; a patch may change {', '.join(sorted(ALLOWED_PATHS))}"),
        ("smolagents/ours.py", "", "x = 1\n",
         "creates smolagents/ours.py; code of the fork's own belongs in smolagents_fork"),
        (AGENTS, LINE, f"{LINE}import smolagents_fork\n",
         f"imports smolagents_fork at the top level of {AGENTS}; "),
        (AGENTS, LINE, f"{LINE}import os, smolagents_fork.deadline\n",
         f"imports smolagents_fork.deadline at the top level of {AGENTS}; "),
        (AGENTS, LINE, f"{LINE}from smolagents_fork import word\n",
         f"imports smolagents_fork at the top level of {AGENTS}; "),
        (AGENTS, LINE, "FIRST_2 = (\n", f"{AGENTS}:16: does not parse any more: "),
    ],
)  # fmt: skip
def test_change_that_a_patch_may_not_make_is_an_error(tiny, path, old, new, words):
    series_with(tiny, path, old, new)
    errors = texts(tiny)
    assert sum(text.startswith(words) for text in errors) == 1, errors


def test_import_that_does_not_run_with_the_module_is_accepted(tiny):
    lines = (
        "def hook():\n    from smolagents_fork import word\n    return word\n",
        "class A:\n    async def hook(self):\n        import smolagents_fork\n",
        "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from smolagents_fork import word\n",
        "NAME = 'smolagents_fork'\n",
    )
    series_with(tiny, AGENTS, LINE, LINE + "".join(lines))
    assert texts(tiny) == []


def test_series_that_does_not_apply_is_an_error_of_the_patch(tiny):
    edit_patch(tiny, r"^@@ -\d+", "@@ -49")
    found = lint_series(tiny)
    assert [finding.where for finding in found] == ["patches/close-twice.patch"]
    assert "does not match at line" in found[0].text


def test_unlisted_patch_stops_the_lint(tiny, capsys):
    (tiny.patches / "more.patch").write_text("")
    assert main(["lint"], tiny.root) == 2
    assert "more.patch in" in capsys.readouterr().err


def test_message_is_read_as_mail():
    header = (
        b"From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n"
        b"From: =?UTF-8?q?Zo=C3=AB?= <zoe@example.org>\nDate: Thu, 29 Feb 2024 23:59:58 -0730\n"
        b"Subject: A subject\n that goes on\nMIME-Version: 1.0\n"
        b"Content-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n\n"
        b"W\xc3\xbcrld.\n\nA: b\nB: c\n d\nA: e\n\n"
    )
    message = parse_message(header)
    assert message.author == "Zoë <zoe@example.org>"
    assert message.subject == "A subject that goes on"
    assert message.body == "Würld."
    assert message.trailers == {"A": ("b", "e"), "B": ("c d",)}
    assert message.trailer("B") == "c d"
    assert message.trailer("A") is None


@pytest.mark.parametrize(
    "text", ["Only words.", "Words\n\nA: b\nnot a trailer", " A: b", "", "a\n\n\tB: c"]
)
def test_last_paragraph_that_is_no_block_gives_no_trailers(text):
    assert parse_trailers(text) == (text.strip(), {})
