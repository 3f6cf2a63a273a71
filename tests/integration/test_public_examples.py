"""Every public class and function has an example in its docstring, and it runs."""

from __future__ import annotations

import builtins
import doctest
import gc
import inspect
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_model import Script
from smolagents import CodeAgent

import smolagents_fork
from smolagents_fork import codec

PUBLIC: dict[str, Any] = {
    name: getattr(smolagents_fork, name)
    for name in smolagents_fork.__all__
    if callable(getattr(smolagents_fork, name))
}
#: Names whose examples start containers.
DOCKER = {"AgentProgramError", "AgentSandbox", "DockerEngine", "DockerExecutor", "DockerPool"}
DOCKER |= {"ImageBuildError"}
WASM = {"WasmExecutor", "WasmPool"}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def answer_yes(prompt: str = "") -> str:
    """Answer a question as a person at a terminal, whose answer is shown beside it."""
    print(f"{prompt}yes")
    return "yes"


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Return the names that a reader has; their executors are closed at the end."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(builtins, "input", answer_yes)
    names: dict[str, Any] = {
        **PUBLIC,
        "CodeAgent": CodeAgent,
        "codec": codec,
        "model": Script(*["final_answer(42)"] * 9),
        "threading": threading,
    }
    yield names
    for value in list(names.values()):
        if isinstance(value, smolagents_fork.ProcessExecutor | smolagents_fork.LocalPythonExecutor):
            value.cleanup()
    gc.collect()


def marks(name: str) -> list[pytest.MarkDecorator]:
    docker = [pytest.mark.docker] if name in DOCKER else []
    return docker + ([pytest.mark.wasm] if name in WASM else [])


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in PUBLIC])
def test_example_runs(name: str, reader: dict[str, Any]) -> None:
    text = inspect.getdoc(PUBLIC[name]) or ""
    example = doctest.DocTestParser().get_doctest(text, reader, name, None, 0)
    assert [one for one in example.examples if not one.options.get(doctest.SKIP)], "no example"
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(example, out=report.append, clear_globs=False)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)
