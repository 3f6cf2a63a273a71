"""``tests/upstream/deviations.toml``: the tests that the fork may fail, each with its reason."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

from tools.errors import SuiteError

if sys.version_info >= (3, 11):
    import tomllib
else:
    # pytest requires tomli on Python 3.10, so it is there; mypy runs where it may not be.
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

__all__ = ["Deviation", "load_deviations"]

_OUTCOMES = ("failed", "error", "skipped", "missing")
_KEYS = {"test", "outcome", "reason", "releases"}

# Shorter ones ("intended", "see docs") tell a maintainer nothing.
REASON_MINIMUM_CHARACTERS = 40


class Deviation(NamedTuple):
    """A declared difference.

    Attributes:
        test: pytest's id; the ending ``[*]`` means every set of parameters of that test.
        outcome: how the test ends on the fork.
        reason: why that is right, in words for a maintainer of upstream.
        releases: upstream releases it applies to; empty for all.
    """

    test: str
    outcome: str
    reason: str
    releases: tuple[str, ...] = ()

    def covers(self, test: str) -> bool:
        """Tell whether the entry names this test."""
        if self.test.endswith("[*]"):
            return test.startswith(self.test[:-2]) and test.endswith("]")
        return test == self.test


def _parse(entry: dict[str, Any]) -> Deviation:
    """Return an entry of the file.

    Raises:
        ValueError: something about it is wrong.
    """
    if not set(entry) <= _KEYS or not _KEYS - set(entry) <= {"releases"}:
        raise ValueError(f"expected {', '.join(sorted(_KEYS))}, got {', '.join(entry)}")
    reason = " ".join(str(entry["reason"]).split())
    deviation = Deviation(entry["test"], entry["outcome"], reason, tuple(entry.get("releases", ())))
    if "::" not in str(deviation.test):
        raise ValueError(f"test must be one test's id, got {deviation.test!r}")
    if deviation.outcome not in _OUTCOMES:
        allowed = ", ".join(_OUTCOMES)
        raise ValueError(f"outcome must be one of {allowed}, got {deviation.outcome!r}")
    if len(reason) < REASON_MINIMUM_CHARACTERS:
        raise ValueError(
            f"the reason has {len(reason)} characters; say in at least "
            f"{REASON_MINIMUM_CHARACTERS} why the fork is right to differ: {reason!r}"
        )
    return deviation


def load_deviations(path: Path, release: str) -> list[Deviation]:
    """Read and validate the file; returns the entries that apply to a release.

    Raises:
        SuiteError: missing, not TOML, an unknown or absent key, an entry without a real reason, or
            a test listed twice.
    """
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SuiteError(f"{path}: cannot be read: {error}") from error
    entries = data.get("deviation", [])
    are_tables = isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)
    if set(data) - {"schema", "deviation"} or data.get("schema") != 1 or not are_tables:
        raise SuiteError(
            f"{path}: expected `schema = 1` and [[deviation]] tables, got {list(data)}"
        )
    by_test: dict[str, Deviation] = {}
    for number, entry in enumerate(entries, start=1):
        try:
            deviation = _parse(entry)
            if deviation.test in by_test:
                raise ValueError(f"{deviation.test} is listed twice")
        except ValueError as fault:
            raise SuiteError(f"{path}: deviation {number}: {fault}") from None
        by_test[deviation.test] = deviation
    return [known for known in by_test.values() if not known.releases or release in known.releases]
