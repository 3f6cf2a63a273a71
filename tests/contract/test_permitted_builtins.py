"""Builtins that a user permits: the interpreter refuses them by itself."""

from __future__ import annotations

import builtins
import io
import sys
from pathlib import Path

import pytest
import smolagents
from smolagents import LocalPythonExecutor
from smolagents.local_python_executor import BASE_PYTHON_TOOLS, evaluate_python_code

from smolagents_fork.errors import ConfigurationError
from smolagents_fork.interpreter.guarded.policy import REFUSED_BUILTINS

REFUSED = "'open' is not among the explicitly allowed tools"


@pytest.fixture
def code(tmp_path: Path) -> str:
    """A program that reads a file of the host."""
    (tmp_path / "data.txt").write_text("rows")
    return f"with open({str(tmp_path / 'data.txt')!r}) as file:\n    text = file.read()\ntext"


@pytest.mark.parametrize("sent", [False, True])
def test_a_builtin_is_permitted_later(code: str, sent: bool) -> None:
    executor = LocalPythonExecutor([])
    with pytest.raises(smolagents.local_python_executor.InterpreterError, match=REFUSED):
        executor(code)
    executor.additional_functions = {"open": open}
    if sent:
        executor.send_tools({})
    assert executor(code).output == "rows"
    del executor.additional_functions["open"]
    with pytest.raises(smolagents.local_python_executor.InterpreterError, match=REFUSED):
        executor(code)
    executor.additional_functions["open"] = open
    assert executor(code).output == "rows"
    executor.additional_functions = {"open": "not a function"}
    with pytest.raises(ConfigurationError, match=r"additional_functions\['open'\]"):
        executor(code)


def test_upstreams_table_of_functions_is_read_at_each_call(
    monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    executor = LocalPythonExecutor([])
    executor.send_tools({})
    monkeypatch.setitem(BASE_PYTHON_TOOLS, "open", open)
    monkeypatch.setitem(BASE_PYTHON_TOOLS, "len", lambda _: 42)
    monkeypatch.setitem(BASE_PYTHON_TOOLS, "mine", lambda: 7)
    assert executor(code).output == "rows"
    assert executor("(len('abc'), mine(), sqrt(4))").output == (42, 7, 2)
    assert evaluate_python_code(code, BASE_PYTHON_TOOLS, {}, {})[0] == "rows"
    monkeypatch.undo()
    assert executor("len('abc')").output == 3
    with pytest.raises(smolagents.local_python_executor.InterpreterError, match=REFUSED):
        executor(code)


def test_upstreams_own_table_keeps_the_guards() -> None:
    executor = LocalPythonExecutor([], additional_functions=dict(BASE_PYTHON_TOOLS))
    with pytest.raises(smolagents.local_python_executor.InterpreterError, match="Forbidden"):
        executor("getattr(1, '__reduce__')")


def test_input_that_is_permitted_reads_what_the_host_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("typed\n"))
    executor = LocalPythonExecutor([], additional_functions={"input": input})
    assert executor("input()").output == "typed"


@pytest.mark.parametrize("name", sorted(REFUSED_BUILTINS))
def test_every_refused_builtin_can_be_permitted(name: str) -> None:
    if not hasattr(builtins, name):
        pytest.skip("the site module, which defines it, was not imported")
    permitted = LocalPythonExecutor([], additional_functions={name: getattr(builtins, name)})
    assert permitted(f"{name} is not None").output is True
    own = LocalPythonExecutor([], additional_functions={name: lambda *_: "mine"})
    assert own(f"{name}()").output == "mine"
