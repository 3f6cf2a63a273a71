"""LocalPythonExecutor under upstream's interface, and the examples of upstream's documentation."""

from __future__ import annotations

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


# The examples of upstream's "Secure code execution" page. Each message is the one shown there, with
# the line's number added.
AUTHORISED = (
    "['collections', 'datetime', 'itertools', 'math', 'numpy', 'queue', 'random', 're', 'stat', "
    "'statistics', 'time', 'unicodedata']"
)
DOCUMENTED = [
    (
        "!echo Bad command",
        "Code parsing failed on line 1 due to: SyntaxError: invalid syntax (<unknown>, line 1)"
        "\n    !echo Bad command\n    ^"
        "\nCommands of notebooks and shells are not Python, and are not run here",
    ),
    (
        "import os; exit_code = os.system('echo Bad command')",
        "Code execution failed at line 'import os' (line 1) due to: InterpreterError: "
        f"Import of os is not allowed. Authorized imports are: {AUTHORISED}. "
        "To allow it, the agent's author can pass additional_authorized_imports=['os']",
    ),
    (
        "import random; random._os.system('echo Bad command')",
        "Code execution failed at line 'random._os.system('echo Bad command')' (line 1) due to: "
        "InterpreterError: Forbidden access to module: os",
    ),
    (
        "while True:\n    pass\n",
        "Code execution failed at line 'while True:\n    pass' (line 2) due to: "
        "InterpreterError: Maximum number of 1000000 iterations in While loop exceeded "
        "(max_while_iterations raises it)",
    ),
]


@pytest.mark.parametrize(("code", "message"), DOCUMENTED)
def test_documented_examples(code: str, message: str) -> None:
    made = executor("numpy")
    with pytest.raises(upstream.InterpreterError) as caught:
        made(code)
    assert str(caught.value) == message
    assert isinstance(caught.value, errors.InterpreterError)
    assert made("1 + 1").output == 2


def test_errors_are_ours_and_upstreams() -> None:
    with pytest.raises(upstream.ExecutionTimeoutError) as caught:
        executor(timeout_seconds=0.2)("import time\ntime.sleep(9)")
    assert isinstance(caught.value, errors.TimeLimitExceededError)
    with pytest.raises(upstream.InterpreterError) as failed:
        executor()("1 / 0")
    assert isinstance(failed.value, errors.ProgramFailedError)
    assert isinstance(failed.value.__cause__, ZeroDivisionError)


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


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("value = 1\nvlaue", "The variable `vlaue` is not defined. Did you mean: 'value'"),
        ("d = {'Bhutan': 1}\nd['Butan']", "Maybe you meant one of these indexes instead"),
    ],
)
def test_errors_help(code: str, words: str) -> None:
    with pytest.raises(upstream.InterpreterError) as caught:
        executor()(code)
    assert words in str(caught.value)


def test_a_library_that_looks_elsewhere_for_a_file_is_explained() -> None:
    made = executor("zipfile", files={"data.zip": b"1"})
    advice = "\nLibraries look for files elsewhere: pass open('./data.zip', 'rb') to them"
    for name, text in (("./data.zip", advice), ("other.zip", "")):
        with pytest.raises(upstream.InterpreterError) as caught:
            made(f"import zipfile\nzipfile.ZipFile({name!r})")
        assert str(caught.value).endswith(f"No such file or directory: {name!r}{text}")
    made.cleanup()


def test_evaluate_python_code_holds_what_its_documentation_says() -> None:
    def helper(x: int) -> int:
        return x + 1

    static, custom = {"tool": lambda x: x * 2}, {"helper": helper}
    state: dict[str, Any] = {"a": 1}
    assert evaluate_python_code("b = tool(helper(a))", static, custom, state) == (4, False)
    assert {"a": 1, "b": 4}.items() <= state.items()
    assert state["_operations_count"]["counter"] > 0
    assert evaluate_python_code("final_answer(1)", {"final_answer": lambda x: x}) == (1, True)
    # What may be overwritten is, for the runs with that state; the caller's dict is the caller's.
    overwrite = "def helper(x): return 'mine'\nhelper(1)"
    assert evaluate_python_code(overwrite, static, custom, state) == ("mine", False)
    assert evaluate_python_code("helper(1)", static, custom, state) == ("mine", False)
    assert custom == {"helper": helper}
    for refused in ("tool = 1", "def tool(): pass", "class tool: pass", "del tool"):
        with pytest.raises(upstream.InterpreterError, match="erase the existing tool"):
            evaluate_python_code(refused, static, custom, state)
    with pytest.raises(upstream.InterpreterError, match="Cannot assign to name 'print'"):
        evaluate_python_code("print = 3", {"print": print}, state={})
    # The list of imports is the whole list, and the default is upstream's.
    with pytest.raises(upstream.InterpreterError, match="Import of math is not allowed"):
        evaluate_python_code("import math", authorized_imports=["json"])
    assert evaluate_python_code("import math\nmath.floor(2.5)") == (2, False)
    evaluate_python_code("print('x' * 100)", state=state, max_print_outputs_length=20)
    assert "truncated to stay below 20 characters" in str(state["_print_outputs"])
    with pytest.raises(upstream.ExecutionTimeoutError):
        evaluate_python_code("import time\ntime.sleep(9)", timeout_seconds=0.2)
    assert evaluate_python_code("1 + 1", timeout_seconds=None) == (2, False)


def test_the_state_is_a_dict_that_both_sides_write() -> None:
    made = executor()
    state = made.state
    made("x = [1]\ndef f(): return x, y")
    state["y"] = 5
    state["x"].append(2)
    assert made("f()").output == ([1, 2], 5)
    assert made.state is state
    del state["x"]
    with pytest.raises(upstream.InterpreterError, match="name 'x' is not defined"):
        made("k = 1\nf()")
    assert state["k"] == 1
    made.state = {"z": 3}
    assert made("z").output == 3
    # What is counted for the host to read is no limit that a program could set back.
    made = executor(max_operations=20_000)
    with pytest.raises(upstream.InterpreterError, match="max number of operations of 20000"):
        made("for i in range(10**6):\n    _operations_count['counter'] = -10**9")


def test_output_in_the_state_is_the_programs_where_its_value_has_a_str() -> None:
    made = executor()
    inspected = (
        "class A:\n    def __getattribute__(self, name): return super().__getattribute__(name)"
    )
    made(f"{inspected}\nprint('printed')\nA()")
    assert str(made.state["_print_outputs"]) == "printed\n"


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
