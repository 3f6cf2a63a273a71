"""The interpreter's benchmark: a failed comparison prints a line, not a traceback."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tools.bench import pristine
from tools.bench.interpreter import __main__ as bench
from tools.bench.interpreter.first_run import LONG, FirstRun, corpus, imported, new_text, summary
from tools.bench.interpreter.page import section
from tools.bench.interpreter.programs import PROGRAMS
from tools.paths import Project
from tools.upstream.fetch import FetchError


@pytest.mark.parametrize(
    ("python", "words"),
    [("/no/such/python", "/no/such/python"), (sys.executable, "a build of the fork")],
)
def test_python_without_upstream_gives_a_line_and_an_exit_status(
    python, words, monkeypatch, capsys
):
    monkeypatch.setattr(sys, "argv", ["bench", "--upstream-python", python])
    assert bench.main() == 2
    said = capsys.readouterr().err
    assert said.startswith("bench-interpreter: ")
    assert words in said


def test_unfetchable_release_gives_a_line_and_an_exit_status(tmp_path, monkeypatch, capsys):
    (tmp_path / "upstream.lock").write_bytes(Project().lock.read_bytes())

    def fetch(version: str, _cache: object) -> None:
        raise FetchError(f"pip download smolagents=={version} failed: no address")

    monkeypatch.setattr(pristine, "fetch_wheel", fetch)
    monkeypatch.setattr(pristine, "Project", lambda: Project(tmp_path))
    monkeypatch.setattr(sys, "argv", ["bench"])
    monkeypatch.delenv("UPSTREAM_PYTHON", raising=False)
    assert bench.main() == 2
    assert "bench-interpreter: pip download smolagents==" in capsys.readouterr().err


def test_checkout_without_the_interpreter_gives_a_line_and_an_exit_status(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(bench, "interpreters", lambda _options: {})
    monkeypatch.setattr(sys, "argv", ["bench", "--checkout", str(tmp_path)])
    assert bench.main() == 2
    assert capsys.readouterr().err == (
        f"bench-interpreter: no smolagents_fork/interpreter in {tmp_path}\n"
    )


def test_program_names_are_unique():
    names = [program.name for program in PROGRAMS]
    assert len(set(names)) == len(names)


def test_corpus_of_first_runs_has_the_everyday_programs_and_one_of_1000_lines():
    texts = corpus()
    assert len(texts) > 10
    assert texts[LONG].count("\n") == 1000
    assert "collections" in imported(list(texts.values()))
    for text in texts.values():
        compile(new_text(text, "a mark"), "<program>", "exec")


def test_first_run_ends_before_the_program_runs():
    engine = bench.Engine("fork", sys.executable, 60.0)
    try:
        answer = engine.ask(first=[new_text("1 / 0\n", "a mark")], modules=[])
    finally:
        engine.close()
    assert len(answer["seconds"]) == 1


def test_ratio_is_the_median_over_the_rounds():
    row = bench.Row("x", 10, 1, base=[1.0, 2.0, 4.0], base_small=[0.5, 0.5, 0.5])
    row.seconds = {"fork": [3.0, 2.0, 8.0], "upstream": [5.0, 6.0, 7.0]}
    assert row.ratio("fork") == 2.0
    assert row.ratio("upstream") == 12.0
    assert row.ratio("monty") is None
    assert row.cpython == 2.0


def document(ratio: float = 1.2, first: float = 0.004) -> dict[str, Any]:
    seconds = {"cpython": [0.001], "fork": [first], "upstream": [0.002]}
    return {
        "date": "2026-01-01T00:00:00+00:00",
        "machine": {
            "cores": 2, "processor": "P", "system": "S", "python": "3.11", "load_before": 0.1,
        },
        "rounds": 3,
        "geometric_means": {"fork": ratio, "upstream": 90.0},
        "call_seconds": {"cpython": 0.001, "fork": 0.003, "upstream": 0.01},
        "new_call_seconds": {},
        "first_run": summary([FirstRun("a", 3, seconds), FirstRun(LONG, 1000, seconds)]),
        "programs": [
            {
                "name": "p",
                "cpython": 0.1,
                "ratios": {"fork": ratio, "upstream": None},
                "errors": {"upstream": "`no` such thing"},
            }
        ],
    }  # fmt: skip


def test_page_is_one_table_of_multiples_of_the_floor():
    text, reached = section(document())
    assert reached
    assert "| program | floor | upstream | now | goal |" in text
    assert "| p | 100 ms | cannot | 1.20 | <= 2.2 reached |" in text
    assert "| **geometric mean** |  | 90.00 | 1.20 | <= 1.3 reached |" in text
    assert '| call `ex("1+1")` after the first | 1.000 ms | 10.00 | 3.00 |  |' in text
    assert "| first run, 1 everyday programs | 1.0 ms | 2.00 | 4.00 | <= 8 reached |" in text
    assert "| first run, one of 1,000 lines | 1.0 ms | 2.00 | 4.00 | <= 8 reached |" in text
    assert "- p, upstream: `'no' such thing`" in text
    assert text.count("|---|") == 1


@pytest.mark.parametrize("changes", [{"ratio": 1.4}, {"ratio": 2.1}, {"first": 0.009}])
def test_slower_than_a_goal_is_missed(changes):
    text, reached = section(document(**changes))
    assert not reached
    assert "MISSED" in text
