"""Each program that `local` stops reaches its canary in plain CPython: the tests can fail.

Every twelfth program, and with ``WHOLE_CONTRACT=1`` every one. With a new program, run the whole.
"""

from __future__ import annotations

import os
import sys

import hostile_harness
import hostile_table
import pytest
from hostile_harness import REFERENCE, Program, Worker
from whole_contract import every

IN_LOCAL = [p for p in hostile_table.all_programs() if p.in_local]
SHOWN = [p for p in IN_LOCAL if not p.weak]
PARTS = hostile_table.in_parts(every(12, SHOWN), 30)

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the hostile worker forks its children"),
    pytest.mark.slow,
    pytest.mark.limit(600),
]


@pytest.mark.parametrize("programs", PARTS.values(), ids=PARTS)
def test_programs_reach_their_canaries(programs: list[Program], worker: Worker) -> None:
    """Reaching the canary once is sufficient.

    A process without memory does not always end in the same way, hence three tries.
    """
    left = list(programs)
    for _ in range(3):
        answers = hostile_harness.weak_answers(worker, left)
        left = [p for p, answer in zip(left, answers, strict=True) if not answer["reached"]]
        if not left:
            return
    if sys.version_info[:2] != REFERENCE:
        pytest.skip(f"not with this Python and its packages: {', '.join(p.id for p in left)}")
    assert not left, "\n".join(p.shown() for p in left)


def test_few_programs_are_without_a_demonstration() -> None:
    assert len(IN_LOCAL) - len(SHOWN) <= len(IN_LOCAL) // 10
