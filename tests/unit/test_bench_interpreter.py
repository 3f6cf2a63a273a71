"""The benchmark of the interpreter: what it cannot be compared with is a line and no traceback."""

from __future__ import annotations

import sys

import pytest

from tools.bench import pristine
from tools.bench.interpreter import __main__ as bench
from tools.paths import Project
from tools.upstream.fetch import FetchError


@pytest.mark.parametrize(
    ("python", "words"),
    [("/no/such/python", "/no/such/python"), (sys.executable, "a build of the fork")],
)
def test_a_python_without_upstream_is_a_line_and_an_exit_status(python, words, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench", "--upstream-python", python])
    assert bench.main() == 2
    said = capsys.readouterr().err
    assert said.startswith("bench-interpreter: ")
    assert words in said


def test_a_release_that_cannot_be_fetched_is_one_too(tmp_path, monkeypatch, capsys):
    (tmp_path / "upstream.lock").write_bytes(Project().lock.read_bytes())

    def fetch(version: str, _cache: object) -> None:
        raise FetchError(f"pip download smolagents=={version} failed: no address")

    monkeypatch.setattr(pristine, "fetch_wheel", fetch)
    monkeypatch.setattr(pristine, "Project", lambda: Project(tmp_path))
    monkeypatch.setattr(sys, "argv", ["bench"])
    monkeypatch.delenv("UPSTREAM_PYTHON", raising=False)
    assert bench.main() == 2
    assert "bench-interpreter: pip download smolagents==" in capsys.readouterr().err
