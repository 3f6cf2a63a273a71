"""No hostile program reaches its canary in `local`, except those with a header."""

from __future__ import annotations

import os
from pathlib import Path

import hostile_harness
import hostile_table
import pytest
from hostile_harness import Program, Worker

#: Number of programs per test, so that the shared state is not compared for each program.
PART = 30
IN_LOCAL = [p for p in hostile_table.all_programs() if p.in_local]
PARTS = hostile_table.in_parts(IN_LOCAL, PART)
GAPS = [p for p in hostile_table.all_programs() if p.documented]

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the hostile worker forks its children"),
    pytest.mark.limit(600),
]


@pytest.mark.parametrize("programs", PARTS.values(), ids=PARTS)
def test_programs_do_not_reach_their_canaries(programs: list[Program], worker: Worker) -> None:
    faults = hostile_harness.local_faults(worker, programs)
    assert not faults, "\n".join(f"{why}\n{p.shown()}" for p, why in faults.items())


class Bare(Program):
    """A program that may import the default modules alone."""

    modules = ()


def test_no_program_reaches_its_canary_with_the_default_modules_alone(worker: Worker) -> None:
    """With fewer modules, fewer members are replaced."""
    programs = [Bare(**vars(p)) for p in IN_LOCAL if not (p.limit or p.imports or p.memory)]
    answer = worker.batch("ours", programs)
    for program, one in zip(programs, answer["answers"], strict=True):
        assert one["reached"] == [], program.shown()
        assert one["ended"] == "ok" or one["interpreter_error"], (one, program.shown())
    assert answer["changed"] == []


@pytest.mark.parametrize("program", GAPS, ids=[p.name for p in GAPS])
def test_documented_gap_is_one_still(program: Program, worker: Worker) -> None:
    """A program that is stopped must not be listed as a gap."""
    # On a busy machine, the limit may be over before the endless line begins.
    attempts = (worker.batch("ours", [program], deadline=0.6)["answers"][0] for _ in range(5))
    assert any(answer["reached"] == ["outlived its limit"] for answer in attempts), program.shown()


def test_programs_work_in_a_folder_of_their_own(worker: Worker) -> None:
    """Programs write files, which must not appear in the current folder of the test run."""
    code = 'open("planted.log", "w").close()\nbegun = 1\n'
    program = Program("written", "here", code, Path(__file__), 1)
    worker.batch("weak", [program])
    assert "planted.log" in os.listdir(worker.folder)
    assert not worker.folder.is_relative_to(Path.cwd())
