"""Checks of this machine, each with a limit of time: their results, and what to do about them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..deadline import within
from ..errors import ForkError

__all__ = [
    "FAILED",
    "OK",
    "SKIPPED",
    "WARNING",
    "Check",
    "CheckResult",
    "Finding",
    "fail",
    "ok",
    "run_checks",
    "skip",
    "warning",
]

#: States of a finding. Only a failed one keeps the executor from running.
OK, WARNING, FAILED, SKIPPED = "ok", "warning", "failed", "skipped"


@dataclass(frozen=True)
class Finding:
    """Outcome of one check.

    Attributes:
        state: one of the four states.
        text: the result.
        todo: what the user can do about it; empty when there is nothing to do.
    """

    state: str
    text: str
    todo: str = ""


def ok(text: str) -> Finding:
    """Return the finding that all is well."""
    return Finding(OK, text)


def warning(text: str, todo: str) -> Finding:
    """Return the finding that a part of the executor does not work."""
    return Finding(WARNING, text, todo)


def fail(text: str, todo: str) -> Finding:
    """Return the finding that the executor cannot run."""
    return Finding(FAILED, text, todo)


def skip(text: str) -> Finding:
    """Return the finding that nothing can be known here."""
    return Finding(SKIPPED, text)


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes:
        name: of what is checked.
        run: performs the check; an error of the fork counts as a failure with its message.
        seconds: time it may take.
        needs: name of an earlier check without whose success this one is skipped.
    """

    name: str
    run: Callable[[], Finding]
    seconds: float = 10.0
    needs: str = ""


@dataclass(frozen=True)
class CheckResult:
    """Finding of one check, and the time that it took.

    Attributes:
        check: name of the check.
        finding: its outcome.
        seconds: that it took.
    """

    check: str
    finding: Finding
    seconds: float


def run_checks(checks: Iterable[Check]) -> list[CheckResult]:
    """Run checks one after the other, each at most for its time.

    Args:
        checks: Checks in their order; one that is late is left to a thread that ends with the
            process.
    """
    results: list[CheckResult] = []
    without: set[str] = set()
    for check in checks:
        started = time.monotonic()
        finding = skip(f"needs: {check.needs}") if check.needs in without else _run_limited(check)
        if finding.state in (FAILED, SKIPPED):
            without.add(check.name)
        results.append(CheckResult(check.name, finding, time.monotonic() - started))
    return results


def _run_limited(check: Check) -> Finding:
    late = ForkError(f"no result within {check.seconds:g} s")
    try:
        return within(check.seconds, check.run, late)
    except ForkError as error:
        # The fork's other messages end in what to do.
        hangs = "try again; if it stays so, what is checked hangs or this machine is overloaded"
        return fail(str(error), hangs if error is late else "")
    except Exception as error:
        return fail(f"{type(error).__name__}: {error}", "report this as a bug of the check")
