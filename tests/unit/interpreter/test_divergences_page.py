"""docs/divergences.md: every row is run, and says what `local` does."""

from __future__ import annotations

import time

import pytest

from smolagents_fork.executors.local import LocalPythonExecutor
from tools.paths import ROOT

PAGE = (ROOT / "docs" / "divergences.md").read_text("utf-8")
CPYTHON, UPSTREAM, _NAMES = (
    part.split("\n|---")[1].split("\n\n")[0] for part in PAGE.split("\n\n| ")[1:]
)
MODULES = (
    *("argparse", "asyncio", "collections", "concurrent.futures", "contextlib", "enum", "json"),
    *("math", "numpy", "operator", "pickle", "random", "statistics", "sys"),
    *("threading", "time", "types"),
)
TRY = "try:\n    {}\nexcept BaseException as error:\n    caught = type(error).__name__\ncaught"

#: Start of a row -> its programs, each with a part of its value's ``repr`` or of its error. Calls
#: of one executor are parted by "---"; the outcome is that of the last one. A third part is another
#: time limit than the table's, in seconds.
ROWS_OF_CPYTHON: dict[str, list[tuple[str, str]]] = {
    "`open`, except for": [
        *((f"{call}\n1", f"'{call.partition('(')[0]}' is not among the explicitly allowed")
          for call in ("open('x')", "exec('1')", "eval('1')", "compile('1', '', 'eval')", "input()",
                       "globals()", "breakpoint()", "exit()", "quit()", "__import__('os')",
                       "locals()")),
        ("def f(x): return locals()\nf(1)", "'locals' is not among the explicitly allowed"),
        ("def f(x): return dir()\nf(1)", "Forbidden call to dir() without an argument"),
    ],
    "an import that": [
        ("import os", "Import of os is not allowed"),
        ("try:\n    import os\nexcept ModuleNotFoundError as e:\n    r = type(e).__name__\nr",
         "'ImportRefusedError'"),
        ("from . import x", "Relative imports are not possible here: there is no package"),
    ],
    "a module's private names": [
        ("import random\nrandom._inst", "Forbidden access to attribute: _inst of module 'random'"),
        ("import random\nrandom._os", "Forbidden access to module: os"),
        ("import statistics\nstatistics.Counter, statistics.math", "<module 'math'>"),
        ("import json\njson.codecs", "Forbidden access to module: codecs"),
    ],
    "a name set on a module": [
        ("import types\nA = types.new_class('A')\nA.x = 3", "Cannot assign to 'x' of class 'A'"),
        ("import json\njson.dumps = 3", "Cannot assign to 'dumps' of module 'json'"),
        ("import json\njson.dumps.x = 3", "Cannot assign to 'x' of function 'dumps'"),
        ("import json\njson.JSONEncoder.x = 3", "Cannot assign to 'x' of class 'JSONEncoder'"),
    ],
    "`x._name` of an object": [
        ("import random\nrandom.Random()._randbelow(3)", "private to the object's own library"),
        ("from collections import namedtuple\nN = namedtuple('N', 'a')\nn = N(1)\n"
         "n._fields, n._asdict(), n._replace(a=2), N._make([3])",
         "(('a',), {'a': 1}, N(a=2), N(a=3))"),
        ("import enum\nclass C(enum.Enum):\n    A = 1\nC.A._value_, C.A._name_", "(1, 'A')"),
        ("class A: _x = 3\nA()._x", "3"),
    ],
    "a pattern that reads": [
        (f"class C: _A = 1\nmatch 1:\n    case {pattern}: pass", "attribute in a pattern: _")
        for pattern in ("C._A", "C(_a=1)")
    ],
    "`__mro__`, `__bases__`": [
        *((f"int.{name}", f"dunder attribute: {name}, except on classes of your own")
          for name in ("__mro__", "__bases__", "__base__")),
        ("int.__subclasses__()", "__subclasses__, except on classes of your own"),
        ("r = [int.__dict__]", "Forbidden access to dunder attribute: __dict__"),
        ("class A: pass\nA.__mro__[1:], A.__bases__, A.__base__, A.__subclasses__()",
         "((<class 'object'>,), (<class 'object'>,), <class 'object'>, [])"),
    ],
    "`__globals__`, `__code__`": [
        *((f"def f(): pass\nf.{name}", f"Forbidden access to dunder attribute: {name}")
          for name in ("__globals__", "__code__", "__closure__")),
        ("try: 1 / 0\nexcept Exception as e: r = e\nr.__traceback__", "attribute: __traceback__"),
        ("(i for i in [1]).gi_frame", "Forbidden access to attribute: gi_frame"),
    ],
    "any other dunder": [
        ("x = 3\nx.__reduce__", "Forbidden access to dunder attribute: __reduce__"),
        ("__tag__ = 1", "Cannot assign to name '__tag__'"),
        ("def f(__tag__): pass", "Cannot use '__tag__' as the name of a parameter"),
        ("class A: __tag__ = 1\n'set'", "'set'"),
    ],
    "`x.__class__`, `x.__dict__`, or": [
        ("class A: pass\nx = A()\nx.__class__", "dunder attribute: __class__; use type(x)"),
        ("class A: pass\nx = A()\nx.__dict__", "dunder attribute: __dict__; use vars(x)"),
        ("class A: pass\nx = A()\ny = x.__dict__", "dunder attribute: __dict__; use vars(x)"),
        ("class A: pass\nx = A()\n(type(x) is A, vars(x), x.__class__ is A, x.__dict__)",
         "(True, {}, True, {})"),
    ],
    "`vars()` without": [
        ("vars()", "Forbidden call to vars() without an argument"),
        ("import math\nvars(math)", "Forbidden call to vars() of a module"),
        ("vars(int)", "Forbidden call to vars() of class 'int'"),
    ],
    "`vars(x)` of an object of the host": [
        ("import argparse\nv = vars(argparse.Namespace(a=1, _b=2))\nv", "mappingproxy({'a': 1})"),
    ],
    "a tool's name assigned": [
        ("tool = 3", "Cannot assign to name 'tool': doing this would erase the existing tool!"),
        *((code, "Cannot assign to name 'tool'")
          for code in ("def tool(): pass", "class tool: pass", "import json as tool",
                       "for tool in 'a': pass")),
        ("def f():\n    tool = 3\n    return tool\nf()", "3"),
    ],
    "`help(x)`": [("help('json')", "Help on class str in module builtins:")],
    "`sys.stdin`, `sys.stdout`": [
        ("import sys\nprint('a', file=sys.stderr)\n"
         "(sys.stdin.read(), *(name in sys.modules for name in ('json', 'os', 'no such')))",
         "('', True, False, False)"),
        ("import pickle\nclass A: pass\npickle.loads(pickle.dumps(A())).__class__ is A", "True"),
    ],
    "`print`, `getattr`, `operator.mul`": [
        ("import asyncio, operator\n"
         "sorted({type(f).__name__ for f in (print, getattr, operator.mul,\n"
         "    operator.attrgetter, asyncio.run)})", "['function', 'method']"),
    ],
    "`Thread`, `Timer`": [
        ("import threading, concurrent.futures as c\nclass T(threading.Thread): pass\n"
         "isinstance(threading.Timer(1, print), threading.Thread), T.__mro__[2].__module__",
         "(True, 'threading')"),
    ],
    "threads at the end": [
        ("import threading, time\nsaid = []\n"
         "threading.Thread(target=lambda: (time.sleep(0.2), said.append(1))).start()\n---\nsaid",
         "[1]"),
        ("import threading, time\nticks = []\ndef poll():\n    while True:\n"
         "        ticks.append(1)\n        time.sleep(0.01)\n"
         "threading.Thread(target=poll, daemon=True).start()\n---\ntime.sleep(0.1)\n"
         "n = len(ticks)\ntime.sleep(0.1)\nlen(ticks) == n", "True"),
    ],
    "a pool of threads": [
        ("import concurrent.futures as c\npool = c.ThreadPoolExecutor(1)\n"
         "pool.submit(abs, -1).result()\n---\npool.submit(abs, -1)",
         "cannot schedule new futures after shutdown"),
    ],
    "`await` and annotations": [
        ("async def f(): return 3\nawait f()", "3"),
        ("x: int = 3\n__annotations__", "NameError: name '__annotations__' is not defined"),
        ("x: y = 3", "NameError: name 'y' is not defined"),
    ],
    "functions of a program that numba": [],  # see test_functions_of_numba of tests/contract
    "`SystemExit` of": [
        ("raise SystemExit", "None"),
        ("raise SystemExit(0)", "None"),
        ("raise SystemExit(2)", "SystemExit: 2 (exit status 2)"),
    ],
    "`KeyboardInterrupt` of": [("raise KeyboardInterrupt", "due to: KeyboardInterrupt")],
    "an integer over": [
        *((TRY.format(code), words) for code, words in (
            ("2 ** 1_000_001", "may make 1000000 (max_integer_bits)"),
            ("1 << 1_000_001", "may make 1000000 (max_integer_bits)"),
            ("[0] * 20_000_001", "may make 20000000 (max_items)"),
            ("'a' * 100_000_001", "may make 100000000 (max_text_length)"),
            ("'a'.zfill(100_000_001)", "may make 100000000 (max_text_length)"),
            ("while True: pass", "Maximum number of 1000000 iterations in While loop exceeded"),
        )),
    ],
}  # fmt: skip
ROWS_OF_UPSTREAM: dict[str, list[tuple[str, str] | tuple[str, str, float]]] = {
    "a program that upstream's": [
        ("class A:\n    x = 1\n    y = [x for _ in 'a']", "NameError: name 'x' is not defined"),
        ("try:\n    raise KeyError('a')\nexcept (ValueError, KeyError) as e:\n    r = e.args\nr",
         "('a',)"),
    ],
    "a misspelt name": [("total = 3\ntotl", "Did you mean: 'total'")],
    "`sum = 3`": [
        ("sum = 3\nsum", "3"),
        ("def f():\n    tool = 3\n    return tool\nf()", "3"),
    ],
    "an instance of a program's subclass": [
        ("class T(str):\n    def __repr__(self): return 'own'\nT('a')", "'a'"),
    ],
    "a `def` or `class` at": [("def f(): pass", "None"), ("class A: pass", "None")],
    "a `while`, `with` or `try`": [
        ("n = 0\nwhile n < 2:\n    n += 1", "2"),
        ("import contextlib\nwith contextlib.nullcontext():\n    3", "3"),
        ("try:\n    1 / 0\nexcept ZeroDivisionError:\n    'handled'", "'handled'"),
        ("if True:\n    3", "3"),
        ("for n in range(3):\n    n", "2"),
    ],
    "`import numpy.linalg`": [("import numpy.linalg\nfloat(numpy.linalg.det([[1.0]]))", "1.0")],
    "`try: import x`": [("try: import zzz\nexcept ImportError: r = 'handled'\nr", "'handled'")],
    "`final_answer(...)` inside": [
        ("def f():\n    try: final_answer(3)\n    finally: return 4\nf()\ntool(1)", "final: 3"),
        ("ran = []\ntry: final_answer(3)\nfinally: ran.append(1)\n---\nran", "[]"),
    ],
    "a program past": [
        ("n = 0\nfor i in range(10**9): n += 1", "exceeded the maximum execution time of 1 sec", 1),
        ("n = 0\ntry:\n    for i in range(10**9): n += 1\nexcept BaseException: pass\n---\n"
         "before = n\nwait(0.2)\n(n == before, n > 0)", "(True, True)", 2),
    ],
    "the time a tool works": [("wait(3.2)\n'done'", "'done'")],
    "`max_operations`": [
        ("n = 0\nfor i in range(300_000):\n    n += 1 + 2 * 3 - 4 + 5 * 6 - 7 + 8 * 9\nn > 0",
         "True"),
    ],
    "a tool called in a copy": [],  # see tests/contract/test_local_copies.py
}  # fmt: skip


