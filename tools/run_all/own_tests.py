"""The fork's own tests by pytest, a few failed ones once more, alone, and lists of what to mend."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from tools.command import Command, clean_environment
from tools.errors import SuiteError
from tools.junit import Outcome, read_junit
from tools.paths import REPORTS, ROOT

__all__ = ["ALL", "MOST_REPEATED", "OwnTests"]

#: pytest's arguments for all tests, on several workers. A worker in a dead one's place would get no
#: work: the run would wait for ever.
ALL = (
    *("-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder", "--max-worker-restart=0"),
    "--durations=20",
)
#: More failures than these are not explained by load, and are not repeated.
MOST_REPEATED = 5
#: Lists in the folder of reports, and how many failed tests the last lines name.
_FAILED_LIST, _UNSTABLE_LIST, _MOST_NAMES = "failed.txt", "unstable.txt", 50
_LEFT_LIST = "left-behind.txt"
#: xdist's words for a test whose worker died.
_CRASHED = re.compile(r"^worker '\w+' crashed while running ", re.MULTILINE)


class OwnTests(NamedTuple):
    """One run of the fork's own tests.

    Attributes:
        folder: the checkout.
        reports: folder for the results, and for the lists of failed and unstable tests.
        arguments: of pytest, for the first run.
        variables: for the environment of the tests.
        python: interpreter that runs them.
        timeout_seconds: of a run, whose output is then a file in ``reports``; None for a run
            that may take any time and prints.
    """

    folder: Path = ROOT
    reports: Path = REPORTS
    arguments: Sequence[str] = ALL
    variables: Mapping[str, str] = MappingProxyType({})
    python: Path = Path(sys.executable)
    timeout_seconds: float | None = None

    def run(self) -> bool:
        """Run all tests, and a few failed ones again, alone; return whether all passed.

        Raises:
            SuiteError: see :meth:`outcomes`.
        """
        return not _list_failed(self.outcomes())

    def outcomes(self) -> dict[str, Outcome]:
        """Run all tests, and a few failed ones again, alone; return the last outcome of each.

        Raises:
            CommandError: a run took longer than it may.
            SuiteError: a run wrote no readable results, or failed without a failed test.
        """
        self.reports.mkdir(parents=True, exist_ok=True)
        for name in (_FAILED_LIST, _UNSTABLE_LIST):
            (self.reports / name).unlink(missing_ok=True)
        status = self._pytest("tests", "--cache-clear", *self.arguments)
        outcomes = read_junit(self.reports / "tests.xml")
        failed = _list_failed(outcomes)
        if not failed and status != pytest.ExitCode.OK:
            raise SuiteError(f"pytest ended with exit status {status}, and no test has failed")
        has_crashed = any(_CRASHED.search(outcome.text) for outcome in outcomes.values())
        can_repeat = len(failed) <= MOST_REPEATED and not has_crashed
        if status == pytest.ExitCode.TESTS_FAILED and can_repeat:
            print(f"\n== once more, alone: {len(failed)} failed", flush=True)
            self._pytest("again", "--last-failed", "--last-failed-no-failures=none")
            with contextlib.suppress(SuiteError):  # a test that ends the process fails again
                outcomes |= read_junit(self.reports / "again.xml")
        lasting = _list_failed(outcomes)
        unstable = sorted(set(failed) - set(lasting))
        for name, keys in ((_FAILED_LIST, lasting), (_UNSTABLE_LIST, unstable)):
            (self.reports / name).write_text("".join(f"{key}\n" for key in keys), "utf-8")
        return outcomes

    def note_left(self, left: Sequence[str]) -> None:
        """Keep what the run has left behind, one sentence each."""
        (self.reports / _LEFT_LIST).write_text("".join(f"{line}\n" for line in left), "utf-8")

    def shortcomings(self) -> list[str]:
        """List the tests that failed in the run and passed alone, and what the run has left."""
        return [*self._names(_UNSTABLE_LIST), *self._names(_LEFT_LIST)]

    def print_names(self) -> None:
        """Name what was left behind, the failed and the unstable tests, as a run's last lines."""
        if remains := self._names(_LEFT_LIST):
            print("\n== LEFT BEHIND by the tests")
            print("\n".join(remains), flush=True)
        if failed := self._names(_FAILED_LIST):
            print(f"\n== FAILED: {len(failed)}")
            print("\n".join(failed[:_MOST_NAMES]), flush=True)
        if unstable := self._names(_UNSTABLE_LIST):
            print("\n== UNSTABLE: failed beside others and passed alone; mend these first")
            print("\n".join(unstable), flush=True)

    def _names(self, name: str) -> list[str]:
        try:
            return (self.reports / name).read_text("utf-8").splitlines()
        except FileNotFoundError:
            return []

    def _pytest(self, name: str, *arguments: str) -> int:
        """Run pytest and return its exit status; the results' name is ``name``.xml."""
        results = self.reports / f"{name}.xml"
        results.unlink(missing_ok=True)
        options = ("-o", "cache_dir=build/test-cache", f"--junitxml={results}")
        command: list[str | Path] = [self.python, "-m", "pytest", *options, *arguments]
        folder, environment = self.folder, {**clean_environment(), **self.variables}
        limit, log = self.timeout_seconds, self.reports / f"{name}.log"
        if limit is None:
            return subprocess.run(command, cwd=folder, env=environment, check=False).returncode
        codes = pytest.ExitCode
        with Command(command, timeout_seconds=limit, cwd=folder, env=environment, log=log) as run:
            run.wait(set(codes) - {codes.INTERNAL_ERROR, codes.USAGE_ERROR})
        return run.status or codes.OK


def _list_failed(outcomes: Mapping[str, Outcome]) -> list[str]:
    return sorted(key for key, outcome in outcomes.items() if outcome.status in ("failed", "error"))
