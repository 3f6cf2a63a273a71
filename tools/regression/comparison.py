"""Compare two runs of the same tests, and say what each difference is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from tools.junit import Outcome
from tools.regression.causes import UNEXPLAINED, Cause, classify
from tools.regression.deviations import Deviation

__all__ = ["MISSING", "Comparison", "Kind", "Report", "compare", "judge_again", "run_again"]

MISSING = Outcome("missing", "the side has no such test")

# More differences than this are no accident of timing, and two more runs of each would take long.
RERUN_AT_MOST = 20
RERUNS = 2


class Kind(str, Enum):
    """Meaning of a pair of outcomes; the values are the words of the report."""

    PASSED_BOTH = "passed on both"
    SKIPPED_BOTH = "skipped on both"
    FAILED_BOTH = "failed on both"
    DECLARED = "differs, declared"
    UNDECLARED = "differs, undeclared"
    FLAKY = "flaky"
    GAINED = "passes on the fork only"


@dataclass(frozen=True)
class Comparison:
    """One test on both sides.

    Attributes:
        test: pytest's id.
        cause: why it passes on neither side (``None`` for every other kind).
        fork_cause: the same for the fork where it is another cause: it may hide a defect.
        reason: the declared reason, or the skip's.
        again: outcomes of the runs in isolation, as pairs (pristine, fork).
    """

    test: str
    kind: Kind
    pristine: Outcome
    fork: Outcome
    cause: Cause | None = None
    fork_cause: Cause | None = None
    reason: str = ""
    again: tuple[tuple[Outcome, Outcome], ...] = ()

    @property
    def best_of_pristine(self) -> Outcome:
        """Pristine's outcome, or the one of a further run in which the test passed."""
        runs = [self.pristine, *(pristine for pristine, _ in self.again)]
        return next((outcome for outcome in runs if outcome.status == "passed"), self.pristine)


@dataclass
class Report:
    """The result of the suite.

    Attributes:
        release: upstream release the tests and the pristine side are from.
        fork_version: version of the fork's wheel.
        comparisons: every test of either side.
        stale: declared deviations that no longer differ, as sentences.
        absent: optional groups that could not be installed, with the installer's words.
        notes: everything else a reader should know, as sentences.
    """

    release: str
    fork_version: str
    comparisons: list[Comparison]
    stale: list[str] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def of(self, kind: Kind) -> list[Comparison]:
        """Return the comparisons of one kind."""
        return [pair for pair in self.comparisons if pair.kind is kind]

    @property
    def ran(self) -> int:
        """Tests that ran on pristine: neither skipped nor missing."""
        return sum(pair.pristine.status not in ("skipped", "missing") for pair in self.comparisons)

    @property
    def causes(self) -> Counter[Cause]:
        """Count the tests that fail on both sides, by cause and rule."""
        return Counter(pair.cause for pair in self.comparisons if pair.cause)

    @property
    def unexplained(self) -> list[Comparison]:
        """Tests that fail on both sides, on one of them for no known cause."""
        return [pair for pair in self.comparisons if UNEXPLAINED in (pair.cause, pair.fork_cause)]

    @property
    def exit_status(self) -> int:
        """0, or 1 with an undeclared difference or a stale declaration."""
        return 1 if self.of(Kind.UNDECLARED) or self.stale else 0


def _pair(test: str, pristine: Outcome, fork: Outcome, declared: Sequence[Deviation]) -> Comparison:
    def pair_as(kind: Kind, **more: Any) -> Comparison:
        return Comparison(test, kind, pristine, fork, **more)

    if pristine.status == fork.status == "passed":
        return pair_as(Kind.PASSED_BOTH)
    # A test that only the fork has, and that fails there, is a test file that broke.
    is_new = pristine.status == "missing" and fork.status in ("failed", "error")
    if pristine.status == "passed" or is_new:
        for deviation in declared:
            if deviation.covers(test) and deviation.outcome == fork.status:
                return pair_as(Kind.DECLARED, reason=deviation.reason)
        return pair_as(Kind.UNDECLARED)
    if fork.status == "passed":
        return pair_as(Kind.GAINED)
    if {pristine.status, fork.status} <= {"skipped", "missing"}:
        said = pristine if pristine.status == "skipped" else fork
        return pair_as(Kind.SKIPPED_BOTH, reason=said.message)
    cause = classify(pristine if pristine.status in ("failed", "error") else fork)
    other = classify(fork) if fork.status in ("failed", "error") else cause
    hidden = other if other.name != cause.name else None
    return pair_as(Kind.FAILED_BOTH, cause=cause, fork_cause=hidden)


