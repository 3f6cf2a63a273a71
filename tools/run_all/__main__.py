"""The lint, then the tests of the project: the fork's own, and upstream's on the fork.

Without arguments it is ``make test``. It leaves out tests with the mark ``broad``, and those whose
subject has not changed (:mod:`tools.run_all.changed_subjects`), and takes the outcomes of
upstream's tests on upstream's release from the repository. With ``--rest`` it is ``make
test-rest``, which follows it: what was left out, and upstream's tests on both sides. ``make
test-all`` is both, and then ``--after``, which fails if a test was not stable in either, or if
either left something behind.

Tests run on more workers than there are cores, so a test may fail for the load of its neighbours.
A few failed tests are run once more, alone. Those that pass then are unstable: the last lines name
them, and they are to be mended before anything else. A test that fails twice fails the
run, as do more failures than load explains, and a test that crashes its worker, which ends the run.

Upstream's tests begin before the lint: their packages take time to arrive. Beside it, one process
collects the tests, which compiles them: in a fresh checkout each worker would compile all of them.
A lint that finds something ends the run.

``python -m tools.run_all ARGUMENTS`` runs the tests that pytest's arguments name, and nothing
else, in the same manner.

Exit: 0 no failure, 1 some, 2 no run.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import signal
import sys
from collections.abc import Sequence

import pytest

from tools import lint
from tools.command import Command, run
from tools.errors import CommandError, SuiteError
from tools.paths import REPORTS, ROOT
from tools.run_all.changed_subjects import unchanged_subjects
from tools.run_all.own_tests import ALL, OwnTests
from tools.run_all.run_remains import RUN_VARIABLE, RunWatch

__all__ = ["main"]

#: Arguments: run what ``make test`` leaves out; fail for what both runs have noted.
REST, AFTER = "--rest", "--after"
#: Mark of tests that ``make test`` leaves out, whatever has changed.
_BROAD = "broad"
_UPSTREAM_SECONDS = 3600.0
_COLLECT_SECONDS = 600.0
_COLLECT = (sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider")
#: A file in the output of ``_COLLECT``, which ends with the number of its tests.
_COLLECTED_FILE = re.compile(r"^(\S+\.py): \d+$", re.MULTILINE)


def main(arguments: Sequence[str] = ()) -> int:
    """Run the tests; return the exit status.

    Args:
        arguments: ``--rest``, ``--after``, or pytest's, for only the tests that they name.
    """
    try:
        if list(arguments) == [REST]:
            return _run_rest()
        if list(arguments) == [AFTER]:
            return 1 if any(run.shortcomings() for run in _both_runs()) else 0
        return _run_named(arguments) if arguments else _run_project()
    except (CommandError, SuiteError) as error:
        print(f"the tests could not run: {error}", file=sys.stderr)
        return 2


def _run_named(arguments: Sequence[str]) -> int:
    """Run some tests; what fails beside others is in this Python's own list."""
    reports = REPORTS / f"python{sys.version_info.major}.{sys.version_info.minor}"
    tests = OwnTests(reports=reports, arguments=(*ALL, *arguments))
    passed = tests.run()
    tests.print_names()
    return 0 if passed else 1


def _run_project() -> int:
    REPORTS.mkdir(exist_ok=True)
    left_out = _marks_of_the_rest()
    tests = OwnTests(arguments=(*ALL, "-m", f"not ({left_out})"))
    with _upstreams_tests("--recorded") as upstream:
        if not _lint():
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
        tests = tests._replace(arguments=(*ALL, *selection, *files))
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
        accepted=(pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED),
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
    same, end = True, ""
    try:
        upstream.wait()
    except CommandError as error:
        same, end = False, error.what
    print((REPORTS / "upstream.log").read_text("utf-8", "replace"), end, flush=True)
    return passed, same


def _lint() -> bool:
    """Run the lint, and compile the tests meanwhile."""
    log = REPORTS / "collected.log"
    with Command(_COLLECT, timeout_seconds=_COLLECT_SECONDS, cwd=ROOT, log=log) as collecting:
        if lint.main() != 0:
            return False
        with contextlib.suppress(CommandError):  # the run itself tells of what is wrong with tests
            collecting.wait()
    return True


if __name__ == "__main__":
    # As an interrupt at the terminal: what was started is ended on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    raise SystemExit(main(sys.argv[1:]))
