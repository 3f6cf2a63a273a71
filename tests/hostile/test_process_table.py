"""Programs that nothing in-process can stop are stopped by the child-process executor."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import hostile_harness
from hostile_harness import HANGS_SECONDS, HARMLESS_MODULES, Program

from smolagents_fork.errors import ForkError

TIMEOUT_SECONDS = 1.5
PROGRAMS = [p for p in hostile_harness.all_programs() if p.executor]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the process executor needs POSIX")


@pytest.fixture(scope="module")
def executor() -> Iterator[Any]:
    from smolagents_fork.executors.process import ProcessExecutor

    executor = ProcessExecutor(
        HARMLESS_MODULES,
        timeout_seconds=HANGS_SECONDS,
        interrupt_grace_seconds=0.3,
        memory="512m",
    )
    executor.send_tools({})
    yield executor
    executor.cleanup()


def test_every_such_program_says_why() -> None:
    assert PROGRAMS
    for program in PROGRAMS:
        who, _, why = program.executor.partition(" ")
        assert who == "process", program.id
        assert len(why) > 20, program.id


@pytest.mark.parametrize("program", PROGRAMS, ids=[p.id for p in PROGRAMS])
def test_child_process_is_stopped_and_replaced(program: Program, executor: Any) -> None:
    started = time.monotonic()
    executor.options.timeout_seconds = TIMEOUT_SECONDS
    with pytest.raises(ForkError) as caught:
        executor(program.code)
    assert time.monotonic() - started < HANGS_SECONDS, program.id
    assert str(caught.value)
    executor.options.timeout_seconds = HANGS_SECONDS
    assert executor("6 * 7").output == 42
