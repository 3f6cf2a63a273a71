"""Runs differing tests again, alone, before they are called a difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tools.regression.comparison import Comparison, Kind
from tools.regression.junit import Outcome

__all__ = ["RERUNS", "RERUN_AT_MOST", "run_again", "settle"]

# More differences than this are no accident of timing, and two more runs of each would take long.
RERUN_AT_MOST = 20
RERUNS = 2


def settle(found: Comparison, again: list[tuple[Outcome, Outcome]]) -> Comparison:
    """Decide about a difference after the test was run again, alone, on both sides.

    A difference stands unless the fork has passed at least once. That pristine failed alone is no
    excuse: a test that needs the ones before it fails alone on both sides, and may be lost on the
    fork all the same. A test that passed on the fork only is flaky as soon as a run says otherwise.

    Args:
        found: an undeclared difference, or a test that passed on the fork only.
        again: outcomes of the further runs, pristine first.
    """
    if found.kind is Kind.UNDECLARED:
        stands = all(fork.status != "passed" for _, fork in again)
    else:
        stands = all(one.status != "passed" and two.status == "passed" for one, two in again)
    return replace(found, kind=found.kind if stands else Kind.FLAKY, again=tuple(again))


def run_again(
    found: list[Comparison],
    run_alone: Callable[[str, int], tuple[Outcome, Outcome]],
    say: Callable[[str], None],
) -> list[str]:
    """Run each undeclared difference, and each test that passed on the fork only, up to twice more.

    A test whose second run already shows that it is flaky is not run a third time. Tests that
    pristine does not have are left alone: they are files that broke on the fork.

    Args:
        found: all comparisons; settled ones are replaced in place.
        run_alone: runs a test id in processes of its own, given the attempt's number.
        say: where to tell what is being done.

    Returns:
        Sentences for the report.
    """
    wanted = [
        index
        for index, one in enumerate(found)
        if one.kind in (Kind.UNDECLARED, Kind.GAINED) and one.pristine.status != "missing"
    ]
    if len(wanted) > RERUN_AT_MOST:
        return [f"{len(wanted)} tests differ, more than {RERUN_AT_MOST}: none was run again alone"]
    for index in wanted:
        again: list[tuple[Outcome, Outcome]] = []
        settled = found[index]
        while len(again) < RERUNS and settled.kind is not Kind.FLAKY:
            say(f"again, alone ({len(again) + 1} of {RERUNS}): {found[index].test}")
            again.append(run_alone(found[index].test, len(again) + 1))
            settled = settle(found[index], again)
        found[index] = settled
    if not wanted:
        return []
    return [f"tests that differed and were run again, alone, up to {RERUNS} times: {len(wanted)}"]