def first_cells(table: str) -> list[str]:
    return [row.split(" | ")[0].removeprefix("| ") for row in table.splitlines()[1:]]


def outcome(code: str, executor: LocalPythonExecutor) -> str:
    """Return what the last of the calls in ``code`` gives."""
    made = ""
    for call in code.split("\n---\n"):
        try:
            result = executor(call)
        except Exception as error:
            made = str(error)
        else:
            made = f"{'final: ' * result.is_final_answer}{result.output!r}{result.logs}"
    return made


def executor(seconds: float) -> LocalPythonExecutor:
    made = LocalPythonExecutor(MODULES, timeout_seconds=seconds)
    made.send_tools({"tool": abs, "wait": time.sleep, "final_answer": lambda answer: answer})
    return made


@pytest.mark.parametrize(
    ("code", "expected", "seconds"),
    [
        (*one, seconds)[:3]
        for table, seconds in ((ROWS_OF_CPYTHON, 60), (ROWS_OF_UPSTREAM, 3))
        for programs in table.values()
        for one in programs
    ],
)
def test_program_gets_what_the_row_says(code: str, expected: str, seconds: float) -> None:
    assert expected in outcome(code, executor(seconds))


@pytest.mark.parametrize(
    ("table", "programs"), [(CPYTHON, ROWS_OF_CPYTHON), (UPSTREAM, ROWS_OF_UPSTREAM)]
)
def test_every_row_has_a_program(table: str, programs: dict[str, object]) -> None:
    rows = first_cells(table)
    assert len(rows) == len(programs) > 5
    for row, begin in zip(rows, programs, strict=True):
        assert row.startswith(begin)
