"""Tools may not be overwritten in any form of binding, and ``final_answer`` ends a run anywhere."""

from __future__ import annotations

from typing import Any

import pytest

from smolagents_fork.errors import ProgramRefusedError
from smolagents_fork.interpreter import Interpreter

MODULES = ("asyncio", "contextlib", "functools", "threading")

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
    "if True:\n    search = 2",
]

ANSWERS = [
    "def f():\n    final_answer(1)\nf()",
    "for i in range(3):\n    if i: final_answer(i)",
    "(lambda: final_answer(1))()",
    "[final_answer(i) for i in (1, 2)]",
    "class A:\n    final_answer(1)",
    "def g():\n    yield final_answer(1)\nlist(g())",
    "sorted([1, 0], key=final_answer)",
    "try:\n    final_answer(1)\nexcept BaseException:\n    pass\nx = 2",
    "def f():\n    try:\n        final_answer(1)\n    finally:\n        return 2\nf()",
    "while True:\n    try:\n        final_answer(1)\n    finally:\n        continue",
    "import contextlib\nwith contextlib.suppress(BaseException):\n    final_answer(1)\n2",
    "class D:\n    def __eq__(self, other): final_answer(1)\nD() in [3]",
    "import functools\nfunctools.reduce(lambda a, b: final_answer(1), [1, 2])",
    "import asyncio\nasync def m(): final_answer(1)\nasyncio.run(m())",
    "import asyncio\nasync def m(): final_answer(1)\nt = asyncio.create_task(m())\nawait t",
    "import asyncio\nasync def m(i): final_answer(i)\n"
    "await asyncio.gather(m(1), m(2), return_exceptions=True)",
    "import asyncio\nawait asyncio.to_thread(final_answer, 1)",
    "@final_answer\ndef f(): pass",
    "f'{final_answer(1)}'",
]


def with_tools() -> Interpreter:
    def final_answer(answer: Any) -> Any:
        return 1 if callable(answer) else answer

    interpreter = Interpreter(MODULES)
    interpreter.send_tools({"search": lambda query: f"found {query}", "final_answer": final_answer})
    return interpreter


@pytest.mark.parametrize("code", BINDINGS)
def test_a_tool_is_not_overwritten(code: str) -> None:
    interpreter = with_tools()
    with pytest.raises(ProgramRefusedError, match="Cannot assign to name 'search'"):
        interpreter.run(code)
    assert interpreter.run("search('x')").output == "found x"


@pytest.mark.parametrize(
    "code",
    ["def f(search): return search\nf(1)", "[search for search in [1]][0]",
     "def f():\n    search = 1\n    return search\nf()", "class A:\n    search = 1\nA.search"],
)  # fmt: skip
def test_a_local_name_may_be_that_of_a_tool(code: str) -> None:
    interpreter = with_tools()
    assert interpreter.run(code).output == 1
    assert interpreter.run("search('x')").output == "found x"


@pytest.mark.parametrize("code", ANSWERS)
def test_the_first_final_answer_ends_the_run(code: str) -> None:
    interpreter = with_tools()
    result = interpreter.run(code)
    assert (result.output, result.is_final_answer) == (1, True)
    assert interpreter.run("1 + 1").output == 2


def test_handlers_may_clean_up_after_a_final_answer() -> None:
    code = "try:\n    final_answer(1)\nfinally:\n    for i in range(2000): pass\n    print('done')"
    assert with_tools().run(code).logs == "done\n"


def test_a_star_import_leaves_tools_alone() -> None:
    interpreter = Interpreter()
    interpreter.send_tools({"sqrt": lambda x: f"root of {x}"})
    result = interpreter.run("from math import *\n(sqrt(4), floor(1.5))")
    assert result.output == ("root of 4", 1)


def test_a_star_import_leaves_out_what_is_refused() -> None:
    pytest.importorskip("numpy")
    result = Interpreter(["numpy"]).run("from numpy import *\nint(array([1, 2]).sum())")
    assert result.output == 3
