"""Every hostile program, through the interpreter in a child process: nothing outside is reached."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import hostile_table
from hostile_table import Program

PARTS = hostile_table.in_parts(hostile_table.all_programs(), 30)

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="the process executor needs POSIX"),
    pytest.mark.limit(600),
]


@pytest.fixture(scope="module")
def host() -> Iterator[object]:
    from process_harness import ProcessHost

    with ProcessHost(plain=False) as host:
        yield host


@pytest.mark.parametrize("programs", PARTS.values(), ids=PARTS)
def test_programs_reach_nothing_outside(programs: list[Program], host: object) -> None:
    faults = host.faults(programs)  # type: ignore[attr-defined]
    assert not faults, "\n".join(f"{why}\n{p.shown()}" for p, why in faults.items())
