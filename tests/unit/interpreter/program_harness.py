"""Limits of small programs, and what checks that a limit ends one."""

from __future__ import annotations

import pytest

from smolagents_fork.errors import LimitExceededError
from smolagents_fork.interpreter.guarded import Interpreter, RunLimits

MODULES = ["asyncio", "contextlib", "dataclasses", "enum", "json"]
#: Small, so that a rule that forgets to count is noticed at once.
LIMITS = RunLimits(max_operations=200_000, max_while_iterations=5_000, timeout_seconds=20)


def stopped(code: str, limits: RunLimits = LIMITS, *modules: str) -> str:
    """Assert that a limit ends ``code``; return the error's text."""
    with pytest.raises(LimitExceededError) as caught:
        Interpreter([*MODULES, *modules], limits=limits).run(code)
    return str(caught.value)
