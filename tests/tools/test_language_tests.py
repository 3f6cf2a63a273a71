"""The run of CPython's language tests: what is taken out, counted and refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools.language_tests import __main__ as command
from tools.language_tests.__main__ import measure
from tools.language_tests.programs import (
    find_test_folder,
    imported_modules,
    program_text,
    without_line,
)

FILE = """\
import unittest
from contextlib import _GeneratorContextManager, contextmanager

def refused():
    return eval("1")

class Tests(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(1 + 1, 2)

    def test_code(self):
        self.assertTrue(self.test_sum.__code__)

    def test_helper(self):
        self.assertEqual(refused(), 1)

    def test_wrong_everywhere(self):
        self.assertEqual(1, 2)

if __name__ == "__main__":
    unittest.main()
"""


def test_main_block_is_left_out_and_lines_keep_their_numbers():
    text = program_text(FILE)
    assert "unittest.main" not in text
    assert text.count("\n") == FILE.count("\n")


def test_modules_are_found_with_their_packages():
    text = "import a.b\ndef f():\n    from c.d import e\nfrom . import x\n"
    assert imported_modules(text) == ["a", "a.b", "c", "c.d", "c.d.e"]


@pytest.mark.parametrize(
    ("line", "error", "first_line"),
    [
        (5, "E: no eval", "def refused(*_a, **_k): raise AssertionError"),
        (12, "E: no __code__", "    def test_code(*_a, **_k): raise AssertionError"),
        (2, "E: no name _GeneratorContextManager", "from contextlib import contextmanager"),
        (1, "E: no module unittest", "pass"),
    ],
)
def test_smallest_part_is_taken_out(line: int, error: str, first_line: str):
    before = program_text(FILE).splitlines()
    shorter = without_line(program_text(FILE), line, error)
    assert shorter is not None
    after = shorter.splitlines()
    assert len(after) == len(before)
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert changed[0].startswith(first_line)
    assert set(changed[1:]) <= {""}


def test_only_methods_that_cpython_passes_are_counted(tmp_path: Path):
    path = tmp_path / "test_made_up.py"
    path.write_text(FILE)
    result = measure("test_made_up", path)
    assert result.counted == ["Tests.test_code", "Tests.test_helper", "Tests.test_sum"]
    assert result.kept == 1
    assert "__code__" in result.failures["Tests.test_code"]
    assert "eval" in result.failures["Tests.test_helper"]


def test_process_that_ends_or_hangs_costs_its_method_only(tmp_path: Path):
    path = tmp_path / "test_ends.py"
    path.write_text(
        "import os, time, unittest\n"
        "class Tests(unittest.TestCase):\n"
        "    def test_a(self):\n        pass\n"
        "    def test_b(self):\n        os._exit(3)\n"
        "    def test_c(self):\n        time.sleep(3600)\n"
        "    def test_d(self):\n        pass\n"
    )
    result = measure("test_ends", path, seconds=1.0)
    assert result.counted == ["Tests.test_a", "Tests.test_d"]
    assert result.kept == 2


def test_file_that_is_not_listed_is_a_line_and_an_exit_status(monkeypatch, capsys):
    if find_test_folder() is None:
        pytest.skip("this Python has no package 'test'")
    monkeypatch.setattr(sys, "argv", ["language_tests", "test_nothing"])
    assert command.main() == 2
    assert "test-language: test_nothing: not listed in" in capsys.readouterr().err


def test_python_without_the_test_package_is_told_how_to_get_it(monkeypatch, capsys):
    monkeypatch.setattr(command, "find_test_folder", lambda: None)
    monkeypatch.setattr(sys, "argv", ["language_tests"])
    assert command.main() == 2
    said = capsys.readouterr().err
    assert f"{sys.executable} has no package 'test'" in said
    assert "-testsuite" in said
