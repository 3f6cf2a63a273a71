"""A signal that stops the program at any line of asyncio leaves loops that work."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys

import pytest

from smolagents_fork.errors import InterpreterError
from smolagents_fork.interpreter.api import Interpreter
from smolagents_fork.interpreter.meter import TimeStop
from smolagents_fork.interpreter.modules import event_loops

MAIN = "import asyncio\nasync def main():\n    await asyncio.sleep(0)\n    return 42"
FILES = (os.path.dirname(asyncio.__file__), event_loops.__file__)


@pytest.fixture
def interpreter():
    """Is stopped by signals as the guests' is: again and again, in the program's code."""
    made = Interpreter(["asyncio"])
    made.run(MAIN)

    def stop_program(_number, frame):
        if made.is_in_program(frame):
            stop = TimeStop("stopped")
            made.meter.interrupt(stop)
            raise stop

    before = signal.signal(signal.SIGINT, stop_program)
    yield made
    signal.signal(signal.SIGINT, before)


class Signals:
    """A trace function: one signal at a line of asyncio, and one more some lines later."""

    def __init__(self, first):
        self.lines, self.at = 0, {first, first + 40}

    def __call__(self, frame, _event, _argument):
        return self.line if frame.f_code.co_filename.startswith(FILES) else None

    def line(self, _frame, event, _argument):
        if event == "line":
            self.lines += 1
            if self.lines in self.at:
                signal.raise_signal(signal.SIGINT)
        return self.line


# A signal between two lines may leave a coroutine that was not begun and a loop that nothing refers
# to; one in a finalizer is raised again at the program's next check.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:unclosed event loop")
@pytest.mark.filterwarnings("ignore:coroutine '(main|BaseEventLoop.shutdown_asyncgens)' was never")
def test_signals_at_each_line_leave_loops_that_work(interpreter):
    first, stopped, ended = 0, 0, False
    while not ended:
        first += 1
        signals, tracing = Signals(first), sys.gettrace()
        sys.settrace(signals)
        try:
            interpreter.run("asyncio.run(main())")
        except InterpreterError:
            stopped += 1
        finally:
            sys.settrace(tracing)
        ended = signals.lines < first
        assert interpreter.run("asyncio.run(main())").output == 42, first
    assert stopped > 100
    gc.collect()  # here, where what is left of stopped runs is expected
