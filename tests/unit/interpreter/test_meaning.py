"""Values, counts, state and the suppositions about numbers."""

from __future__ import annotations

from typing import Any

import pytest

from smolagents_fork import LocalPythonExecutor
from smolagents_fork.errors import InterpreterError, LimitExceededError
from smolagents_fork.interpreter.guarded import Interpreter, RunLimits


def run(code: str, **variables: Any) -> Any:
    interpreter = Interpreter()
    interpreter.send_variables(variables)
    return interpreter.run(code).output


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("x = 3 + 4", 1),
        ("for i in range(1000): pass", 1001),
        ("i = 0\nwhile i < 1000: i += 1", 1002),
        ("[i for i in range(1000)]", 1001),
        ("{i: i for i in range(10) for j in range(100)}", 1011),
        ("def f(): pass\nfor i in range(500): f()", 1001),
        ("f = lambda: int()\nlist(map(lambda i: f(), range(500)))", 1001),
        ("for i in range(500): tool()", 501),
        ("for i in range(500):\n    if i == 9: final_answer(i)", 11),
    ],
)
def test_rounds_and_calls_are_counted(code: str, count: int) -> None:
    interpreter = Interpreter()
    interpreter.send_tools({"tool": lambda: None, "final_answer": lambda value: value})
    interpreter.run(code)
    # One for the program itself. The clock decides about the portions in which ticks are booked.
    assert interpreter.meter.count == count


def test_state_is_kept_and_holds_nothing_of_ours() -> None:
    interpreter = Interpreter()
    interpreter.run("def f(x): return x + y\ny = 2")
    assert interpreter.run("f(3)").output == 5
    assert set(interpreter.state) == {"__name__", "f", "y", "_print_outputs", "_operations_count"}


SMALL = RunLimits(max_text_length=10_000, max_items=10_000, max_integer_bits=10_000)


@pytest.mark.parametrize(
    "code",
    [
        # Each looks numeric at a first glance, and is not.
        "t = 1\ndef f():\n    global t\n    t = 'ab'\nf()\nfor i in range(99):\n    t *= 101",
        "def f(t):\n    for i in range(99):\n        t *= 101\nf('ab')",
        "def f():\n    t = 1\n    def g():\n        nonlocal t\n        t = 'ab'\n    g()\n"
        "    for i in range(99):\n        t *= 101\nf()",
        "def len(x): return 'ab'\nt = len(0)\nfor i in range(99):\n    t = t * 101",
        "s = 1\nfor s in ['ab']: pass\nfor i in [0] * 99:\n    s *= 101",
        "s = 1\n[s := 'ab' for _ in [0]]\nfor i in [0] * 99:\n    s = s * 101",
        "s = 1\nfrom string import ascii_letters as s\nfor i in [0] * 99:\n    s *= 101",
    ],
)
def test_what_only_looks_numeric_is_guarded(code: str) -> None:
    with pytest.raises(LimitExceededError):
        Interpreter(["string"], limits=SMALL).run(code)


def test_a_run_inside_a_run_is_refused() -> None:
    executor = LocalPythonExecutor([])
    executor.send_tools({"again": lambda: executor("1"), "show": executor.text_of_output})
    with pytest.raises(InterpreterError, match="use another one for a run inside a run"):
        executor("again()")
    assert executor("2").output == 2
    shown = executor("class A: pass\nshow(A())").output
    assert shown == "<A whose str() raised InterpreterError>"
    assert executor("A is not None").output is True
