"""Compares two runs of the same tests and says what each difference is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tools.regression.causes import UNEXPLAINED, Cause, classify
from tools.regression.deviations import Deviation
from tools.regression.junit import Outcome

__all__ = ["Comparison", "Kind", "Report", "compare"]

MISSING = Outcome("missing", "the side has no such test")


class Kind(str, Enum):
    """What a pair of outcomes means; the values are the words of the report."""

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
        seconds: what each step took.
    """

    release: str
    fork_version: str
    comparisons: list[Comparison]
    stale: list[str] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def of(self, kind: Kind) -> list[Comparison]:
        """The comparisons of one kind."""
        return [found for found in self.comparisons if found.kind is kind]

    @property
    def ran(self) -> int:
        """Tests that ran on pristine: neither skipped nor missing."""
        return sum(
            found.pristine.status not in ("skipped", "missing") for found in self.comparisons
        )

    @property
    def causes(self) -> Counter[Cause]:
        """How many tests fail on both sides, by cause and rule."""
        return Counter(found.cause for found in self.comparisons if found.cause)

    @property
    def unexplained(self) -> list[Comparison]:
        """Tests that fail on both sides, on one of them for no known cause."""
        return [
            found
            for found in self.of(Kind.FAILED_BOTH)
            if any(cause and cause.name == UNEXPLAINED for cause in (found.cause, found.fork_cause))
        ]

    @property
    def exit_status(self) -> int:
        """0, or 1 with an undeclared difference or a stale declaration."""
        return 1 if self.of(Kind.UNDECLARED) or self.stale else 0

    def as_dict(self) -> dict[str, Any]:
        """Everything but the full texts, for the JSON report."""
        return {
            "release": self.release,
            "fork_version": self.fork_version,
            "exit_status": self.exit_status,
            "collected": len(self.comparisons),
            "ran": self.ran,
            "counts": {kind.value: len(self.of(kind)) for kind in Kind},
            "unexplained": len(self.unexplained),
            "causes": [
                {"cause": cause.name, "rule": cause.rule, "tests": count}
                for cause, count in self.causes.most_common()
            ],
            "stale_deviations": self.stale,
            "absent_groups": self.absent,
            "notes": self.notes,
            "seconds": {name: round(value, 1) for name, value in self.seconds.items()},
            "tests": [
                {
                    "test": found.test,
                    "kind": found.kind.value,
                    "pristine": found.pristine.status,
                    "fork": found.fork.status,
                    **({"cause": found.cause.name} if found.cause else {}),
                    **({"fork_cause": found.fork_cause.name} if found.fork_cause else {}),
                    **({"reason": found.reason} if found.reason else {}),
                    **(
                        {"again": [[one.status, other.status] for one, other in found.again]}
                        if found.again
                        else {}
                    ),
                }
                for found in self.comparisons
            ],
        }


def _pair(test: str, pristine: Outcome, fork: Outcome, declared: Sequence[Deviation]) -> Comparison:
    if pristine.status == fork.status == "passed":
        return Comparison(test, Kind.PASSED_BOTH, pristine, fork)
    # A test that only the fork has, and that fails there, is a test file that broke.
    if pristine.status == "passed" or (
        pristine.status == "missing" and fork.status in ("failed", "error")
    ):
        for deviation in declared:
            if deviation.covers(test) and deviation.outcome == fork.status:
                kind, reason = Kind.DECLARED, deviation.reason
                return Comparison(test, kind, pristine, fork, reason=reason)
        return Comparison(test, Kind.UNDECLARED, pristine, fork)
    if fork.status == "passed":
        return Comparison(test, Kind.GAINED, pristine, fork)
    if {pristine.status, fork.status} <= {"skipped", "missing"}:
        reason = pristine.message if pristine.status == "skipped" else fork.message
        return Comparison(test, Kind.SKIPPED_BOTH, pristine, fork, reason=reason)
    cause = classify(pristine if pristine.status in ("failed", "error") else fork)
    other = classify(fork) if fork.status in ("failed", "error") else cause
    fork_cause = other if other.name != cause.name else None
    return Comparison(test, Kind.FAILED_BOTH, pristine, fork, cause, fork_cause)


def _is_in(test: str, name: str) -> bool:
    """Whether a test belongs to a file, a class, a test or one set of a test's parameters."""
    return test == name or test.startswith((f"{name}::", f"{name}["))


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
    order = [*pristine, *(test for test in fork if test not in pristine)]
    found = [
        _pair(test, pristine.get(test, MISSING), fork.get(test, MISSING), declared)
        for test in order
    ]
    stale: list[str] = []
    for deviation in declared:
        if selection and not any(_is_in(deviation.test, name) for name in selection):
            continue
        covered = [one for one in found if deviation.covers(one.test)]
        if any(one.kind is Kind.DECLARED for one in covered):
            continue
        sides = {
            f"{one.pristine.status} on pristine and {one.fork.status} on the fork"
            for one in covered
        }
        now = ", ".join(sorted(sides))
        stale.append(
            f"{deviation.test}: declared as {deviation.outcome} on the fork, but is now "
            f"{now or 'in neither run'}; remove the entry or correct it"
        )
    return found, stale
