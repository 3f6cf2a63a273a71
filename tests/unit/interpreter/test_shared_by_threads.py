"""Programs that run at once in several threads: what is of the process comes back to the host."""

from __future__ import annotations

import random
import threading
import warnings

import pytest

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
    failed: list[BaseException] = []

    def run(number: int, rows: int, action: str) -> None:
        def meet() -> None:
            begun[number].set()
            assert may_end[number].wait(30)

        # Handed over as it is: while a tool works, the host would have its own.
        interpreters[number].guards.handle = lambda _name, tool: tool  # type: ignore[method-assign]
        interpreters[number].send_tools({"meet": meet})
        try:
            interpreters[number].run(CHANGE.format(rows=rows, action=action, meet="meet"))
        except BaseException as error:
            failed.append(error)
            begun[number].set()

    threads = [
        threading.Thread(target=run, args=(0, 11, "error")),
        threading.Thread(target=run, args=(1, 22, "ignore")),
    ]
    for number, thread in enumerate(threads):
        thread.start()
        assert begun[number].wait(60)
    order = (0, 1) if first_ends_first else (1, 0)
    for number in order:
        may_end[number].set()
        threads[number].join(60)
        assert not threads[number].is_alive()
    assert not failed
    assert (pd.get_option("display.max_rows"), list(warnings.filters)) == before[:2]
    assert random.getstate() == before[2]
    # Each has kept its own.
    assert interpreters[0].run(READ).output == (11, "error")
    assert interpreters[1].run(READ).output == (22, "ignore")
    assert (pd.get_option("display.max_rows"), list(warnings.filters)) == before[:2]
