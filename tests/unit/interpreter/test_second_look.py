"""The second look at the clock breaks off a program's library code, and nothing of the host's."""

from __future__ import annotations

import asyncio
import decimal
import difflib
import random
import sys
import threading
import time
import traceback
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from interpreter_clock import hurry

from smolagents_fork.errors import InterpreterError, TimeLimitExceededError
from smolagents_fork.interpreter import Interpreter, Limits, meter, watch

pytestmark = pytest.mark.skipif(sys.platform == "emscripten", reason="no threads in Wasm")
# Minutes, where nothing breaks it off.
SLOW = "difflib.SequenceMatcher(None, 'ab' * 30_000, 'ba' * 30_000, False).ratio()"


class Hosts:
    """An object of the host's, handed to programs as a variable."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.interpreter: Interpreter

    def loop(self) -> None:
        hurry(self.interpreter, 0.1)
        end = time.monotonic() + 0.8
        while time.monotonic() < end:
            pass
        self.done.append("loop")

    def library(self) -> None:
        hurry(self.interpreter, 0.1)
        end = time.monotonic() + 0.8
        while time.monotonic() < end:
            difflib.SequenceMatcher(None, "ab" * 50, "ba" * 50, False).ratio()
        self.done.append("library")

    def hurry(self) -> None:
        hurry(self.interpreter, 0.1)

    def back(self, function: Any) -> None:
        hurry(self.interpreter, 0.1)
        try:
            function()
        finally:
            self.done.append("back")


def late(code: str, imports: list[str], hosts: Hosts) -> None:
    """Run ``code``, whose time is soon over once it is with the host, or in ``hosts.hurry()``."""
    limits = Limits(timeout_seconds=300, max_operations=10**12, max_while_iterations=10**12)
    ours = hosts.interpreter = Interpreter(imports, limits=limits)
    ours.send_variables({"hosts": hosts})
    with pytest.raises(TimeLimitExceededError):
        ours.run(code)


def test_library_code_is_broken_off() -> None:
    started = time.monotonic()
    late(f"import difflib\nhosts.hurry()\n{SLOW}", ["difflib"], Hosts())
    assert time.monotonic() - started < 60


def test_a_programs_function_is_broken_off_below_the_hosts() -> None:
    hosts = Hosts()
    late(f"import difflib\nhosts.back(lambda: {SLOW})", ["difflib"], hosts)
    assert hosts.done == ["back"]


@pytest.mark.parametrize("name", ["loop", "library"])
def test_the_hosts_code_is_not(name: str) -> None:
    hosts = Hosts()
    late(f"hosts.{name}()\nwhile True: pass", [], hosts)
    assert hosts.done == [name]


def test_an_import_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "import hosts_clock, time\nhosts_clock.hurry()\n"
        "end = time.monotonic() + 0.8\nwhile time.monotonic() < end: pass\nx = 1\n"
    )
    hosts = Hosts()
    clock = types.ModuleType("hosts_clock")
    clock.hurry = hosts.hurry  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "hosts_clock", clock)
    (tmp_path / "slow_to_import.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    late("import slow_to_import\nwhile True: pass", ["slow_to_import"], hosts)
    assert sys.modules.pop("slow_to_import").x == 1


# -- at every place --

_LIBRARY = (
    "import asyncio, copy, decimal, fractions, json, random, statistics, string, textwrap\n"
    "import warnings\n"
)
#: Each is endless; what it calls is Python's own code, tools and what the host lends.
BUSY = {
    "tools": "while True: tool(1)",
    "tools in finally": "while True:\n    try: tool(1)\n    finally: other(2)",
    "callbacks": "while True: other(lambda: textwrap.fill('a b ' * 20, 5))",
    "settings": (
        "while True:\n    decimal.getcontext().prec += 1\n"
        "    with warnings.catch_warnings():\n        warnings.simplefilter('error')\n"
        "        tool(random.random())\n    random.seed(1)"
    ),
    "tools that print": "while True: tool(print(copy.deepcopy([1])))",
    "library": "while True: statistics.stdev([fractions.Fraction(1, n) for n in range(1, 30)])",
    "templates": "while True: string.Template('$a' * 50).substitute(a=json.dumps([1] * 50))",
    "loops": (
        "async def f():\n    tool(1)\n    await asyncio.sleep(0)\nwhile True: asyncio.run(f())"
    ),
    "generators": (
        "def g():\n    try:\n        while True: yield copy.copy([1])\n    finally: tool(3)\n"
        "while True:\n    for x, _ in zip(g(), range(3)): other(x)"
    ),
    "errors": "while True:\n    try: json.loads('[' * 50)\n    except ValueError as e: tool(1)",
}


class Tools:
    """Tools that notice when they are broken off."""

    def __init__(self) -> None:
        self.begun = self.ended = 0
        self.errors: list[str] = []
        self.lock = threading.Lock()

    def tool(self, value: object) -> object:
        with self.lock:
            self.begun += 1
            try:
                assert decimal.getcontext().prec == 28
                assert decimal.getcontext().traps[decimal.FloatOperation]
                assert all(str(one) for one in range(20))
            except BaseException:
                self.errors.append(traceback.format_exc())
                raise
            self.ended += 1
        return value

    def other(self, value: Any) -> object:
        return value() if callable(value) else self.tool(value)


def state() -> tuple[Any, ...]:
    context = decimal.getcontext()
    return (
        context.prec, random.getstate(), list(warnings.filters), asyncio._get_running_loop(),
        sys.get_asyncgen_hooks(), sys.getrecursionlimit(), warnings.showwarning,
    )  # fmt: skip


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Looks every few hundred microseconds, without grace, from threads of the test's own."""
    monkeypatch.setattr(meter, "GRACE", 0.0)
    monkeypatch.setattr(watch, "_PERIOD", 0.0005)
    shots: list[int] = []
    real = watch.break_off

    def counted(*arguments: Any) -> bool:
        shot = real(*arguments)
        shots.append(shot)
        return shot

    monkeypatch.setattr(watch, "break_off", counted)
    # Deadlines are the second look's alone: the program's own looks find time enough.
    monkeypatch.setattr(meter.Meter, "out_of_time", lambda self: None)
    switching = sys.getswitchinterval()
    sys.setswitchinterval(0.0002)
    yield shots
    sys.setswitchinterval(switching)


