"""The state of an interpreter: kept between runs, and collected with it."""

from __future__ import annotations

import contextlib
import gc
import weakref

import pytest

from smolagents_fork import LocalPythonExecutor
from smolagents_fork.errors import InterpreterError
from smolagents_fork.interpreter.guarded import Interpreter, RunLimits

PROGRAMS = [
    "import math\nx = 1\nfor i in range(3): x = x * math.pi",
    "from math import *\ndef f():\n    from json import dumps\n    return dumps(1)\nf()",
    "class A:\n    def m(self): return self._x\n    def f(self): return dir(), type('B', (), {})",
    "import sys, asyncio, threading\nsys.stdout\nasync def f(): return 1\nasyncio.run(f())\n"
    "t = threading.Thread(target=lambda: print(1))\nt.start(); t.join()",
    "def f():\n    while True: pass\nf()",
    "def f(): 1 / 0\nf()",
    "def f(): return [x ** 2 for x in range(3)]\nfinal_answer(f)",
    "def g():\n    yield '{0._x}'.format(g)\nlist(map(str, g()))",
]


@pytest.mark.parametrize("code", PROGRAMS)
def test_interpreter_is_collected(code: str) -> None:
    interpreter = Interpreter(
        ["json", "sys", "asyncio", "threading"], limits=RunLimits(max_operations=100_000)
    )
    interpreter.send_tools({"final_answer": lambda value: value})
    with contextlib.suppress(InterpreterError):
        interpreter.run(code)
    reference = weakref.ref(interpreter)
    del interpreter
    gc.collect()
    assert reference() is None


def test_function_of_a_program_outlives_its_interpreter() -> None:
    code = "def f(n):\n    total = 0\n    for i in range(n): total += i * i\n    return total\nf"
    function = Interpreter().run(code).output
    gc.collect()
    assert function(4) == 14


def test_state_is_kept_and_holds_nothing_of_ours() -> None:
    interpreter = Interpreter()
    interpreter.run("def f(x): return x + y\ny = 2")
    assert interpreter.run("f(3)").output == 5
    assert set(interpreter.state) == {"__name__", "f", "y", "_print_outputs", "_operations_count"}


def test_a_run_inside_a_run_is_refused() -> None:
    executor = LocalPythonExecutor([])
    executor.send_tools({"again": lambda: executor("1"), "show": executor.text_of_output})
    with pytest.raises(InterpreterError, match="use another one for a run inside a run"):
        executor("again()")
    assert executor("2").output == 2
    shown = executor("class A: pass\nshow(A())").output
    assert shown == "<A whose str() raised InterpreterError>"
    assert executor("A is not None").output is True
