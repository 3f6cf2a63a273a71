"""The lint, then the tests of the project: the fork's own, and upstream's on the fork.

Without arguments it is ``make test``. It leaves out tests with the mark ``broad``, and those whose
subject has not changed (:mod:`tools.changed_subjects`), and takes the outcomes of upstream's tests
on upstream's release from the repository. With ``--rest`` it is ``make test-rest``, which follows
it: what was left out, and upstream's tests on both sides. ``make test-all`` is both, and then
``--after``, which fails if a test was not stable in either, or if either left something behind.

Tests run on more workers than there are cores, so a test may fail for the load of its neighbours.
A few failed tests are run once more, alone. Those that pass then are unstable: the last lines name
them, and they are to be mended before anything else. A test that fails twice fails the
run, as do more failures than load explains, and a test that crashes its worker, which ends the run.

Upstream's tests begin before the lint: their packages take time to arrive. Beside it, one process
collects the tests, which compiles them: in a fresh checkout each worker would compile all of them.
A lint that finds something ends the run.

``python -m tools.whole_run ARGUMENTS`` runs the tests that pytest's arguments name, and nothing
else, in the same manner.

Exit: 0 no failure, 1 some, 2 no run.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from tools import lint
from tools.changed_subjects import unchanged_subjects
from tools.command import Command, clean_environment, run
from tools.errors import CommandError, SuiteError, ToolError
from tools.junit import Outcome, read_junit
from tools.paths import REPORTS, ROOT
from tools.run_remains import RUN_VARIABLE, RunWatch

__all__ = ["MOST_REPEATED", "OwnTests", "main"]

#: Arguments: run what ``make test`` leaves out; fail for what both runs have noted.
REST, AFTER = "--rest", "--after"
#: Mark of tests that ``make test`` leaves out, whatever has changed.
_BROAD = "broad"
#: More failures than these are not explained by load, and are not repeated.
MOST_REPEATED = 5
#: Lists in the folder of reports, and how many failed tests the last lines name.
_FAILED_LIST, _UNSTABLE_LIST, _MOST_NAMES = "failed.txt", "unstable.txt", 50
_LEFT_LIST = "left-behind.txt"
#: pytest's exit statuses: all passed, some failed, it came to no end, there was none.
_PASSED, _FAILED, _INTERRUPTED, _NONE_COLLECTED = 0, 1, 2, 5
#: xdist's words for a test whose worker died.
_CRASHED = re.compile(r"^worker '\w+' crashed while running ", re.MULTILINE)
_UPSTREAM_SECONDS = 3600.0
_COLLECT_SECONDS = 600.0
_COLLECT = (sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider")
#: A file in the output of ``_COLLECT``, which ends with the number of its tests.
_COLLECTED_FILE = re.compile(r"^(\S+\.py): \d+$", re.MULTILINE)
# A worker in a dead one's place would get no work: the run would wait for ever.
_ALL = (
    *("-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder", "--max-worker-restart=0"),
    "--durations=20",
)


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
    arguments: Sequence[str] = _ALL
    variables: Mapping[str, str] = MappingProxyType({})
    python: Path = Path(sys.executable)
    timeout_seconds: float | None = None

    def run(self) -> bool:
        """Run all tests, and a few failed ones again, alone; return whether all passed.

        Raises:
            SuiteError: see :meth:`outcomes`.
        """
        return not _failed(self.outcomes())

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
        failed = _failed(outcomes)
        if not failed and status != _PASSED:
            raise SuiteError(f"pytest ended with exit status {status}, and no test has failed")
        has_crashed = any(_CRASHED.search(one.text) for one in outcomes.values())
        if status == _FAILED and len(failed) <= MOST_REPEATED and not has_crashed:
            print(f"\n== once more, alone: {len(failed)} failed", flush=True)
            self._pytest("again", "--last-failed", "--last-failed-no-failures=none")
            with contextlib.suppress(SuiteError):  # a test that ends the process fails again
                outcomes |= read_junit(self.reports / "again.xml")
        lasting = _failed(outcomes)
        unstable = sorted(set(failed) - set(lasting))
        for name, keys in ((_FAILED_LIST, lasting), (_UNSTABLE_LIST, unstable)):
            (self.reports / name).write_text("".join(f"{key}\n" for key in keys), "utf-8")
        return outcomes

    def note_left(self, left: Sequence[str]) -> None:
        """Keep what the run has left behind, one sentence each."""
        (self.reports / _LEFT_LIST).write_text("".join(f"{one}\n" for one in left), "utf-8")

    def shortcomings(self) -> list[str]:
        """List the tests that failed in the run and passed alone, and what the run has left."""
        return [*self._names(_UNSTABLE_LIST), *self._names(_LEFT_LIST)]

    def print_names(self) -> None:
        """Name what was left behind, the failed and the unstable tests, as a run's last lines."""
        if left := self._names(_LEFT_LIST):
            print("\n== LEFT BEHIND by the tests")
            print("\n".join(left), flush=True)
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
        with Command(command, timeout_seconds=limit, cwd=folder, env=environment, log=log) as one:
            one.wait((_PASSED, _FAILED, _INTERRUPTED, _NONE_COLLECTED))
        return one.status or _PASSED


