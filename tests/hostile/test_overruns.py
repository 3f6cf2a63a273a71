"""No program outlives its time in C or in library code, but for what the documentation names."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from hostile_harness import HANGS_SECONDS, HARMLESS_MODULES, Worker
from overruns import GAPS, IMPORTS, MODULES, PROGRAMS

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "executors" / "local.md"
TIMEOUT_SECONDS = 0.1
# Quiet, each ends within half a second; one second past its time is what is promised.
LATEST_SECONDS = 3.0

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="the hostile worker forks a child a program"
)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_program_is_stopped_soon_and_within_memory(program: str, worker: Worker) -> None:
    answer = worker.run(
        {
            "mode": "ours",
            "code": IMPORTS + program,
            "imports": [*HARMLESS_MODULES, *MODULES],
            "limits": {"timeout_seconds": TIMEOUT_SECONDS},
            "deadline": HANGS_SECONDS,
        }
    )
    # The canaries of the worker: a deadline missed, memory exhausted, a thread left behind.
    assert answer["reached"] == [], f"{program}\n{answer}"
    assert answer["seconds"] <= LATEST_SECONDS, f"{program}\n{answer}"
    assert answer["interpreter_error"] or answer["ended"] == "ok", f"{program}\n{answer}"


def test_gaps_are_documented() -> None:
    page = " ".join(DOCUMENTATION.read_text("utf-8").split())
    for words in GAPS:
        assert words in page


@pytest.mark.parametrize("program", GAPS.values(), ids=GAPS)
def test_gap_is_one_still(program: str, worker: Worker) -> None:
    """What is stopped after all does not belong among the gaps."""
    answer = worker.run(
        {
            "mode": "ours",
            "code": IMPORTS + program,
            "imports": [*HARMLESS_MODULES, *MODULES],
            "limits": {"timeout_seconds": TIMEOUT_SECONDS},
            "deadline": 1.5,
        }
    )
    assert answer["reached"], f"{program}\n{answer}"
