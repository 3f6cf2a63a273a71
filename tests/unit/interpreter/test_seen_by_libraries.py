"""Program classes, functions and variables as libraries see them."""

from __future__ import annotations

import inspect
import os
import pickle
import sys
import threading
import warnings
from typing import Any

import case_harness
import pytest
from background import at_once, run_python, running

from smolagents_fork.interpreter.guarded import Interpreter
from smolagents_fork.interpreter.guarded.compiling.program import compile_program
from smolagents_fork.interpreter.guarded.modules import places

CASES = [*case_harness.read_cases(case_harness.PROGRAMS / "own_process" / "libraries.py")]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_library_sees_what_it_sees_in_python(case: case_harness.Case) -> None:
    ours = Interpreter(["*"])
    ours.run(case.code)
    assert f"{ours.run('result').output!r}\n" == run_python(f"{case.code}print(repr(result))")


class HostClass:
    """A class of the host, which its tools pickle."""


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_forked_copy_has_nothing_of_another_threads_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other, own = threading.get_ident() + 1, threading.get_ident()
    monkeypatch.setitem(places._routes, other, object())  # type: ignore[arg-type]
    monkeypatch.setitem(places._routes, own, object())  # type: ignore[arg-type]
    child = os.fork()
    if child == 0:
        os._exit(0 if list(places._routes) == [own] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert other in places._routes


@pytest.mark.filterwarnings("error")
def test_threads_that_compile_leave_the_host_its_filters_of_warnings() -> None:
    def compile_often() -> None:
        for number in range(300):
            compile_program(f"{number} is 1\n1()", frozenset(), frozenset(), 1)

    before, interval = list(warnings.filters), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        at_once(compile_often, compile_often)
    finally:
        sys.setswitchinterval(interval)
    (_, _, _, module, _), *others = warnings.filters
    assert getattr(module, "pattern", None) == "<program "
    assert others == before
    with pytest.raises(UserWarning):
        warnings.warn("of the host", UserWarning, stacklevel=1)


def test_tools_and_other_threads_find_the_main_module_of_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "HostClass", HostClass, raising=False)
    monkeypatch.setattr(HostClass, "__module__", "__main__")
    seen: list[Any] = []

    def look() -> None:
        seen.append(type(pickle.loads(pickle.dumps(HostClass()))))

    def tool() -> None:
        look()
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()

    interpreter = Interpreter()
    interpreter.send_tools({"tool": tool})
    namespace = vars(main)
    interpreter.run("HostClass = 1\ntool()")
    assert seen == [HostClass] * 2
    assert vars(main) is namespace
    assert type(main) is type(sys)


def test_programs_in_two_threads_each_find_their_own() -> None:
    first, second = Interpreter(["pickle"]), Interpreter(["pickle"])
    second.send_tools({"other": lambda: None})
    code = "import pickle\nclass A: n = {}\nother()\npickle.loads(pickle.dumps(A)).n"

    def during() -> None:
        assert second.run(code.format(2)).output == 2

    first.send_tools({"other": during})
    with running(first.run, code.format(1)) as call:
        assert call.result().output == 1


def test_tracebacks_have_the_lines_of_the_program() -> None:
    code = (
        "import traceback, inspect\ndef f():\n    return 1 / 0\ntry: f()\n"
        "except ZeroDivisionError: text = traceback.format_exc()\ntext, inspect.getsource(f)"
    )
    text, source = Interpreter(["traceback", "inspect"]).run(code).output
    assert "    return 1 / 0\n" in text
    assert source == "def f():\n    return 1 / 0\n"


def test_no_namespace_has_a_name_of_the_interpreter() -> None:
    interpreter = Interpreter(["*"])
    interpreter.run(
        "def make(k):\n    def f(o):\n        while k < 0: pass\n        o._x = k * o._x\n"
        "        return [i * i for i in range(3)]\n    return f\nf = make(2)\n"
        "class A:\n    n = 0\n    while n < 3: n += 1\n    _x = n * n\n"
        "    def m(self): return self.x"
    )
    f, cls = interpreter.state["f"], interpreter.state["A"]
    code = f.__code__
    names = {*code.co_names, *code.co_freevars, *code.co_cellvars, *f.__globals__, *f.__builtins__}
    assert not [name for name in {*names, *vars(cls)} if "@" in name]
    assert inspect.getclosurevars(f) == ({"k": 2}, {}, {"range": range}, {"_x"})
    assert isinstance(hash(code), int)
    assert isinstance(hash(cls.m.__code__), int)


def test_what_counts_in_a_function_does_not_leave_the_process() -> None:
    with pytest.raises(TypeError, match="a program's function cannot leave the process"):
        pickle.dumps(Interpreter().meter.ticks)
