"""``interrupt()`` ends what runs, soon, for good and without a word to the program."""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager

import pytest
from background import acting

from smolagents_fork.errors import (
    ProgramInterruptedError,
    TimeLimitExceededError,
)
from smolagents_fork.interpreter.guarded import Interpreter, RunLimits

PLENTY = RunLimits(max_operations=10**12, max_while_iterations=10**12, timeout_seconds=600)
WORDS = r"due to: InterpreterError: the code was interrupted by interrupt\(\); its state is kept"


def later(interpreter: Interpreter) -> AbstractContextManager[object]:
    """The run in the block is interrupted when it has begun, a while after that."""

    def interrupt() -> None:
        time.sleep(0.2)
        interpreter.interrupt()

    return acting(lambda: interpreter.meter.running, interrupt)


def interrupted(interpreter: Interpreter, code: str) -> None:
    with later(interpreter), pytest.raises(ProgramInterruptedError, match=WORDS):
        interpreter.run(code)


ENDLESS = {
    "while": "while True:\n    pass",
    "for": "for i in range(10**12):\n    pass",
    "recursion": "def f(n): return f(n - 1) + f(n - 1) if n else 1\nf(200)",
    "sleep": "import time\ntime.sleep(500)",
    "many sleeps": "import time\nwhile True:\n    time.sleep(0.001)",
    "asyncio": "import asyncio\nawait asyncio.sleep(500)",
    "busy asyncio": "import asyncio\nasync def f():\n    while True: pass\nasyncio.run(f())",
    "generator that catches": (
        "def g():\n    while True:\n        try:\n            yield\n"
        "        except BaseException: pass\nfor _ in g(): pass"
    ),
    "key function": "sorted(range(10**6), key=lambda x: [len(str(x)) for _ in range(10**6)])",
}


# What a generator raises while it is thrown away nobody can catch: Python reports it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("code", ENDLESS.values(), ids=ENDLESS)
def test_what_runs_is_ended(code: str) -> None:
    interpreter = Interpreter(["asyncio"], limits=PLENTY)
    interpreter.run("kept = 1")
    interrupted(interpreter, code)
    assert interpreter.run("kept").output == 1


def test_a_run_without_a_time_limit_is_ended() -> None:
    limits = RunLimits(max_while_iterations=10**12, max_operations=10**12, timeout_seconds=None)
    interrupted(Interpreter(limits=limits), "while True:\n    pass")
    interrupted(Interpreter(limits=limits), "import time\ntime.sleep(500)")


def test_the_run_after_an_interrupted_one_has_its_own_limits() -> None:
    interpreter = Interpreter(limits=PLENTY)
    with later(interpreter), pytest.raises(ProgramInterruptedError):
        interpreter.run("import time\ntime.sleep(500)")
    interpreter.limits = RunLimits(timeout_seconds=1)
    with pytest.raises(TimeLimitExceededError, match="1 seconds"):
        interpreter.run("import time\ntime.sleep(9)")


def test_a_final_answer_that_was_given_stands() -> None:
    interpreter = Interpreter(limits=PLENTY)

    def final_answer(value: object) -> object:
        interpreter.interrupt()
        return value

    interpreter.send_tools({"final_answer": final_answer})
    result = interpreter.run("final_answer(7)")
    assert (result.output, result.is_final_answer) == (7, True)


class Agent:
    """Works until it is told to stop."""

    def __init__(self, raises: bool) -> None:
        self.begun, self.stopped = threading.Event(), threading.Event()
        self.raises = raises

    def __call__(self) -> str:
        self.begun.set()
        self.stopped.wait(500)
        if self.raises:
            raise RuntimeError("Agent interrupted.")
        return "stopped"

    def interrupt(self) -> None:
        self.stopped.set()


@pytest.mark.parametrize("raises", [False, True])
def test_a_tool_at_work_is_asked_to_stop(raises: bool) -> None:
    interpreter = Interpreter(limits=PLENTY)
    agent = Agent(raises)
    interpreter.send_tools({"agent": agent})
    with (
        acting(agent.begun.is_set, interpreter.interrupt),
        pytest.raises(ProgramInterruptedError, match=WORDS),
    ):
        interpreter.run("try:\n    agent()\nexcept Exception:\n    pass")
    assert agent.stopped.is_set()


def test_a_tool_that_has_ended_is_not_asked() -> None:
    interpreter = Interpreter(limits=PLENTY)
    agent = Agent(raises=False)
    agent.stopped.set()
    interpreter.send_tools({"agent": agent})
    interpreter.run("agent()")
    agent.stopped.clear()
    interrupted(interpreter, "while True: pass")
    assert not agent.stopped.is_set()


# -- whose time it is --


def test_what_a_tool_lets_the_program_do_is_the_programs_time() -> None:
    interpreter = Interpreter(limits=RunLimits(timeout_seconds=0.5))
    interpreter.send_tools({"apply": lambda function: function()})
    with pytest.raises(TimeLimitExceededError):
        interpreter.run("import time\nwhile True:\n    apply(lambda: time.sleep(0.2))\n    [0] * 5")


def test_a_tool_that_fails_gives_its_time_back_too() -> None:
    interpreter = Interpreter(limits=RunLimits(timeout_seconds=3))

    def slow() -> None:
        time.sleep(3.1)
        raise ValueError("slow")

    interpreter.send_tools({"slow": slow})
    code = "try:\n    slow()\nexcept ValueError:\n    pass\nfor i in range(10_000): pass\n'ends'"
    assert interpreter.run(code).output == "ends"
