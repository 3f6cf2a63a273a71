"""A bounded search for programs that reach a canary, outlive a limit or crash the interpreter.

Every run tries the same programs, as many on a fast machine as on a slow one: what fails is what a
change has broken. ``fuzz_search.py`` tries others, by ``FUZZ_SEED``; what that finds is kept in
``corpus/``, which is part of the table of hostile programs. The last tests show that the search
finds what there is to find: the canary in plain CPython, a guard with a hole in it, and a probe
that hangs.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fuzz_grammar
import hostile_table
import pytest
from hostile_harness import HANGS_SECONDS, LIMITS, Worker, local_faults
from hostile_table import HARMLESS_MODULES, Program
from whole_contract import WHOLE

SEED = int(os.environ.get("FUZZ_SEED", "1"))
#: Of 400 probes, and of one program: a few seconds for all.
BATCHES, LIMIT_PROGRAMS = (6, 20) if WHOLE else (3, 10)

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the worker forks its children"),
    pytest.mark.slow,
    pytest.mark.limit(300),
]


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as worker:
        yield worker


def hostile_lines() -> list[str]:
    programs = [p for p in hostile_table.all_programs() if not (p.limit or p.local or p.imports)]
    return [p.code for p in programs]


def make(seed: int) -> fuzz_grammar.Fuzzer:
    return fuzz_grammar.Fuzzer(seed, hostile_lines())


def batch(worker: Worker, probes: list[str], **options: Any) -> dict[str, Any]:
    return worker.run(
        {
            "mode": "ours",
            "probes": probes,
            "prelude": fuzz_grammar.PRELUDE,
            "imports": HARMLESS_MODULES,
            "limits": {**LIMITS, "max_operations": 300_000, "timeout_seconds": 0.3},
            "deadline": HANGS_SECONDS,
            **options,
        }
    )


def search(worker: Worker, seed: int, batches: int, **options: Any) -> tuple[int, str]:
    """Probes tried until there are no more batches or one is at fault; and that one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fuzzer = make(seed)
        tried = 0
        for _ in range(batches):
            probes = fuzzer.probes(400)
            answer = batch(worker, probes, **options)
            tried += answer.get("ran", 0)
            if answer["reached"]:
                probe = answer.get("probe") or _alone(worker, probes, options)
                return tried, f"reached {answer['reached']}\n{probe}"
        return tried, ""


def _alone(worker: Worker, probes: list[str], options: dict[str, Any]) -> str:
    """The half, and half of that, that still does what the whole did: for what shows only at the
    end."""
    while len(probes) > 1:
        half = len(probes) // 2
        for part in (probes[:half], probes[half:]):
            if batch(worker, part, **options)["reached"]:
                probes = part
                break
        else:
            break
    return "\n".join(probes[:40])


def test_no_probe_reaches_a_canary(worker: Worker) -> None:
    tried, found = search(worker, SEED, BATCHES)
    assert not found, f"FUZZ_SEED={SEED}: {found}"
    assert tried >= 200


def test_no_program_swallows_or_outlives_a_limit(worker: Worker) -> None:
    fuzzer = make(SEED)
    programs = [
        Program(
            "generated", str(number), fuzzer.limit_program(), Path(__file__), 1, limit="endless"
        )
        for number in range(LIMIT_PROGRAMS)
    ]
    faults = local_faults(worker, programs)
    assert not faults, "\n".join(f"FUZZ_SEED={SEED}: {why}\n{p.code}" for p, why in faults.items())


def test_search_finds_the_canary_in_plain_cpython(worker: Worker) -> None:
    _, found = search(worker, SEED, 20, mode="weak")
    assert "reached" in found


def test_search_finds_a_hole_in_a_guard(worker: Worker) -> None:
    """With one dunder let through, the search says which probe used it."""
    _, found = search(worker, SEED, 60, extra_dunders=["__globals__", "__func__"])
    assert "reached" in found
    # A probe may write the name as the sum of two parts.
    written = found.replace("' + '", "")
    assert "__globals__" in written or "__func__" in written


def test_probe_that_hangs_is_named(worker: Worker) -> None:
    probes = ["len('a')", "queue.Queue().get()", "len('b')"]
    answer = batch(worker, probes, deadline=5)
    assert answer == {"reached": ["outlived its limit"], "probe": probes[1], "ran": 2}


def test_seed_decides_the_programs() -> None:
    assert make(3).probes(5) == make(3).probes(5)
    assert make(3).probes(5) != make(4).probes(5)
