"""Event loops of programs are closed, and hosts get theirs back, wherever a run is broken off."""

from __future__ import annotations

import asyncio
import gc
import selectors
import sys
import threading
import time
import warnings

import pytest
from interpreter_clock import hurry

from smolagents_fork.errors import InterpreterError, ProgramInterruptedError, TimeLimitExceededError
from smolagents_fork.interpreter import Interpreter, Limits

PROGRAM = "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 7\n"
RUN = PROGRAM + "asyncio.run(f())"


def busy(seconds: float) -> None:
    """Python code that looks at no limit: what watch.py is there for."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


@pytest.fixture(autouse=True)
def others_have_gone() -> None:
    """What earlier tests have left is not what these look for when they collect garbage."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()


class Loop(asyncio.SelectorEventLoop):
    """Is slow in one of its methods, as on a machine with much else to do."""

    slow = ""
    made: list[Loop]
    interpreter: Interpreter

    def __init__(self) -> None:
        super().__init__(selectors.DefaultSelector())
        self.made.append(self)
        self._wait("__init__")

    def _wait(self, place: str) -> None:
        if place == self.slow:
            type(self).slow = ""
            hurry(self.interpreter)
            busy(1.0)

    def set_exception_handler(self, handler: object) -> None:
        self._wait("set_exception_handler")
        super().set_exception_handler(handler)  # type: ignore[arg-type]

    def create_task(self, *arguments: object, **keywords: object) -> object:  # type: ignore[override]
        self._wait("create_task")
        return super().create_task(*arguments, **keywords)  # type: ignore[arg-type]

    def run_until_complete(self, future: object) -> object:  # type: ignore[override]
        self._wait("before")
        try:
            return super().run_until_complete(future)  # type: ignore[arg-type]
        finally:
            self._wait("after")

    def close(self) -> None:
        self._wait("close")
        super().close()

    def __setattr__(self, name: str, value: object) -> None:
        if name == "_thread_id" and value is None and self.made and self in self.made:
            self._wait("the end of run_forever")
        super().__setattr__(name, value)


@pytest.mark.parametrize(
    "place",
    [
        "__init__",
        "set_exception_handler",
        "create_task",
        "before",
        "after",
        "the end of run_forever",
        "close",
    ],
)
@pytest.mark.filterwarnings("ignore:coroutine 'f' was never awaited")
def test_a_loop_is_closed_wherever_the_run_is_broken_off(place, monkeypatch):
    Loop.slow, Loop.made = "", []
    monkeypatch.setattr(asyncio, "new_event_loop", Loop)
    hooks = sys.get_asyncgen_hooks()
    interpreter = Loop.interpreter = Interpreter(["asyncio"], limits=Limits(timeout_seconds=300))
    assert interpreter.run(RUN).output == 7  # what is looked up once has been
    Loop.slow = place
    if place == "close":
        # Nothing of the program is left to be broken off: what it gave is kept.
        assert interpreter.run(RUN).output == 7
    else:
        with pytest.raises(TimeLimitExceededError):
            interpreter.run(RUN)
    gc.collect()
    assert Loop.slow == ""
    assert [loop.is_closed() for loop in Loop.made] == [True, True]
    assert sys.get_asyncgen_hooks() == hooks
    assert asyncio._get_running_loop() is None
    assert interpreter.run("asyncio.run(f())").output == 7
    del Loop.interpreter


def test_the_host_keeps_its_own_loop_and_hooks():
    interpreter = Interpreter(["asyncio"])

    async def host() -> tuple[object, bool, bool]:
        hooks, loop = sys.get_asyncgen_hooks(), asyncio.get_running_loop()
        output = interpreter.run(
            "import asyncio\nasync def g():\n    yield 1\n    yield 2\n"
            "async def main():\n    async for x in g():\n        return x\n"
            "asyncio.run(main())"
        ).output
        return output, sys.get_asyncgen_hooks() == hooks, asyncio.get_running_loop() is loop

    assert asyncio.run(host()) == (1, True, True)


# Broken off between making a coroutine and running it, as in Python.
@pytest.mark.filterwarnings("ignore:coroutine '.*' was never awaited")
def test_interrupted_many_times_at_random_places_no_loop_is_left(monkeypatch):
    made = []

    def new_event_loop() -> asyncio.AbstractEventLoop:
        made.append(asyncio.SelectorEventLoop())
        return made[-1]

    monkeypatch.setattr(asyncio, "new_event_loop", new_event_loop)
    program = PROGRAM + "begun()\nwhile True:\n    asyncio.run(f())"
    interpreter = Interpreter(["asyncio"], limits=Limits(timeout_seconds=300))
    for number in range(20):
        timer = threading.Timer(0.01 + number * 0.0013, interpreter.interrupt)
        interpreter.send_tools({"begun": timer.start})
        try:
            with pytest.raises(ProgramInterruptedError):
                interpreter.run(program)
        finally:
            timer.join()
    gc.collect()
    assert made
    assert all(loop.is_closed() for loop in made)


@pytest.mark.filterwarnings("ignore:coroutine 'f' was never awaited")
def test_where_no_loop_can_be_made_asyncio_makes_none_for_the_host(monkeypatch):
    def no_room() -> asyncio.AbstractEventLoop:
        raise OSError("no room")

    monkeypatch.setattr(asyncio, "new_event_loop", no_room)
    interpreter = Interpreter(["asyncio"])
    interpreter.run(PROGRAM + "try: asyncio.run(f())\nexcept OSError: pass")
    with pytest.raises(InterpreterError, match="no running event loop"):
        interpreter.run("asyncio.Future().get_loop().call_soon(print)")


def test_a_loop_inside_a_loop_is_refused_as_python_does():
    program = PROGRAM + "async def g():\n    asyncio.run(f())\nasyncio.run(g())"
    with pytest.raises(InterpreterError, match="cannot be called from a running event loop"):
        Interpreter(["asyncio"]).run(program)
