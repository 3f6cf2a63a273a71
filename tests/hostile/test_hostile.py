"""No hostile program reaches its canary, and each would in plain CPython: the tests are able to
fail."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import hostile_harness
from hostile_harness import LATEST_SECONDS, LIMITS, TIMEOUT_SECONDS, Program, Worker

PROGRAMS = hostile_harness.all_programs()
IN_PROCESS = [p for p in PROGRAMS if not p.executor]

pytestmark = pytest.mark.skipif(
    not hasattr(__import__("os"), "fork"), reason="the hostile worker forks a child a program"
)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


@pytest.mark.parametrize("program", IN_PROCESS, ids=[p.id for p in IN_PROCESS])
def test_program_does_not_reach_its_canary(program: Program, worker: Worker) -> None:
    answer = worker.ours(program)
    if program.memory:
        answer["reached"] = [r for r in answer["reached"] if r != "memory exhausted"]
    where = f"{program.family}.py line {program.line}\n{program.code}\n{answer}"
    assert answer["reached"] == [], where
    assert answer["seconds"] <= LATEST_SECONDS, where
    if answer["ended"] == "ok":
        if not program.ends and _door_is_missing(worker.weak(program)):
            return
        assert program.ends, f"no error, and the program is not marked 'ends': {where}"
    else:
        assert answer["interpreter_error"], f"not an InterpreterError: {where}"


def test_no_program_reaches_its_canary_with_the_default_modules_alone(worker: Worker) -> None:
    """Fewer modules, fewer members replaced: all in one process, for the time it takes."""
    programs = [p for p in IN_PROCESS if not (p.limit or p.imports or p.memory)]
    answer = worker.run(
        {
            "mode": "ours",
            "prelude": "None",
            "probes": [p.code for p in programs],
            "code": "the default modules alone",
            "imports": [],
            "limits": {**LIMITS, "timeout_seconds": 0.5},
            "deadline": 600,
        }
    )
    assert answer["reached"] == [], answer
    assert answer["ran"] == len(programs) + 1, "not all of them were run"


#: The Python that the corpus was written against: there, every program reaches its canary.
REFERENCE = (3, 11)


def _door_is_missing(answer: dict[str, Any]) -> bool:
    """Whether plain CPython of another version, or with other packages, stops the program."""
    return sys.version_info[:2] != REFERENCE and not answer["reached"]


WITH_WEAK = [p for p in PROGRAMS if not p.weak]


@pytest.mark.parametrize("program", WITH_WEAK, ids=[p.id for p in WITH_WEAK])
def test_program_reaches_its_canary_in_plain_cpython(program: Program, worker: Worker) -> None:
    """The test of the tests: a program that cannot reach its canary anywhere shows nothing."""
    # Reaching it once shows that it can be reached; how a process that runs out of memory ends is
    # not the same every time.
    for _ in range(3):
        answer = worker.weak(program)
        if answer["reached"]:
            break
    if _door_is_missing(answer):
        pytest.skip(f"not with this Python and its packages: {answer['error'] or 'nothing done'}")
    assert answer["reached"], f"{program.family}.py line {program.line}\n{program.code}\n{answer}"


def test_corpus_is_large_and_every_program_is_named_once() -> None:
    names = [p.id for p in PROGRAMS]
    assert len(IN_PROCESS) >= 200
    assert len(set(names)) == len(names)


def test_few_programs_are_without_a_demonstration() -> None:
    assert len(PROGRAMS) - len(WITH_WEAK) <= len(PROGRAMS) // 20


def test_limits_of_the_suite_are_those_the_interpreter_takes() -> None:
    from smolagents_fork.interpreter import Limits

    assert Limits(**LIMITS).timeout_seconds == TIMEOUT_SECONDS
