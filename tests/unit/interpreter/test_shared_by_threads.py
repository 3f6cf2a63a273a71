"""Programs that run at once in several threads: what is of the process comes back to the host."""

from __future__ import annotations

import random
import threading
import warnings
from contextlib import ExitStack

import pytest
from background import running

from smolagents_fork.interpreter import Interpreter

pd = pytest.importorskip("pandas")
MODULES = ("pandas", "warnings", "random", "statistics")
CHANGE = """
import pandas as pd, warnings, statistics
pd.set_option("display.max_rows", {rows})
warnings.simplefilter("{action}")
{meet}()
"""
READ = """
import pandas as pd, warnings
try:
    warnings.warn("seen")
    found = "ignore"
except UserWarning:
    found = "error"
(pd.get_option("display.max_rows"), found)
"""


@pytest.mark.parametrize("first_ends_first", [True, False])
def test_two_programs_at_once_leave_the_host_its_own(first_ends_first: bool) -> None:
    before = pd.get_option("display.max_rows"), list(warnings.filters), random.getstate()
    begun = [threading.Event(), threading.Event()]
    may_end = [threading.Event(), threading.Event()]
    interpreters = [Interpreter(MODULES), Interpreter(MODULES)]

    def run(number: int, rows: int, action: str) -> None:
        def meet() -> None:
            begun[number].set()
            assert may_end[number].wait(300)

        # Handed over as it is: while a tool works, the host would have its own.
        interpreters[number].guards.handle = lambda _name, tool: tool  # type: ignore[method-assign]
        interpreters[number].send_tools({"meet": meet})
        interpreters[number].run(CHANGE.format(rows=rows, action=action, meet="meet"))

    with ExitStack() as stack:
        calls = []
        for arguments in ((0, 11, "error"), (1, 22, "ignore")):
            may = may_end[arguments[0]]
            calls.append(stack.enter_context(running(run, *arguments, stop=may.set)))
            calls[-1].until(begun[arguments[0]].is_set)
        for number in (0, 1) if first_ends_first else (1, 0):
            may_end[number].set()
            calls[number].result()
    assert (pd.get_option("display.max_rows"), list(warnings.filters)) == before[:2]
    assert random.getstate() == before[2]
    # Each has kept its own.
    assert interpreters[0].run(READ).output == (11, "error")
    assert interpreters[1].run(READ).output == (22, "ignore")
    assert (pd.get_option("display.max_rows"), list(warnings.filters)) == before[:2]
