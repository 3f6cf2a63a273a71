"""After the final answer, a limit or an interruption no code goes on and no tool is called."""

from __future__ import annotations

import gc

import pytest

from smolagents_fork.codec.rpc import RUN_ENDED
from smolagents_fork.errors import (
    LimitExceededError,
    ProgramFailedError,
    ProgramInterruptedError,
)
from smolagents_fork.interpreter.guarded import Interpreter, RunLimits

MODULES = ("asyncio", "contextlib", "threading")
#: Ways to go on after {end}; ``late()`` is a tool, and the list ``seen`` is the program's.
WAYS = {
    "finally": "try:\n    {end}\nfinally:\n    seen.append(1); late()",
    "finally that returns": (
        "def f():\n    try:\n        {end}\n    finally:\n        return 2\nf()\n"
        "seen.append(1)\nlate()"
    ),
    "finally that continues": (
        "for i in range(9):\n    try:\n        {end}\n    finally:\n        continue\n"
        "seen.append(1)\nlate()"
    ),
    "except BaseException": "try:\n    {end}\nexcept BaseException:\n    seen.append(1); late()",
    "__exit__": (
        "class C:\n    def __enter__(self): pass\n    def __exit__(self, *a):\n"
        "        seen.append(1); late()\n        return True\nwith C():\n    {end}\nlate()"
    ),
    "contextmanager": (
        "import contextlib\n@contextlib.contextmanager\ndef c():\n    try: yield\n"
        "    finally: seen.append(1); late()\nwith c():\n    {end}"
    ),
    "suppress": (
        "import contextlib\nwith contextlib.suppress(BaseException):\n    {end}\n"
        "seen.append(1); late()"
    ),
    "ExitStack": (
        "import contextlib\nwith contextlib.ExitStack() as s:\n    s.callback(late)\n    {end}"
    ),
    "generator's finally": (
        "def g():\n    try: yield\n    finally: seen.append(1); late()\nfor _ in g():\n    {end}"
    ),
    "generator that is kept": (
        "def g():\n    try: yield\n    finally: seen.append(1); late()\nx = g()\nnext(x)\n{end}"
    ),
    # Between runs, when nothing refers to it any more: only tools are out of reach then.
    "__del__": (
        "class D:\n    def __del__(self): late(); seen.append(1)\n"
        "def f():\n    d = D()\n    {end}\nf()"
    ),
    "a thread": (
        "import threading, time\ndef f():\n    while True: time.sleep(0.01)\n"
        "    late()\ndef w():\n    try: f()\n    finally: seen.append(1); late()\n"
        "threading.Thread(target=w, daemon=True).start()\n{end}"
    ),
    "a task": (
        "import asyncio\nasync def t():\n    try: await asyncio.sleep(500)\n"
        "    finally: seen.append(1); late()\nasync def m():\n    k = asyncio.create_task(t())\n"
        "    await asyncio.sleep(0)\n    {end}\nasyncio.run(m())"
    ),
}
ENDS = {
    "final answer": "final_answer(1)",
    "limit": "while True: pass",
    "interruption": "interrupt()",
}


# What is raised while something is thrown away nobody can catch: Python reports it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:coroutine '.*' was never awaited")
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_nothing_goes_on(way: str, end: str) -> None:
    interpreter = Interpreter(MODULES, limits=RunLimits(max_operations=20_000, timeout_seconds=300))
    calls: list[str] = []
    interpreter.send_tools(
        {
            "late": lambda: calls.append("late"),
            "interrupt": interpreter.interrupt,
            "final_answer": lambda x: x,
        }
    )
    code = "seen = []\n" + way.format(end=ENDS[end])
    if end == "final answer":
        result = interpreter.run(code)
        assert (result.output, result.is_final_answer) == (1, True)
    else:
        with pytest.raises(LimitExceededError if end == "limit" else ProgramInterruptedError):
            interpreter.run(code)
    gc.collect()  # here and not in a later test, which would be told what finalisers raise
    assert calls == []
    assert interpreter.state["seen"] == []
    interpreter.state.clear()
    assert interpreter.run("1 + 1").output == 2


CALLABLES = {
    "function": "def call(): return late()\ncall",
    "method": "class C:\n    def call(self): return late()\nC().call",
    "generator": "def g():\n    yield late()\ng().__next__",
    "text": "class C:\n    def __str__(self): return late()\nC().__str__",
}


@pytest.mark.parametrize("code", CALLABLES.values(), ids=CALLABLES)
def test_what_the_host_calls_between_runs_calls_no_tool(code: str) -> None:
    called: list[int] = []
    interpreter = Interpreter()
    interpreter.send_tools({"late": lambda: called.append(1)})
    left = interpreter.run(code).output
    with pytest.raises(RuntimeError, match=f"^{RUN_ENDED}$"):
        left()
    assert called == []
    interpreter.run("late()")
    assert called == [1]


def test_run_without_tools_calls_none_and_the_next_run_does() -> None:
    called: list[int] = []
    interpreter = Interpreter()
    interpreter.send_tools({"late": lambda: called.append(1), "final_answer": called.append})
    for code in ("late()", "final_answer(1)", "try: late()\nexcept ValueError: pass"):
        with pytest.raises(ProgramFailedError, match=RUN_ENDED):
            interpreter.run(code, tools=False)
    assert called == []
    assert interpreter.run("late()\nfinal_answer(2)").is_final_answer
    assert called == [1, 2]
