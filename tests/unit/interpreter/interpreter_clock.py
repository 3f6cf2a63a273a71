"""What tests of the interpreter share that are about a run which is late."""

from __future__ import annotations

from smolagents_fork.interpreter import Interpreter


def hurry(interpreter: Interpreter, seconds: float = 0.0) -> None:
    """Let the run of ``interpreter`` have only ``seconds`` more, from now on.

    A run that is given little time from its start may be late before it is where a test wants it,
    on a machine that does much besides.
    """
    meter = interpreter.meter
    with meter._lock:
        meter._deadline = meter._clock() + seconds
