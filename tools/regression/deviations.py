"""``tests/upstream/deviations.toml``: the tests that the fork may fail, each with its reason."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from tools.regression.errors import SuiteError

if sys.version_info >= (3, 11):
    import tomllib
else:
    # pytest requires tomli on Python 3.10, so it is there; mypy runs where it may not be.
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

__all__ = ["Deviation", "load_deviations"]

DeviatingStatus = Literal["failed", "error", "skipped", "missing"]

# Shorter ones ("intended", "see docs") tell a maintainer nothing.
REASON_MINIMUM_CHARACTERS = 40

_REQUIRED = {"test", "outcome", "reason"}
_ALLOWED = _REQUIRED | {"releases"}


@dataclass(frozen=True)
class Deviation:
    """A declared difference.

    Attributes:
        test: pytest's id; the ending ``[*]`` stands for every set of parameters of that test.
        outcome: how the test ends on the fork.
        reason: why that is right, in words for a maintainer of upstream.
        releases: upstream releases it applies to; empty for all.
    """

    test: str
    outcome: DeviatingStatus
    reason: str
    releases: tuple[str, ...] = ()

    def covers(self, test: str) -> bool:
        """Whether the entry names this test."""
        if self.test.endswith("[*]"):
            return test.startswith(self.test[:-2]) and test.endswith("]")
        return test == self.test


def _deviation(entry: Any, where: str) -> Deviation:
    if not isinstance(entry, dict):
        raise SuiteError(f"{where}: expected a table, got {entry!r}")
    unknown, lacking = sorted(set(entry) - _ALLOWED), sorted(_REQUIRED - set(entry))
    if unknown or lacking:
        raise SuiteError(f"{where}: lacks {lacking or 'nothing'}, has unknown {unknown or 'none'}")
    for key in sorted(_REQUIRED):
        if not isinstance(entry[key], str):
            raise SuiteError(f"{where}: {key} must be a string, got {entry[key]!r}")
    if "::" not in entry["test"]:
        raise SuiteError(f"{where}: test must be one test's id, got {entry['test']!r}")
    if entry["outcome"] not in get_args(DeviatingStatus):
        names = ", ".join(get_args(DeviatingStatus))
        raise SuiteError(f"{where}: outcome must be one of {names}, got {entry['outcome']!r}")
    reason = " ".join(entry["reason"].split())
    if len(reason) < REASON_MINIMUM_CHARACTERS:
        raise SuiteError(
            f"{where}: the reason has {len(reason)} characters; say in at least "
            f"{REASON_MINIMUM_CHARACTERS} why the fork is right to differ: {reason!r}"
        )
    releases = entry.get("releases", [])
    if not isinstance(releases, list) or not all(isinstance(name, str) for name in releases):
        raise SuiteError(f"{where}: releases must be a list of versions, got {releases!r}")
    outcome = cast(DeviatingStatus, entry["outcome"])
    return Deviation(entry["test"], outcome, reason, tuple(releases))


def load_deviations(path: Path, release: str) -> list[Deviation]:
    """Read and validate the file; returns the entries that apply to a release.

    Raises:
        SuiteError: missing, no TOML, an unknown or absent key, an entry without a real reason, or
            a test listed twice.
    """
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SuiteError(f"{path}: cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise SuiteError(f"{path}: not TOML: {error}") from error
    if set(data) - {"schema", "deviation"} or data.get("schema") != 1:
        raise SuiteError(
            f"{path}: expected `schema = 1` and [[deviation]] tables, got {list(data)}"
        )
    entries = data.get("deviation", [])
    if not isinstance(entries, list):
        raise SuiteError(f"{path}: deviation must be written as [[deviation]] tables")
    found: list[Deviation] = []
    for number, entry in enumerate(entries, start=1):
        deviation = _deviation(entry, f"{path}: deviation {number}")
        if any(known.test == deviation.test for known in found):
            raise SuiteError(f"{path}: deviation {number}: {deviation.test} is listed twice")
        found.append(deviation)
    return [known for known in found if not known.releases or release in known.releases]
