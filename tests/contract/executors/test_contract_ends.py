"""After the final answer, a limit or an interrupt no tool is called and no code runs."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from background import acting
from contract_declarations import behaviour
from contract_parts import read_programs
from smolagents import FinalAnswerTool

#: Programs that catch the end of a run and call a tool.
SWALLOWING = read_programs("swallowing")
ENDLESS = "while True: time.sleep(0.01)"


def swallowing(name: str, end: str) -> str:
    """Return a program that catches the end that the statement ``end`` causes."""
    # A generator of an earlier test would be closed when its name is given to another.
    code = SWALLOWING[name].replace("suspended", f"suspended_{len(end)}")
    return "import time\n" + code.replace("END", end)


@pytest.fixture
def calls() -> list[Any]:
    return []


@behaviour(
    "Limits",
    "No tool is called after the final answer, timeout_seconds or interrupt(), even if the code "
    "catches the end.",
)
@pytest.mark.parametrize("name", SWALLOWING)
@pytest.mark.parametrize("end", ["final answer", "limit", "interruption"])
def test_no_tool_is_called_after_the_end(contract, calls, name, end):
    begun = threading.Event()
    executor = contract.limited if end == "limit" else contract.shared
    tools = {"final_answer": FinalAnswerTool(), "called": calls.append, "begin": begun.set}
    executor.send_tools(tools)
    if end == "final answer":
        result = executor(swallowing(name, "final_answer(1)"))
        assert (result.output, result.is_final_answer) == (1, True)
    elif end == "limit":
        with pytest.raises(TimeoutError, match=str(contract.kind.timeout)):
            executor(swallowing(name, ENDLESS))
    else:
        with (
            acting(begun.is_set, executor.interrupt),
            pytest.raises(Exception, match="interrupted"),
        ):
            executor("begin()\n" + swallowing(name, ENDLESS))
    assert calls == []
    assert executor("called('next')\n'next'").output == "next"
    assert calls == ["next"]


@behaviour("Final answer", "No code runs after it, even if the code catches it.")
@pytest.mark.parametrize(
    "name", ["return in finally", "continue in finally", "after a handler", "an exit that swallows"]
)
def test_no_code_goes_on_after_the_final_answer(contract, name):
    executor = contract.shared
    executor.send_tools({"final_answer": FinalAnswerTool()})
    executor("went_on = False")
    code = swallowing(name, "final_answer(1)").replace("called('in exit')", "pass")
    result = executor(code.replace("called('after')", "went_on = True"))
    assert (result.output, result.is_final_answer) == (1, True)
    assert executor("went_on").output is contract.differs


# A thread that calls a tool as long as it can, and counts its attempts.
GOING_ON = (
    "import threading, time\ntried, words = [0], ['']\n"
    "def goes_on():\n    while tried[0] < 10_000:\n        tried[0] += 1\n        try:\n"
    "            called(tried[0])\n        except BaseException as error:\n"
    "            words[0] = str(error)\n        time.sleep(0.005)\n"
    "thread = threading.Thread(target=goes_on, daemon=True)\nthread.start()\n"
    "while not tried[0]: time.sleep(0.001)\n"
)
# In the next run: wait until the thread has tried again, or for a moment where it has ended.
TRIED_AGAIN = (
    "before, end = tried[0], time.monotonic() + 0.6\n"
    "while tried[0] < before + 5 and time.monotonic() < end: time.sleep(0.01)\n"
    "tried[0] = 10_000\nthread.join(20)\n(one(), words[0])"
)


@behaviour(
    "Limits",
    "A thread of the code calls no tool after the end of the run or its timeout_seconds, nor in "
    "the next run, which it does not delay.",
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("end", ["last line", "final answer", "limit"])
def test_threads_call_no_tool_after_the_end(contract, calls, end):
    executor = contract.shared
    if end == "limit":
        grace = {"interrupt_grace_seconds": 20.0}
        options = grace if contract.takes("interrupt_grace_seconds") else {}
        executor = contract.make(timeout_seconds=contract.kind.timeout, **options)
    tools = {"final_answer": FinalAnswerTool(), "called": calls.append, "one": lambda: 1}
    executor.send_tools(tools)
    if contract.without_threads(executor):
        return
    if end == "limit":
        # Few enough for any cap of calls.
        code = GOING_ON.replace("    called(tried[0])", "    time.sleep(0.2); called(1)")
        with pytest.raises(TimeoutError, match=str(contract.kind.timeout)):
            executor(code + ENDLESS)
    else:
        executor(GOING_ON + ("final_answer(1)" if end == "final answer" else ""))
    seen = len(calls)
    result, words = executor(TRIED_AGAIN).output
    assert result == 1
    # In the host's process the thread ends with the run.
    ends_with_run = contract.kind.name == "local"
    assert ends_with_run or words == "tools can be called while the code runs; it has ended"
    assert len(calls) == seen
