"""Hostile programs, through the interpreter in a child process: nothing outside is reached.

Every twelfth program, and with ``WHOLE_CONTRACT=1`` every one: what confines them is the kernel,
which ``test_process_plain.py`` shows without the interpreter in its path.

Separate from ``test_process_plain.py``, so that the two files run in parallel.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import hostile_table
import pytest
from hostile_table import Program
from whole_contract import every

if TYPE_CHECKING:
    from process_host import ProcessHost

PLAIN = False
PARTS = hostile_table.in_parts(every(12, hostile_table.all_programs()), 30)

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the kernel that confines is Linux"),
    pytest.mark.slow,
    pytest.mark.limit(600),
]


@pytest.mark.parametrize("programs", PARTS.values(), ids=PARTS)
def test_programs_reach_nothing_outside(programs: list[Program], host: ProcessHost) -> None:
    host.check(programs)
