"""Other Pythons are found on the path and among pyenv's; one that is not there is named."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools import pythons
from tools.pythons import find_python

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="make and shell scripts")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose only Pythons are those of the test."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.delenv("REQUIRE_PYTHONS", raising=False)
    return tmp_path


def add(folder: Path, name: str, text: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_python_on_the_path_comes_first(machine: Path):
    add(machine / "pyenv/versions/3.13.0/bin", "python3.13", "echo 3.13 False")
    assert find_python("3.13") == str(machine / "pyenv/versions/3.13.0/bin/python3.13")
    first = add(machine / "bin", "python3.13", "echo 3.13 False")
    assert find_python("3.13") == first


def test_newest_of_pyenv_takes_the_place_of_a_shim_that_fails(machine: Path):
    add(machine / "bin", "python3.13", "exit 127")
    add(machine / "pyenv/versions/3.13.9/bin", "python3.13", "echo 3.13 False")
    newest = add(machine / "pyenv/versions/3.13.10/bin", "python3.13", "echo 3.13 False")
    assert find_python("3.13") == newest


def test_another_version_and_a_free_threaded_build_are_not_taken(machine: Path):
    add(machine / "bin", "python3.13", "echo 3.12 False")
    add(machine / "pyenv/versions/3.13.0t/bin", "python3.13", "echo 3.13 True")
    assert find_python("3.13") is None


def test_missing_python_is_named_and_fails_only_where_it_is_required(
    machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    assert pythons.main(["3.12", "3.13"]) == 0
    assert capsys.readouterr().out == (
        "Python 3.12: not on the path and not among pyenv's\n"
        "Python 3.13: not on the path and not among pyenv's\n"
    )
    monkeypatch.setenv("REQUIRE_PYTHONS", "3.13 3.14")
    assert pythons.main(["3.12", "3.13"]) == 1
    assert capsys.readouterr().err == "failed: Python 3.13\n"


@pytest.mark.parametrize(("status", "word"), [(0, "passed"), (2, "failed")])
def test_tests_run_with_the_python_that_was_found(
    machine: Path, capfd: pytest.CaptureFixture[str], status: int, word: str
):
    program = add(machine / "bin", "python3.13", "echo 3.13 False")
    add(machine / "bin", "make", f'echo "make $*"\nexit {status}')
    assert pythons.main(["3.13"]) == (1 if status else 0)
    lines = capfd.readouterr().out.splitlines()
    assert lines[:2] == [
        f"Python 3.13: {program}",
        f"make --no-print-directory test-python PYTHON={program}",
    ]
    assert lines[2].startswith(f"Python 3.13: {word} in ")