def _failed(outcomes: Mapping[str, Outcome]) -> list[str]:
    return sorted(key for key, one in outcomes.items() if one.status in ("failed", "error"))


def main(arguments: Sequence[str] = ()) -> int:
    """Run the tests; return the exit status.

    Args:
        arguments: ``--rest``, ``--after``, or pytest's, for only the tests that they name.
    """
    try:
        if list(arguments) == [REST]:
            return _run_rest()
        if list(arguments) == [AFTER]:
            return 1 if any(one.shortcomings() for one in _both_runs()) else 0
        return _run_named(arguments) if arguments else _run_project()
    except (CommandError, SuiteError) as error:
        print(f"the tests could not run: {error}", file=sys.stderr)
        return 2


def _run_named(arguments: Sequence[str]) -> int:
    """Run some tests; what fails beside others is in this Python's own list."""
    reports = REPORTS / f"python{sys.version_info.major}.{sys.version_info.minor}"
    tests = OwnTests(reports=reports, arguments=(*_ALL, *arguments))
    passed = tests.run()
    tests.print_names()
    return 0 if passed else 1


def _run_project() -> int:
    REPORTS.mkdir(exist_ok=True)
    left_out = _marks_of_the_rest()
    tests = OwnTests(arguments=(*_ALL, "-m", f"not ({left_out})"))
    with _upstreams_tests("--recorded") as upstream:
        if not _linted():
            return 1
        passed, same = _both(tests, upstream)
    print(f"left to make test-rest: tests with the mark {left_out}")
    tests.print_names()
    return 0 if passed and same else 1


def _run_rest() -> int:
    """Run what ``make test`` has left out."""
    before, tests = _both_runs()
    shutil.rmtree(tests.reports, ignore_errors=True)  # names of an earlier run
    tests.reports.mkdir(parents=True)
    selection = ("-m", _marks_of_the_rest())
    with _upstreams_tests() as upstream:
        # Otherwise each worker would collect all files.
        files = _collect(*selection)
        tests = tests._replace(arguments=(*_ALL, *selection, *files))
        passed, same = _both(tests if files else None, upstream)
    for part in (before, tests):
        part.print_names()
    return 0 if passed and same else 1


def _marks_of_the_rest() -> str:
    """Return pytest's expression for the tests that ``make test`` leaves out."""
    return " or ".join([_BROAD, *unchanged_subjects()])


def _collect(*selection: str) -> list[str]:
    """Return the files that have some of the selected tests.

    Raises:
        CommandError: tests cannot be collected.
    """
    output = run(
        [*_COLLECT, *selection],
        timeout_seconds=_COLLECT_SECONDS,
        cwd=ROOT,
        log=REPORTS / "collected.log",
        accepted=(_PASSED, _NONE_COLLECTED),
    )
    return _COLLECTED_FILE.findall(output)


def _both_runs() -> tuple[OwnTests, OwnTests]:
    """Return the runs of ``make test`` and of what it leaves out, without their arguments."""
    return OwnTests(), OwnTests(reports=REPORTS / "rest")


def _upstreams_tests(*options: str) -> Command:
    command = [sys.executable, "-m", "tools.regression", *options]
    log = REPORTS / "upstream.log"
    return Command(command, timeout_seconds=_UPSTREAM_SECONDS, cwd=ROOT, log=log)


def _both(tests: OwnTests | None, upstream: Command) -> tuple[bool, bool]:
    """Run the own tests beside upstream's; return whether each passed."""
    passed = True
    if tests is not None:
        watch = RunWatch()
        with watch:
            passed = tests._replace(variables={RUN_VARIABLE: watch.run}).run()
        tests.note_left(watch.left)
    print("\n== upstream's tests", flush=True)
    same = _ended_well(upstream)
    print((REPORTS / "upstream.log").read_text("utf-8", "replace"), flush=True)
    return passed, same


def _linted() -> bool:
    """Run the lint, and compile the tests meanwhile."""
    log = REPORTS / "collected.log"
    with Command(_COLLECT, timeout_seconds=_COLLECT_SECONDS, cwd=ROOT, log=log) as collecting:
        if lint.main() != 0:
            return False
        with contextlib.suppress(CommandError):  # the run itself tells of what is wrong with tests
            collecting.wait()
    return True


def _ended_well(upstream: Command) -> bool:
    try:
        upstream.wait()
    except CommandError:
        return False  # its output, which says why, is printed by the caller
    except ToolError as error:
        print(error, file=sys.stderr)
        return False
    return True


if __name__ == "__main__":
    # As an interrupt at the terminal: what was started is ended on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    raise SystemExit(main(sys.argv[1:]))
