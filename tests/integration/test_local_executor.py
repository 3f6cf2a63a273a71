"""LocalPythonExecutor under upstream's interface, and the examples of upstream's documentation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from smolagents import local_python_executor as upstream
from smolagents.default_tools import FinalAnswerTool

from smolagents_fork import errors
from smolagents_fork.executors.local import LocalPythonExecutor, evaluate_python_code


def executor(*imports: str, **keywords: Any) -> LocalPythonExecutor:
    made = LocalPythonExecutor(list(imports), **keywords)
    made.send_tools({"final_answer": FinalAnswerTool()})
    return made


# The examples of upstream's "Secure code execution" page, with the words it shows.
@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            'import os\nexit_code = os.system("echo Bad command")',
            "Import of os is not allowed. Auth",
        ),
        ("import random\nrandom._os.system('echo Bad command')", "Forbidden access to module: os"),
        (
            "while True:\n    pass",
            "Maximum number of 1000000 iterations in While loop exceeded",
        ),
        ("!echo Bad command", "Code parsing failed on line 1 due to: SyntaxError"),
    ],
)
def test_documented_examples(code: str, words: str) -> None:
    with pytest.raises(upstream.InterpreterError) as caught:
        executor()(code)
    assert words in str(caught.value)
    assert isinstance(caught.value, errors.InterpreterError)


def test_errors_are_ours_and_upstreams() -> None:
    with pytest.raises(upstream.ExecutionTimeoutError) as caught:
        executor(timeout_seconds=0.2)("import time\ntime.sleep(9)")
    assert isinstance(caught.value, errors.TimeLimitExceededError)
    with pytest.raises(upstream.InterpreterError) as failed:
        executor()("1 / 0")
    assert isinstance(failed.value, errors.ProgramFailedError)
    assert isinstance(failed.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    "code",
    [
        "final_answer(42)",
        "for i in range(9):\n    final_answer(42)",
        "def f():\n    final_answer(42)\nf()",
        "try:\n    final_answer(42)\nexcept BaseException:\n    pass\nprint('never')",
        "try:\n    final_answer(42)\nfinally:\n    x = 1",
        "[final_answer(answer=42) for _ in range(3)]",
    ],
)
def test_final_answer_ends_the_run_from_anywhere(code: str) -> None:
    result = executor()(code)
    assert (result.output, result.is_final_answer) == (42, True)
    assert result.logs == ""


def test_final_answer_cannot_be_overwritten() -> None:
    with pytest.raises(upstream.InterpreterError, match="would erase the existing tool"):
        executor()("final_answer = 3")


def test_constructor_is_upstreams() -> None:
    made = LocalPythonExecutor(
        ["json"],
        max_print_outputs_length=10,
        additional_functions={"double": lambda x: 2 * x},
        timeout_seconds=5,
    )
    made.send_tools({})
    made.send_variables({"y": 4})
    assert made("double(y)").output == 8
    assert made.state["y"] == 4
    assert made.authorized_imports == sorted({*upstream.BASE_BUILTIN_MODULES, "json"})
    assert made("sqrt(16)").output == 4.0
    assert isinstance(made, upstream.PythonExecutor)
    assert LocalPythonExecutor.supports_managed_agents is True


def test_missing_authorised_module_is_said_at_once() -> None:
    with pytest.raises(
        upstream.InterpreterError, match="Non-installed authorized modules: i_do_not_exist"
    ):
        LocalPythonExecutor(["i_do_not_exist"])


def test_what_was_printed_before_an_error_is_kept() -> None:
    made = executor()
    with pytest.raises(upstream.InterpreterError):
        made("print('seen')\n1 / 0")
    assert str(made.state["_print_outputs"]) == "seen\n"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("value = 1\nvlaue", "The variable `vlaue` is not defined. Did you mean: 'value'"),
        ("undefined()", "Forbidden function evaluation: 'undefined' is not among"),
        ("d = {'Bhutan': 1}\nd['Butan']", "Maybe you meant one of these indexes instead"),
        ("def f():\n    raise ValueError('no')\n\nf()", "Line 2, in f\n    raise ValueError('no')"),
        ("import yaml", "additional_authorized_imports=['yaml']"),
    ],
)
def test_errors_help(code: str, words: str) -> None:
    with pytest.raises(upstream.InterpreterError) as caught:
        executor()(code)
    assert words in str(caught.value)


def test_evaluate_python_code_has_upstreams_signature_and_result() -> None:
    state: dict[str, Any] = {"x": 3}
    tools: dict[str, Callable[..., Any]] = {"add_two": lambda x: x + 2}
    assert evaluate_python_code("y = add_two(x)", tools, state=state) == (5, False)
    assert state["y"] == 5
    assert evaluate_python_code("final_answer(1)", {"final_answer": lambda x: x}) == (1, True)
    with pytest.raises(upstream.InterpreterError, match="Cannot assign to name 'print'"):
        evaluate_python_code("print = 3", {"print": print}, state={})


def test_a_tool_shows_only_what_describes_it() -> None:
    class Search(FinalAnswerTool):  # type: ignore[misc]
        name = "search"
        secret = "key"

    made = executor()
    made.send_tools({"search": Search()})
    assert made("search(7)").output == 7
    assert made("search.name").output == "search"
    with pytest.raises(upstream.InterpreterError, match="no attribute 'secret'"):
        made("search.secret")
