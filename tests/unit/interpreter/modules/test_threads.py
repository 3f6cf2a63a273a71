"""A program's threads do what Python's do, and end with the run they belong to."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator

import pytest
from background import acting, eventually

from smolagents_fork.errors import (
    LimitExceededError,
    ProgramInterruptedError,
    TimeLimitExceededError,
)
from smolagents_fork.interpreter.guarded import Interpreter, RunLimits
from smolagents_fork.interpreter.guarded.modules import threads
from smolagents_fork.interpreter.stops import ProgramStop

IMPORTS = (
    "import threading, queue, time, itertools\n"
    "from concurrent.futures import ThreadPoolExecutor, as_completed, wait\n"
)
MODULES = ["threading", "queue", "concurrent.futures", "contextlib"]
PLENTY = 10**12
# Well before what is not ended would end by itself.
SOON_SECONDS = 60


def interpreter(seconds: float | None = 100.0, operations: int = PLENTY) -> Interpreter:
    limits = RunLimits(
        timeout_seconds=seconds, max_operations=operations, max_while_iterations=PLENTY
    )
    return Interpreter(MODULES, limits=limits)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert eventually(lambda: set(threading.enumerate()) <= before), threading.enumerate()


def test_an_error_in_a_thread_is_told_in_the_logs(capfd: pytest.CaptureFixture[str]) -> None:
    code = "def f(): 1 / 0\nt = threading.Thread(target=f)\nt.start(); t.join()\n'on'"
    result = interpreter().run(IMPORTS + code)
    assert result.output == "on"
    lines = result.logs.splitlines()
    assert re.fullmatch(r"Exception in thread Thread-\d+ \(f\):", lines[0])
    assert lines[1] == "Traceback (most recent call last):"
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert "smolagents_fork" not in result.logs
    assert capfd.readouterr().err == ""


def test_tools_are_called_from_threads_on_their_own_time() -> None:
    ours = interpreter()

    def slow(value: int) -> int:
        time.sleep(3.5)
        return value

    ours.send_tools({"slow": slow})
    ours.run(IMPORTS)
    ours.limits = RunLimits(timeout_seconds=3)
    code = "with ThreadPoolExecutor(3) as p: r = list(p.map(slow, range(3)))\nr"
    assert ours.run(code).output == [0, 1, 2]


# -- what ends with the run --

ENDLESS = {
    "loop": "while True: pass",
    "loop that catches": (
        "while True:\n        try:\n            while True: pass\n"
        "        except BaseException: pass"
    ),
    "finally": "while True:\n        try:\n            while True: pass\n        finally: continue",
    "sleep": "time.sleep(100)",
    "sleep that catches": (
        "while True:\n        try: time.sleep(100)\n        except BaseException: pass"
    ),
    "threads that start threads": (
        "while True:\n        t = threading.Thread(target=time.sleep, args=(100,))\n"
        "        t.start(); t.join(0.01)"
    ),
}


@pytest.mark.parametrize("body", ENDLESS.values(), ids=ENDLESS)
def test_daemons_end_with_the_run(body: str) -> None:
    code = f"def f():\n    {body}\nt = threading.Thread(target=f, daemon=True)\nt.start()\n'ends'"
    assert interpreter().run(IMPORTS + code).output == "ends"


def test_thread_that_begins_after_its_run_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    late: list[threading.Thread] = []
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda thread: late.append(thread))
    interpreter().run(
        f"{IMPORTS}threading.Thread(target=time.sleep, args=(100,), daemon=True).start()"
    )
    monkeypatch.undo()
    start(late[0])
    late[0].join(SOON_SECONDS)
    assert not late[0].is_alive()


@pytest.mark.parametrize("name", ["loop that catches", "sleep that catches"])
def test_threads_end_at_the_time_limit(name: str) -> None:
    code = f"def f():\n    {ENDLESS[name]}\nt = threading.Thread(target=f)\nt.start()\nt.join()"
    with pytest.raises(TimeLimitExceededError):
        interpreter(seconds=0.3).run(IMPORTS + code)


def test_the_error_says_that_threads_were_waited_for() -> None:
    words = r"while the program's threads were waited for, .* 1 seconds\. Join threads"
    ours = interpreter()
    ours.run(IMPORTS)  # on a loaded machine, importing alone may take the second
    ours.limits = RunLimits(timeout_seconds=1)
    with pytest.raises(TimeLimitExceededError, match=words):
        ours.run("threading.Thread(target=time.sleep, args=(500,)).start()\n1")


def test_a_thread_that_sees_first_that_the_time_is_over_was_waited_for() -> None:
    """It has ended by then, so that there is none to wait for any more."""
    threads = interpreter()._threads
    threads.wait()
    assert not threads.waited
    threads._meter.end = ProgramStop("the limit it saw")
    threads.wait()
    assert threads.waited


def test_no_words_of_a_thread_are_lost() -> None:
    code = (
        "def f():\n    for _ in range(300): print('x' * 99)\n"
        "with ThreadPoolExecutor(4) as p:\n    for _ in range(4): p.submit(f)"
    )
    ours = interpreter()
    ours.limits = RunLimits(max_print_outputs_length=10_000_000)
    assert ours.run(IMPORTS + code).logs.count("x") == 4 * 300 * 99


def test_operations_of_a_thread_are_the_runs() -> None:
    code = "def f():\n    while True: pass\nt = threading.Thread(target=f)\nt.start()\nt.join()"
    with pytest.raises(LimitExceededError, match="max number of operations of 100000"):
        interpreter(operations=100_000).run(IMPORTS + code)


def test_interruption_ends_the_threads() -> None:
    ours = interpreter()
    begun: list[int] = []
    ours.send_tools({"begun": begun.append})
    code = "for i in range(3): threading.Thread(target=time.sleep, args=(500,)).start()\nbegun(1)"
    with acting(lambda: begun, ours.interrupt), pytest.raises(ProgramInterruptedError):
        ours.run(IMPORTS + code)


def test_a_tool_in_a_thread_may_end_after_the_run() -> None:
    """Nobody can end it; what follows it does not run, and the next run's clock is right."""
    ours = interpreter()
    begun, go = threading.Event(), threading.Event()
    ours.send_tools({"tool": lambda: (begun.set(), go.wait(100))[1], "begun": begun.is_set})
    code = "r = []\ndef f():\n    tool()\n    r.append('went on')\n"
    code += "threading.Thread(target=f, daemon=True).start()\nwhile not begun(): time.sleep(0.01)"
    try:
        ours.run(IMPORTS + code)
        ours.limits = RunLimits(timeout_seconds=0.4)
        with acting(lambda: ours.meter.running, go.set), pytest.raises(TimeLimitExceededError):
            ours.run("time.sleep(500)")
        assert ours.state["r"] == []
    finally:
        go.set()


def test_a_thread_belongs_to_a_run() -> None:
    ours = interpreter()
    start = ours.run(IMPORTS + "lambda: threading.Thread(target=print).start()").output
    with pytest.raises(RuntimeError, match="threads end with the run they belong to"):
        start()


def test_a_wait_in_c_code_ends_when_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run does not wait for such a thread for long, nor do later ones; it ends at a check."""
    ours, before = interpreter(), set(threading.enumerate())
    code = "lock = threading.Lock()\nlock.acquire()\n"
    code += "def f():\n    lock.acquire()\n    while True: pass\n"
    ours.run(IMPORTS + code + "threading.Thread(target=f, daemon=True).start()")
    monkeypatch.setattr(threads, "ENDING_SECONDS", 1e6)
    ours.run("1")
    ours.state["lock"].release()
    assert eventually(lambda: set(threading.enumerate()) <= before)


@pytest.mark.parametrize("name", ["Lock", "RLock", "Condition", "Event", "Semaphore", "Barrier"])
def test_what_waits_is_the_librarys_own(name: str) -> None:
    ours = interpreter()
    assert ours.run(f"import threading\nthreading.{name}").output is getattr(threading, name)
