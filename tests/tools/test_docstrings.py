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
