"""The search tries one seed after another, and ends with its time or at the first fault."""

from __future__ import annotations

import fuzz_search


def seeds_tried(seconds: float, failing: int | None = None) -> tuple[list[int], int]:
    """Return the seeds of a search whose tests take ten seconds, and its exit status."""
    seeds: list[int] = []

    def run(seed: int) -> int:
        seeds.append(seed)
        return int(seed == failing)

    status = fuzz_search.search(seconds, 7, run, clock=lambda: 10.0 * len(seeds))
    return seeds, status


def test_search_ends_within_its_time() -> None:
    assert seeds_tried(35) == ([7, 8, 9], 0)


def test_first_seed_runs_in_any_case() -> None:
    assert seeds_tried(1) == ([7], 0)


def test_search_ends_at_the_first_fault() -> None:
    assert seeds_tried(1000, failing=8) == ([7, 8], 1)
