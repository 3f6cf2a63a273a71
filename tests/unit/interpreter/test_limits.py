"""Limits: their words, and that no program catches, swallows or outlives them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from program_harness import stopped

from smolagents_fork.errors import ConfigurationError, LimitExceededError
from smolagents_fork.interpreter.guarded import Interpreter, RunLimits

SMALL = RunLimits(max_operations=20_000, max_while_iterations=1000, timeout_seconds=300)


@pytest.mark.parametrize("most", [1, 7, 100, 1000])
def test_the_while_limit_is_exact(most: int) -> None:
    limits = RunLimits(max_while_iterations=most)
    code = f"i = 0\nwhile i < {most}:\n    i += 1\ni"
    assert Interpreter(limits=limits).run(code).output == most
    assert "iterations in While loop exceeded" in stopped(
        f"i = 0\nwhile i < {most + 1}:\n    i += 1", limits
    )


def test_words_of_the_operations_limit() -> None:
    told = stopped("for i in range(10**9):\n    print(i)", SMALL)
    assert "Reached the max number of operations of 20000. Maybe there is an infinite loop" in told
    assert told.endswith("(max_operations raises it)")


def test_defaults_end_an_endless_loop_and_no_ordinary_one() -> None:
    assert RunLimits().max_operations >= 1_000_000_000
    assert RunLimits().max_while_iterations == 1_000_000
    assert Interpreter().run("n = 0\nfor i in range(11_000_000): n += 1\nn").output == 11_000_000


@pytest.mark.parametrize("most", range(20_000, 20_008))
def test_lambdas_work_after_a_run_that_reached_a_limit_in_one(most: int) -> None:
    interpreter = Interpreter(["asyncio"], limits=RunLimits(max_operations=most))
    interpreter.run(
        "import asyncio\nf = lambda x: abs(x)\nasync def three():\n    for i in range(3): yield i\n"
        "async def items(): return [x async for x in three()]"
    )
    for code in ("max(map(f, range(10**9)))", "while True: f(3)"):
        with pytest.raises(LimitExceededError):
            interpreter.run(code)
    code = "f(-2), list(map(f, [1, -2])), asyncio.run(items())"
    assert interpreter.run(code).output == (2, [1, 2], [0, 1, 2])


def test_what_the_host_calls_after_a_run_is_limited_too() -> None:
    interpreter = Interpreter(limits=SMALL)
    spin = interpreter.run("def spin():\n    while True: pass\nspin").output
    with pytest.raises(LimitExceededError):
        spin()
    assert interpreter.run("1 + 1").output == 2


def test_limit_of_recursion_is_raised() -> None:
    deep = "def f(n): return n and 1 + f(n - 1)\nf(3000)"
    assert Interpreter(limits=RunLimits(max_recursion_depth=4000)).run(deep).output == 3000


def test_limit_of_the_process_is_raised_and_never_lowered() -> None:
    before = sys.getrecursionlimit()
    interpreter = Interpreter(limits=RunLimits(max_recursion_depth=500))
    interpreter.send_tools({"limit": sys.getrecursionlimit, "change": sys.setrecursionlimit})
    try:
        sys.setrecursionlimit(5000)
        assert interpreter.run("limit()").output == 5000
        interpreter.limits = RunLimits(max_recursion_depth=6000)
        assert interpreter.run("limit()").output > 6000
        assert sys.getrecursionlimit() == 5000
        interpreter.run("change(20_000)")  # as another thread of the host may do meanwhile
        assert sys.getrecursionlimit() == 20_000
    finally:
        sys.setrecursionlimit(before)


@pytest.mark.parametrize("value", [0, -1, True, "x"])
def test_limits_refuse_what_is_no_limit(value: object) -> None:
    with pytest.raises(ConfigurationError, match=r"max_operations=.*: pass a whole number above 0"):
        RunLimits(max_operations=value)  # type: ignore[arg-type]


def test_the_page_of_the_local_executor_has_the_defaults() -> None:
    page = (Path(__file__).parents[3] / "docs" / "executors" / "local.md").read_text("utf-8")
    told = dict(re.findall(r"(?m)^\| `(\w+)` \|.* `None`: ([\d,]+)", page))
    told |= dict(re.findall(r"(?m)^\| `(timeout_seconds)` \| `(\d+)`", page))
    limits = RunLimits()
    assert {name: int(value.replace(",", "")) for name, value in told.items()} == {
        name: int(getattr(limits, name)) for name in vars(limits)
    }
