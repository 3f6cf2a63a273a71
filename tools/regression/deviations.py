"""``tests/upstream/deviations.toml``: the tests that the fork may fail, each with its reason."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.errors import SuiteError

if sys.version_info >= (3, 11):
    import tomllib
else:
    # pytest requires tomli on Python 3.10, so it is there; mypy runs where it may not be.
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

__all__ = ["Deviation", "load_deviations"]

_OUTCOMES = ("failed", "error", "skipped", "missing")

# Shorter ones ("intended", "see docs") tell a maintainer nothing.
REASON_MINIMUM_CHARACTERS = 40

_REQUIRED = {"test", "outcome", "reason"}


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
    outcome: str
    reason: str
    releases: tuple[str, ...] = ()

    def covers(self, test: str) -> bool:
        """Tell whether the entry names this test."""
        if self.test.endswith("[*]"):
            return test.startswith(self.test[:-2]) and test.endswith("]")
        return test == self.test


def _fault(entry: Any) -> str:
    """Describe the fault of an entry; empty if there is none."""
    if not isinstance(entry, dict):
        return f"expected a table, got {entry!r}"
    unknown, lacking = sorted(set(entry) - _REQUIRED - {"releases"}), sorted(_REQUIRED - set(entry))
    if unknown or lacking:
        return f"lacks {lacking or 'nothing'}, has unknown {unknown or 'none'}"
    for key in sorted(_REQUIRED):
        if not isinstance(entry[key], str):
            return f"{key} must be a string, got {entry[key]!r}"
    if "::" not in entry["test"]:
        return f"test must be one test's id, got {entry['test']!r}"
    if entry["outcome"] not in _OUTCOMES:
        return f"outcome must be one of {', '.join(_OUTCOMES)}, got {entry['outcome']!r}"
    reason = " ".join(entry["reason"].split())
    if len(reason) < REASON_MINIMUM_CHARACTERS:
        return (
            f"the reason has {len(reason)} characters; say in at least "
            f"{REASON_MINIMUM_CHARACTERS} why the fork is right to differ: {reason!r}"
        )
    releases = entry.get("releases", [])
    if not isinstance(releases, list) or not all(isinstance(name, str) for name in releases):
        return f"releases must be a list of versions, got {releases!r}"
    return ""


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
    found: dict[str, Deviation] = {}
    for number, entry in enumerate(entries, start=1):
        fault = _fault(entry)
        if not fault and entry["test"] in found:
            fault = f"{entry['test']} is listed twice"
        if fault:
            raise SuiteError(f"{path}: deviation {number}: {fault}")
        reason = " ".join(entry["reason"].split())
        releases = tuple(entry.get("releases", ()))
        found[entry["test"]] = Deviation(entry["test"], entry["outcome"], reason, releases)
    return [known for known in found.values() if not known.releases or release in known.releases]
