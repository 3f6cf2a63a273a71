"""No test lies where pytest does not look."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


def test_no_folder_of_tests_is_left_out(pytestconfig: pytest.Config) -> None:
    # pytest's own list names "build" and "dist", for instance.
    patterns = pytestconfig.getini("norecursedirs")
    files = [file.relative_to(TESTS) for file in TESTS.rglob("test_*.py")]
    left_out = [
        str(file)
        for file in files
        if file.parts[0] != "upstream"  # what is laid over upstream's own tests
        and any(fnmatch(part, pattern) for part in file.parts[:-1] for pattern in patterns)
    ]
    assert left_out == []
    assert Path("build/test_tree.py") in files
