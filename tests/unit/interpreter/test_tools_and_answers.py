"""Tools may not be overwritten in any form of binding, and ``final_answer`` ends a run anywhere."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from smolagents_fork.errors import ProgramRefusedError
from smolagents_fork.interpreter.guarded import Interpreter

MODULES = ("asyncio", "functools", "threading")

BINDINGS = [
    "search = 5",
    "a, *search = 1, 2",
    "search: int = 5",
    "search += 1",
    "def search(): pass",
    "async def search(): pass",
    "class search: pass",
    "import math as search",
    "from math import pi as search",
    "for search in [1]: pass",
    "with f() as search: pass",
    "try: f()\nexcept Exception as search: pass",
    "(search := 5)",
    "[search := i for i in range(2)]",
    "[[search := i for i in range(2)] for _ in range(2)]",
    "del search",
    "match 5:\n    case search: pass",
    "match [1]:\n    case [*search]: pass",
    "match {}:\n    case {**search}: pass",
    "def f():\n    global search\n    search = 5\nf()",
    "class A:\n    global search\n    search = 5",
    "(a, (b, *search)) = 1, (2, 3)",
    "import search",
    "import search.parts",
    "with f() as (a, search): pass",
    "async def f():\n    global search\n    async for search in g(): pass\nf().send(None)",
    "def f(x=(search := 1)): pass",
    "@(search := f)\ndef g(): pass",
    "class A((search := object)): pass",
    "while (search := 0): pass",
    "match 1:\n    case int(real=search): pass",
    "match 1:\n    case 1 as search: pass",
    "match [1]:\n    case [search, 1] | [1, search]: pass",
    "search: int",
    "\uff53earch = 1",
    *(
        f"def f():\n    global search\n    {form}\nf()"
        for form in (
            "del search",
            "import math as search",
            "for search in [1]: pass",
            "def search(): pass",
            "class search: pass",
            "with c() as search: pass",
            "[search := 1 for _ in [1]]",
            "try: 1 / 0\n    except ZeroDivisionError as search: pass",
            "match 1:\n        case search: pass",
        )
    ),
]

#: Where Python, a library or the program may swallow what is raised.
ANSWERS = [
    "class A:\n    final_answer(1)",
    "def g():\n    yield final_answer(1)\nlist(g())",
    "sorted([1, 0], key=final_answer)",
    "class D:\n    def __eq__(self, other): final_answer(1)\nD() in [3]",
    "import functools\nfunctools.reduce(lambda a, b: final_answer(1), [1, 2])",
    "import asyncio\nasync def m(): final_answer(1)\nasyncio.run(m())",
    "import asyncio\nasync def m(): final_answer(1)\nt = asyncio.create_task(m())\nawait t",
    "import asyncio\nasync def m(i): final_answer(i)\n"
    "await asyncio.gather(m(1), m(2), return_exceptions=True)",
    "import asyncio\nawait asyncio.to_thread(final_answer, 1)",
    "def f():\n    try: return 5\n    finally: final_answer(1)\nf()",
    "try: final_answer(1)\nfinally: 1 / 0",
    "def g():\n    try: yield 1\n    except ValueError: final_answer(1)\n"
    "i = g()\nnext(i)\ni.throw(ValueError())",
    "def g():\n    try: yield 1\n    finally: final_answer(1)\ni = g()\nnext(i)\ni.close()",
    "class A:\n    def __enter__(self): return 1\n    def __exit__(self, *a): final_answer(1)\n"
    "with A(): pass",
    "class A:\n    def __getattr__(self, n): final_answer(1)\nhasattr(A(), 'x')\n2",
    "class A:\n    def __getattr__(self, n): final_answer(1)\ngetattr(A(), 'x', 3)\n2",
    "class E(Exception):\n    def __str__(self): final_answer(1)\nraise E",
    "class M(type):\n    def __call__(cls): final_answer(1)\nclass A(metaclass=M): pass\nA()",
    "class A:\n    def __init_subclass__(cls): final_answer(1)\nclass B(A): pass",
    "max([1, 2], key=lambda x: final_answer(1))",
    "import re\nre.sub('a', lambda m: final_answer(1), 'a')",
    "import functools\nfunctools.partial(final_answer, 1)()",
    "list(map(final_answer, [1]))",
    "import asyncio\nasync def m():\n    asyncio.get_running_loop().call_soon(final_answer, 1)\n"
    "    await asyncio.sleep(0.01)\nasyncio.run(m())",
]

#: Python itself swallows what is raised there, and says so in a warning.
SWALLOWED = [
    "class A:\n    def __del__(self): final_answer(1)\na = A()\ndel a\nx = 2",
    "def g():\n    try: yield 1\n    finally: final_answer(1)\ni = g()\nnext(i)\ndel i\nx = 2",
    "import threading\nt = threading.Thread(target=final_answer, args=(1,))\nt.start()\n"
    "t.join()\n2",
    "import threading\nt = threading.Thread(target=lambda: final_answer(1))\nt.start()\n"
    "while True: pass",
]


def with_tools() -> Interpreter:
    def final_answer(answer: Any) -> Any:
        return 1 if callable(answer) else answer

    interpreter = Interpreter(MODULES)
    interpreter.send_tools({"search": lambda query: f"found {query}", "final_answer": final_answer})
    return interpreter


@pytest.mark.parametrize("code", BINDINGS)
def test_a_tool_is_not_overwritten(code: str) -> None:
    """The program may catch the refusal, and what it does not reach is not refused."""
    interpreter = with_tools()
    with pytest.raises(ProgramRefusedError, match="Cannot assign to name 'search'"):
        interpreter.run(code)
    indented = textwrap.indent(code, "    ")
    caught = f"try:\n{indented}\nexcept Exception as error:\n    text = str(error)\nsearch('x')"
    assert interpreter.run(caught).output == "found x"
    assert interpreter.state["text"].startswith("Cannot assign to name 'search': doing this would")
    assert interpreter.run(f"if False:\n{indented}\nsearch('x')").output == "found x"


@pytest.mark.parametrize(
    "code",
    ["def f(search): return search\nf(1)", "[search for search in [1]][0]",
     "def f():\n    search = 1\n    return search\nf()", "class A:\n    search = 1\nA.search"],
)  # fmt: skip
def test_a_local_name_may_be_that_of_a_tool(code: str) -> None:
    interpreter = with_tools()
    assert interpreter.run(code).output == 1
    assert interpreter.run("search('x')").output == "found x"


WARNINGS = ("PytestUnraisableExceptionWarning", "PytestUnhandledThreadExceptionWarning")
UNREPORTED = [pytest.mark.filterwarnings(f"ignore::pytest.{name}") for name in WARNINGS]


@pytest.mark.parametrize(
    "code", [*ANSWERS, *(pytest.param(code, marks=UNREPORTED) for code in SWALLOWED)]
)
def test_the_first_final_answer_ends_the_run(code: str) -> None:
    interpreter = with_tools()
    result = interpreter.run(code)
    assert (result.output, result.is_final_answer) == (1, True)
    assert interpreter.run("1 + 1").output == 2


def test_a_star_import_leaves_tools_alone() -> None:
    interpreter = Interpreter()
    interpreter.send_tools({"sqrt": lambda x: f"root of {x}"})
    result = interpreter.run("from math import *\n(sqrt(4), floor(1.5))")
    assert result.output == ("root of 4", 1)


def test_a_star_import_leaves_out_what_is_refused() -> None:
    pytest.importorskip("numpy")
    result = Interpreter(["numpy"]).run("from numpy import *\nint(array([1, 2]).sum())")
    assert result.output == 3
