"""The budgets of the interpreter; each of their checks can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.layers import PACKAGE
from tools.paths import ROOT
from tools.rooms import (
    MOST_LINES,
    MOST_OVERRIDES,
    line_count,
    override_rows,
    rooms_violations,
)

INTERPRETER = ROOT / PACKAGE / "interpreter" / "guarded"


def test_interpreter_keeps_to_its_budgets():
    assert rooms_violations(ROOT / PACKAGE) == []


def test_interpreter_does_not_grow():
    assert line_count(INTERPRETER) <= MOST_LINES


def test_table_of_overrides_has_at_most_40_rows():
    rows = override_rows(INTERPRETER)
    if rows is None:
        pytest.skip("interpreter/guarded/modules/overrides.py does not exist yet")
    assert 0 < rows <= MOST_OVERRIDES


@pytest.fixture
def tree(tmp_path: Path):
    """Write files of an example package and return its violations."""

    def write(files: dict[str, str]) -> list[str]:
        for name, text in files.items():
            path = tmp_path / "interpreter" / "guarded" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return rooms_violations(tmp_path)

    return write


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (
            {"policy.py": "#\n" * (MOST_LINES + 1)},
            f"interpreter/guarded/ has {MOST_LINES + 1:,} lines; at most {MOST_LINES:,} "
            "are allowed",
        ),
        (
            {"modules/overrides.py": f"OVERRIDES = ({'1, ' * (MOST_OVERRIDES + 1)})\n"},
            "OVERRIDES has 41 rows; at most 40 are allowed",
        ),
        (
            {"modules/overrides.py": "OVERRIDES = {**OTHER}\n"},
            "interpreter/guarded/modules/overrides.py: OVERRIDES is not a literal whose rows "
            "can be counted",
        ),
        (
            {"modules/overrides.py": "TABLE = {}\n"},
            "interpreter/guarded/modules/overrides.py has no table OVERRIDES",
        ),
    ],
)
def test_violation_is_found(tree, files: dict[str, str], words: str):
    assert words in tree(files)


def test_rows_inside_a_call_are_counted(tmp_path: Path):
    path = tmp_path / "modules" / "overrides.py"
    path.parent.mkdir()
    path.write_text("OVERRIDES = MappingProxyType({'a': 1, 'b': 2})\n")
    assert override_rows(tmp_path) == 2
