"""Every form of function is counted, whoever calls it."""

from __future__ import annotations

import pytest
from background import run_python
from program_harness import stopped

from smolagents_fork.errors import ProgramFailedError
from smolagents_fork.interpreter.guarded import Interpreter, RunLimits

SMALL = RunLimits(max_operations=20_000, timeout_seconds=300)


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
        ("async def g():\n    for i in range(3): yield i\nasync for x in g(): pass", 8),
        ("async def g():\n    for i in range(3): yield i\n[x async for x in g()]", 8),
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


EXPONENTIAL = {
    "early return after documentation": (
        "def f(n):\n    'Doc.'\n    if n < 1: return n\n    return f(n - 1) + f(n - 1)\nf(40)"
    ),
    "conditional": "def f(n): return f(n - 1) + f(n - 1) if n else 1\nf(40)",
    "lambda": "f = lambda n: (f(n - 1) or f(n - 1)) if n else 0\nf(60)",
    "generator": (
        "def g(n):\n    if n == 0: return\n    yield from g(n - 1)\n    yield from g(n - 1)\n"
        "list(g(60))"
    ),
    "list of calls": "def f(n):\n    return n and [f(n - 1) for _ in (1, 2)]\nf(40)",
    "method": (
        "class A:\n    def __getitem__(self, k):\n        if k == 0: return 1\n"
        "        return self[k - 1] + self[k - 1]\nA()[40]"
    ),
}


@pytest.mark.parametrize("code", EXPONENTIAL.values(), ids=EXPONENTIAL)
def test_exponential_recursion_ends_at_the_limit(code: str) -> None:
    assert "Reached the max number of operations of 20000" in stopped(code, SMALL)


ENDLESS = {
    "function": "def f(): return f()\nf()",
    "lambda": "f = lambda: f()\nf()",
    "operator": "class A:\n    def __add__(self, o): return o + self\nA() + A()",
    "comparison": (
        "class A:\n    def __lt__(self, o): return o > self\n"
        "    def __gt__(self, o): return o < self\nA() < A()"
    ),
    "item": "class A:\n    def __getitem__(self, k): return self[k]\nA()[0]",
    "attribute": "class A:\n    def __getattr__(self, k): return self.other\nA().x",
    "truth": "class A:\n    def __bool__(self): return not self\nbool(A())",
    "signs in a circle": (
        "class A:\n    def __neg__(self): return +self\n    def __pos__(self): return -self\n-A()"
    ),
}


@pytest.mark.parametrize("code", ENDLESS.values(), ids=ENDLESS)
def test_endless_recursion_is_pythons_own_error(code: str) -> None:
    interpreter = Interpreter()
    with pytest.raises(ProgramFailedError, match="goes deeper than max_recursion_depth allows"):
        interpreter.run(code)
    caught = f"try:\n    {code.splitlines()[-1]}\n"
    caught += "except RecursionError:\n    r = 'caught'\nr"
    whole = "\n".join([*code.splitlines()[:-1], caught])
    assert interpreter.run(whole).output == "caught"


@pytest.mark.parametrize(
    "code",
    [
        "def f(x): return x + 1\nfor i in range(10**9): f(i)",
        "def f(x): return x + 1\nlist(map(f, range(10**9)))",
        "def f(x): return x + 1\n[f(i) for i in range(10**9)]",
        "def f(x): return x\nall(f(i) == i for i in range(10**9))",
        "class A:\n    def __next__(self): return 1\n    def __iter__(self): return self\n"
        "for x in A(): pass",
        "class A:\n    def __getitem__(self, k): return k\nfor x in A(): pass",
        "def f(n):\n    if n: return n\n    return f(1)\nwhile True: f(1)",
    ],
)
def test_small_functions_are_counted(code: str) -> None:
    stopped(code, SMALL)


PROTOCOLS = {
    "__next__": (
        "class A:\n    def __next__(self): return 1\n    def __iter__(self): return self\n"
    ),
    "__getitem__": "class A:\n    def __getitem__(self, k): return k\n",
}
HEAD = """
import os, sys, resource
from smolagents_fork.errors import LimitExceededError
from smolagents_fork.interpreter.guarded import Interpreter, RunLimits
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
try:
    Interpreter(limits=RunLimits(max_operations=20_000)).run(sys.argv[1])
except LimitExceededError:
    print("ended", flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
@pytest.mark.parametrize("use", ["list(A())", "2.5 in A()"])
def test_c_code_that_calls_a_method_without_end_is_stopped(protocol: str, use: str) -> None:
    """In a process of its own, which is killed if it does not end."""
    assert run_python(HEAD, protocol + use, timeout=25) == "ended\n"
