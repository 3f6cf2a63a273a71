"""Every row of the table of overrides does what its reason says, and what the library does."""

from __future__ import annotations

import importlib
import inspect

import pytest
from case_harness import run_ours, run_reference

from smolagents_fork.errors import InterpreterError, LimitExceededError, TimeLimitExceededError
from smolagents_fork.interpreter.guarded import Interpreter, RunLimits
from smolagents_fork.interpreter.guarded.modules.overrides import OVERRIDES

ALL = sorted({module for module, _member in OVERRIDES})

#: For each row: a program that means the same in CPython.
WORKS = {
    "operator.attrgetter": "class A:\n    b = 1\n    c = str\nresult = "
    "operator.attrgetter('b')(A), operator.attrgetter('b', 'c.__name__')(A)",
    "operator.methodcaller": "class A:\n    def _b(self, *a, **k): return a, k\n"
    "call = operator.methodcaller\n"
    "result = call('_b', 1, k=2)(A()), call('upper')('x'), call('ljust', 3)('x')",
    "string.Formatter": "result = string.Formatter().format('{0.real:>5}|{a[0]}', 3, a=[1])",
    "importlib.import_module": "result = importlib.import_module('math').sqrt(4)",
    "sys.modules": "result = sys.modules['math'].pi, 'math' in sys.modules",
    "sys.stdin": "result = hasattr(sys.stdin, 'readline')",
    "sys.stdout": "result = sys.stdout.write('x'), sys.stdout.writable()",
    "sys.stderr": "result = sys.stderr.write('xy'), sys.stderr.flush()",
    "contextlib.redirect_stdout": "import io\nt = io.StringIO()\n"
    "with contextlib.redirect_stdout(t): print('in')\nresult = t.getvalue()",
    "contextlib.redirect_stderr": "import io\nt = io.StringIO()\n"
    "with contextlib.redirect_stderr(t): print('in', file=sys.stderr)\nresult = t.getvalue()",
    "time.sleep": "result = time.sleep(0)",
    "threading.Thread": "r = []\nt = threading.Thread(target=r.append, args=(1,), name='n')\n"
    "t.start(); t.join()\nresult = r, t.name, t.is_alive()",
    "threading.Timer": "r = []\nt = threading.Timer(0.01, r.append, [1])\nt.start(); t.join()\n"
    "result = r",
    "concurrent.futures.ThreadPoolExecutor": "with concurrent.futures.ThreadPoolExecutor(2) as p:\n"
    "    result = list(p.map(abs, [-1, 2])), p.submit(pow, 2, 3).result()",
    "asyncio.run": "async def f(): return await asyncio.sleep(0, 3)\nresult = asyncio.run(f())",
    "asyncio.get_event_loop": "async def f():\n"
    "    return asyncio.get_event_loop() is asyncio.get_running_loop()\n"
    "result = asyncio.run(f())",
    "operator.mul": "result = operator.mul(3, 'a')",
    "operator.pow": "result = operator.pow(3, 4)",
    "operator.lshift": "result = operator.lshift(3, 4)",
}
#: For each row: a program that the override refuses or ends, and the words.
HELD = {
    "operator.attrgetter": ("operator.attrgetter('__globals__')(lambda: 0)", "Forbidden"),
    "operator.methodcaller": (
        "operator.methodcaller('__getattribute__', '__globals__')(lambda: 0)",
        "Forbidden",
    ),
    "string.Formatter": ("string.Formatter().format('{0.__base__}', int)", "Forbidden"),
    "importlib.import_module": ("importlib.import_module('os')", "Forbidden access to module: os"),
    "sys.modules": ("sys.modules['os']", "Forbidden access to module: os"),
    "operator.mul": ("operator.mul('a', 10**10)", "A multiplication would make"),
    "operator.pow": ("operator.pow(10, 10**10)", "A power would make"),
    "operator.lshift": ("operator.lshift(1, 10**10)", "A shift would make"),
}
#: For each row that waits: a wait without an end.
WAITS = {
    "time.sleep": "time.sleep(500)",
    "threading.Thread": "t = threading.Thread(target=time.sleep, args=(500,))\nt.start(); t.join()",
    "concurrent.futures.ThreadPoolExecutor": "p = concurrent.futures.ThreadPoolExecutor(1)\n"
    "p.submit(time.sleep, 500).result()",
    "asyncio.run": "asyncio.run(asyncio.sleep(500))",
    "asyncio.get_event_loop": "loop = asyncio.get_event_loop()\n"
    "loop.run_until_complete(asyncio.sleep(500))",
}
IMPORTS = "".join(f"import {module}\n" for module in ALL)


def test_the_table_has_at_most_forty_rows_each_with_a_reason() -> None:
    assert len(OVERRIDES) <= 40
    for (module, member), (reason, _maker) in OVERRIDES.items():
        assert hasattr(importlib.import_module(module), member)
        assert reason


def test_every_row_is_exercised() -> None:
    rows = {f"{module}.{member}" for module, member in OVERRIDES}
    # What displays does not do what the library does; tests/contract has its tests.
    displays = {f"{m}.{n}" for (m, n), (why, _) in OVERRIDES.items() if why.startswith("displays")}
    assert set(WORKS) == rows - displays
    assert set(HELD) <= rows
    assert set(WAITS) <= rows
    waits = {f"{m}.{n}" for (m, n), (why, _) in OVERRIDES.items() if why in ("waits",)}
    assert waits <= set(WAITS)
    large = {f"{m}.{n}" for (m, n), (why, _) in OVERRIDES.items() if why == "large"}
    assert large <= set(HELD)


@pytest.mark.parametrize("code", WORKS.values(), ids=WORKS)
def test_an_override_does_what_the_library_does(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = IMPORTS + code
    expected = run_reference(code)
    assert not expected.error
    assert run_ours(code, interpreter=Interpreter([*ALL, "io"])).value == expected.value


@pytest.mark.parametrize(("code", "words"), HELD.values(), ids=HELD)
def test_an_override_refuses_or_ends(code: str, words: str) -> None:
    limits = RunLimits(max_operations=100_000, timeout_seconds=300)
    interpreter = Interpreter(ALL, limits=limits)
    with pytest.raises(InterpreterError) as caught:
        interpreter.run(IMPORTS + code)
    assert words in str(caught.value)
    if "would make" in words or "operations" in words:
        assert isinstance(caught.value, LimitExceededError)


@pytest.mark.parametrize("code", WAITS.values(), ids=WAITS)
def test_an_override_that_waits_keeps_the_deadline(code: str) -> None:
    interpreter = Interpreter(ALL)
    interpreter.run(IMPORTS)
    interpreter.limits = RunLimits(timeout_seconds=0.2)
    with pytest.raises(TimeLimitExceededError):
        interpreter.run(code)


@pytest.mark.parametrize("row", sorted(f"{m}.{n}" for m, n in OVERRIDES))
def test_an_override_bears_the_name_of_what_it_stands_for(row: str) -> None:
    module, _, member = row.rpartition(".")
    real = getattr(importlib.import_module(module), member)
    if not (inspect.isclass(real) or inspect.isroutine(real)):
        return
    interpreter = Interpreter(ALL)
    made = interpreter.run(f"import {module}\n{module}.{member}").output
    again = interpreter.run(f"from {module} import {member}\n{member}").output
    assert made is again or row.startswith("contextlib.")
    if inspect.isclass(real) and inspect.isclass(made):
        assert made.__name__ == real.__name__
        assert made.__module__ == real.__module__.lstrip("_")
