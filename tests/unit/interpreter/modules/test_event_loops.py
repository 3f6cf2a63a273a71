"""Event loops of programs keep the deadline, are closed, and the host gets its own back."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from typing import Any

import pytest

from smolagents_fork.errors import ProgramInterruptedError, TimeLimitExceededError
from smolagents_fork.interpreter.guarded import Interpreter, RunLimits
from smolagents_fork.interpreter.guarded.modules import event_loops

PROGRAM = "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 7\n"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[asyncio.AbstractEventLoop]:
    """Every loop that a program gets."""
    loops: list[asyncio.AbstractEventLoop] = []

    class Loop(asyncio.SelectorEventLoop):
        def __init__(self, selector: Any) -> None:
            super().__init__(selector)
            loops.append(self)

    monkeypatch.setattr(event_loops.asyncio, "SelectorEventLoop", Loop)
    return loops


ENDS: dict[str, tuple[str, Any]] = {
    "a value": ("asyncio.run(f())", 7),
    "an error": ("try: asyncio.run(g())\nexcept ZeroDivisionError: r = 'caught'\nr", "caught"),
    "await at the top level": ("await f()", 7),
    "a task left behind": (
        "async def m():\n    asyncio.create_task(asyncio.sleep(500))\n    return 1\n"
        "asyncio.run(m())",
        1,
    ),
    "a function in a thread": ("asyncio.run(asyncio.to_thread(pow, 2, 5))", 32),
}


@pytest.mark.parametrize(("code", "value"), ENDS.values(), ids=ENDS)
def test_a_loop_is_closed_when_its_run_ends(
    code: str, value: object, made: list[asyncio.AbstractEventLoop]
) -> None:
    hooks = sys.get_asyncgen_hooks()
    interpreter = Interpreter(["asyncio"])
    head = PROGRAM + "async def g(): return 1 / 0\n"
    assert interpreter.run(head + code).output == value
    assert made
    assert all(loop.is_closed() for loop in made)
    assert sys.get_asyncgen_hooks() == hooks
    assert asyncio._get_running_loop() is None
    assert interpreter.run("asyncio.run(f())").output == 7


# What a coroutine raises while it is thrown away nobody can catch: Python reports it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:coroutine '.*' was never awaited")
@pytest.mark.parametrize(
    "code",
    [
        "asyncio.run(asyncio.sleep(500))",
        "await asyncio.Event().wait()",
        "async def m():\n    while True: pass\nasyncio.run(m())",
        "async def m():\n    while True: await asyncio.sleep(0)\nasyncio.run(m())",
        "async def m():\n    try: await asyncio.sleep(500)\n"
        "    except BaseException: await asyncio.sleep(500)\nasyncio.run(m())",
        "async def m():\n    while True:\n        try: await asyncio.sleep(500)\n"
        "        except BaseException: pass\nasyncio.run(m())",
        "async def m():\n    async with asyncio.Lock() as l, asyncio.timeout(500): "
        "await asyncio.sleep(500)\nasyncio.run(m())",
    ],
)
def test_a_loop_ends_at_the_deadline_and_is_closed(
    code: str, made: list[asyncio.AbstractEventLoop]
) -> None:
    interpreter = Interpreter(["asyncio"])
    interpreter.run(PROGRAM)
    interpreter.limits = RunLimits(
        timeout_seconds=0.5, max_operations=10**12, max_while_iterations=10**12
    )
    if "timeout(" in code and sys.version_info < (3, 11):
        pytest.skip("asyncio.timeout came with Python 3.11")
    with pytest.raises(TimeLimitExceededError):
        interpreter.run(code)
    assert [loop.is_closed() for loop in made] == [True] * len(made)
    interpreter.limits = RunLimits()
    assert interpreter.run("asyncio.run(f())").output == 7
    gc.collect()  # what Python has to report about the program is this test's


def test_the_host_keeps_its_own_loop_and_hooks() -> None:
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


# Interrupted between making a coroutine and running it, as in Python.
@pytest.mark.filterwarnings("ignore:coroutine '.*' was never awaited")
def test_no_loop_is_left_after_interruptions_at_many_places(
    made: list[asyncio.AbstractEventLoop],
) -> None:
    program = PROGRAM + "begun()\nwhile True:\n    asyncio.run(f())"
    interpreter = Interpreter(["asyncio"], limits=RunLimits(timeout_seconds=300))
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


def test_a_top_level_that_awaits_has_a_loop_without_asyncio_being_authorised() -> None:
    assert Interpreter().run("async def f(): return 7\nawait f()").output == 7
    code = "class W:\n    def __await__(self):\n        yield\n        return 7\nawait W()"
    assert Interpreter().run(code).output == 7


def test_a_top_level_await_past_the_limit_is_said_to_be_one() -> None:
    interpreter = Interpreter(["asyncio"], limits=RunLimits(timeout_seconds=0.2))
    with pytest.raises(TimeLimitExceededError) as caught:
        interpreter.run("import asyncio\nawait asyncio.sleep(30)")
    assert str(caught.value).startswith(
        "Code execution failed at an await of the top level, due to: InterpreterError: Code "
        "execution exceeded the maximum execution time of 0.2 seconds"
    )


def test_own_loop_is_there_after_the_host_has_run_one() -> None:
    asyncio.run(asyncio.sleep(0))  # which leaves the thread without a current loop
    interpreter = Interpreter(["asyncio"])
    code = "import asyncio\nasyncio.get_event_loop().run_until_complete(asyncio.sleep(0, 3))"
    for _ in range(2):
        assert interpreter.run(code).output == 3
