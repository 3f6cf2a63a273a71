"""Docstrings open with a verb or a noun."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.docstrings import FOLDERS, OPENINGS, docstring_violations


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in FOLDERS:
        (tmp_path / folder).mkdir()
    return tmp_path


@pytest.mark.parametrize("word", sorted(OPENINGS))
def test_clause_is_reported_with_file_and_line(root: Path, word: str):
    (root / "tools" / "made.py").write_text(f'"""Parts."""\n\ndef f():\n    """{word}, it is."""\n')
    assert docstring_violations(root) == [f"tools/made.py:3: {word}, it is."]


def test_verbs_nouns_and_missing_docstrings_pass(root: Path):
    (root / "buildsys" / "made.py").write_text(
        'class A:\n    """Whole numbers."""\n    def f(self):\n        """Tell whether."""\n'
        '    def g(self):\n        return "What"\n'
    )
    assert docstring_violations(root) == []


@pytest.mark.parametrize(
    "line",
    ['"""This is no list."""', 'raise ValueError(f"{name!r} is no list")', 'x = "are no lists"'],
)
def test_is_no_is_reported(root: Path, line: str):
    (root / "buildsys" / "made.py").write_text(f"name = 1\n\ndef f():\n    {line}\n")
    (found,) = docstring_violations(root)
    assert found.startswith("buildsys/made.py:4: ")
    assert " no list" in found


def test_idioms_and_quoted_messages_of_tests_pass(root: Path):
    (root / "tools" / "made.py").write_text('x = "there is no list, and it is no longer empty"\n')
    (root / "tests" / "made.py").write_text('"""Messages."""\n\nx = "5 is no list"\n')
    assert docstring_violations(root) == []


def test_docstrings_of_tests_are_checked(root: Path):
    (root / "tests" / "made.py").write_text('"""A number is no list."""\n')
    assert docstring_violations(root) == ["tests/made.py:1: is no list"]


def test_programs_for_tests_are_not_checked(root: Path):
    (root / "tests" / "programs").mkdir()
    (root / "tests" / "programs" / "made.py").write_text("return 1 is no program\n")
    assert docstring_violations(root) == []