def test_whatever_it_breaks_off_the_host_is_whole(impatient: list[int]) -> None:
    draw = random.Random(20240607)
    tools = Tools()
    # A context of its own: programs that other tests run in CPython change the thread's.
    with decimal.localcontext(decimal.Context(prec=28)) as context:
        context.traps[decimal.FloatOperation] = True
        before = state()
        interpreters = {}
        for name in BUSY:
            ours = Interpreter(["*"], limits=Limits(max_operations=10**12))
            ours.send_tools({"tool": tools.tool, "other": tools.other})
            ours.limits = Limits(timeout_seconds=300, max_operations=10**12)
            ours.run(_LIBRARY)
            interpreters[name] = ours
        # For two seconds, and on a busy machine for as long as it needs to have hit often enough.
        end, last, runs = time.monotonic() + 2.0, time.monotonic() + 120.0, 0
        while time.monotonic() < end or (sum(impatient) < 20 and time.monotonic() < last):
            for name, code in BUSY.items():
                ours = interpreters[name]
                ours.limits = Limits(
                    timeout_seconds=draw.uniform(0.0005, 0.004), max_operations=10**12
                )
                with pytest.raises(InterpreterError):
                    ours.run(code)
                runs += 1
                said = f"run {runs}, {name}"
                assert state() == before, said
                assert (tools.errors, tools.begun) == ([], tools.ended), said
                assert not tools.lock.locked(), said
                assert not ours.meter.running, said
                assert ours._lock.acquire(blocking=False), said
                ours._lock.release()
        for ours in interpreters.values():
            ours.limits = Limits(timeout_seconds=300)
            assert ours.run("1 + 1").output == 2
    assert sum(impatient) >= 20, (sum(impatient), runs)