def compare(
    pristine: Mapping[str, Outcome],
    fork: Mapping[str, Outcome],
    declared: Sequence[Deviation],
    *,
    selection: Sequence[str] = (),
) -> tuple[list[Comparison], list[str]]:
    """Pair the outcomes of two runs.

    Args:
        pristine: outcomes on upstream's release.
        fork: outcomes on the fork.
        declared: the deviations that apply.
        selection: the test files and ids that were run; empty for all. An entry for another test
            cannot be told stale.

    Returns:
        The comparisons in pristine's order (tests only the fork has come last), and a sentence for
        each stale declaration.
    """
    comparisons = [
        _pair(test, pristine.get(test, MISSING), fork.get(test, MISSING), declared)
        for test in {**pristine, **fork}
    ]
    stale: list[str] = []
    for deviation in declared:
        was_run = (f"{deviation.test}:".startswith((f"{name}:", f"{name}[")) for name in selection)
        covered = [pair for pair in comparisons if deviation.covers(pair.test)]
        if (selection and not any(was_run)) or Kind.DECLARED in {pair.kind for pair in covered}:
            continue
        sides = {(pair.pristine.status, pair.fork.status) for pair in covered}
        now = ", ".join(f"{a} on pristine and {b} on the fork" for a, b in sorted(sides))
        stale.append(
            f"{deviation.test}: declared as {deviation.outcome} on the fork, but is now "
            f"{now or 'in neither run'}; remove the entry or correct it"
        )
    return comparisons, stale


def judge_again(found: Comparison, again: tuple[Outcome, Outcome]) -> Comparison:
    """Decide about a difference after the test was run again, alone, on both sides.

    A difference stays one unless the fork passes. That pristine failed alone does not excuse it: a
    test that needs the ones before it fails alone on both sides, and may still be lost on the fork.
    A test that passed on the fork only is flaky as soon as a run says otherwise.

    Args:
        found: an undeclared difference, or a test that passed on the fork only.
        again: outcomes of the further run, pristine first.
    """
    pristine, fork = (outcome.status == "passed" for outcome in again)
    differs = not fork if found.kind is Kind.UNDECLARED else fork and not pristine
    kind = found.kind if differs else Kind.FLAKY
    return replace(found, kind=kind, again=(*found.again, again))


def run_again(
    found: list[Comparison],
    run_alone: Callable[[str, int], tuple[Outcome, Outcome]],
    say: Callable[[str], None],
) -> list[str]:
    """Run each undeclared difference, and each test that passed on the fork only, up to twice more.

    A test whose second run already shows that it is flaky is not run a third time. Tests that
    pristine does not have are left alone: they are files that broke on the fork.

    Args:
        found: all comparisons; judged ones are replaced in place.
        run_alone: runs a test id in processes of its own, given the attempt's number.
        say: prints what is being done.

    Returns:
        Sentences for the report.
    """
    wanted = [
        index
        for index, pair in enumerate(found)
        if pair.kind in (Kind.UNDECLARED, Kind.GAINED) and pair.pristine.status != "missing"
    ]
    if len(wanted) > RERUN_AT_MOST:
        return [f"{len(wanted)} tests differ, more than {RERUN_AT_MOST}: none was run again alone"]
    for index in wanted:
        for attempt in range(1, RERUNS + 1):
            pair = found[index]
            if pair.kind is not Kind.FLAKY:
                say(f"again, alone ({attempt} of {RERUNS}): {pair.test}")
                found[index] = judge_again(pair, run_alone(pair.test, attempt))
    if not wanted:
        return []
    return [f"tests that differed and were run again, alone, up to {RERUNS} times: {len(wanted)}"]
