"""The suite from end to end: fetch, verify, lay out, run twice, compare, print."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from buildsys import lock as upstream_lock
from buildsys.errors import BuildError
from tools.errors import SuiteError, ToolError
from tools.paths import CACHE, ROOT
from tools.regression.comparison import Report, compare, run_again
from tools.regression.deviations import load_deviations
from tools.regression.environments import Side, build_environment, wheel_metadata
from tools.regression.execution import Runner
from tools.regression.output import show
from tools.regression.record import changed_outcomes, conditions, read_record, write_record
from tools.regression.settings import DEVIATIONS, SCRATCH
from tools.upstream.fetch import check_digest, fetch_sdist, fetch_wheel, unpack_sdist
from tools.uv import Uv

__all__ = ["run"]


def _release_files(version: str, lock: upstream_lock.Lock, sum_given: str | None) -> list[Path]:
    """Fetch the release's sdist and wheel, and verify each whose sum is known."""
    sdist, wheel = fetch_sdist(version, CACHE), fetch_wheel(version, CACHE)
    if version == lock.version:
        check_digest(sdist, lock.sdist.sha256)
        check_digest(wheel, lock.wheel.sha256)
    if sum_given is not None:
        check_digest(sdist, sum_given)
    return [sdist, wheel]


def _unpack_tests(sdist: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tests = unpack_sdist(sdist, folder) / "tests"
    if not list(tests.glob("test_*.py")):
        raise SuiteError(f"{sdist.name} has no tests/test_*.py")
    return tests


def run(
    *,
    fork_wheel: Path | None = None,
    release: str | None = None,
    tests: Sequence[str] = (),
    unlocked: bool = False,
    sdist_sha256: str | None = None,
    network: bool = False,
    run_all: bool = False,
    recorded: bool = False,
    record: bool = False,
    deviations: Path = DEVIATIONS,
    folder: Path = SCRATCH,
    console: Console | None = None,
) -> Report:
    """Run upstream's tests on upstream's release and on the fork, and compare.

    Args:
        fork_wheel: the wheel under test; built from the checkout when ``None``.
        release: upstream's version that gives the tests and the pristine side; the locked one when
            ``None``.
        tests: test files below upstream's ``tests``, or test ids; empty for all.
        unlocked: accept a release that is not in ``upstream.lock``, unverified.
        sdist_sha256: verify the sdist against this as well.
        network: let test processes reach other machines.
        run_all: run what upstream marks ``require_run_all`` (needs engines, keys, weights).
        recorded: take pristine's outcomes from the repository, where they were recorded under the
            same conditions; without such a record both sides run.
        record: run both sides and record pristine's outcomes.
        deviations: the file of declared differences.
        folder: for logs and JUnit files; two runs at a time need two.
        console: where to print; the terminal when ``None``.

    Raises:
        SuiteError: the comparison could not be made. The fork's own failures are in the report.
    """
    console = console or Console()

    def say(words: str) -> None:
        console.print(words, markup=False, highlight=False)

    # The tests run in folders of their own, where a relative path would mean another place.
    folder = folder.resolve()
    selection = [name if name.startswith("tests/") else f"tests/{name}" for name in tests]
    try:
        say("fetch ...")
        lock = upstream_lock.load(ROOT / "upstream.lock")
        version = release or lock.version
        if version != lock.version and not unlocked and sdist_sha256 is None:
            raise SuiteError(
                f"release {version} is not the locked {lock.version}; "
                f"say --unlocked to run it unverified"
            )
        sdist, wheel = _release_files(version, lock, sdist_sha256)
        declared = load_deviations(deviations, version)
        tests_folder = _unpack_tests(sdist, folder / "sdist")
        if fork_wheel is None:
            say("build the fork ...")
            fork_wheel = Uv().wheel(ROOT, folder / "fork-wheel")
        name, fork_version, _ = wheel_metadata(fork_wheel)
        if name != "smolagents":
            raise SuiteError(f"{fork_wheel}: is a wheel of {name}, not of smolagents")
        fork, pristine = Side("fork", fork_wheel, fork_version), Side("pristine", wheel, version)
        say("install ...")
        environment = build_environment(fork, pristine, folder, pinned=version == lock.version)
        runner = Runner(environment, pristine, fork, tests_folder, folder, network, run_all)
        known = None
        is_usual = version == lock.version and not (selection or network or run_all)
        if is_usual:
            wanted = conditions(version, sdist, "\n".join(environment.packages) + "\n")
            known = read_record(wanted)
        if recorded and known is not None:
            expected = known
        else:
            say("run pristine's side ...")
            expected = runner.run_pristine(selection)
        say("run the fork's side ...")
        outcomes = runner.run_fork(selection)
        comparisons, stale = compare(expected, outcomes, declared, selection=selection)
        notes = [*environment.notes, *run_again(comparisons, runner.run_alone, say)]
        # A test that failed beside others and passed alone is one that the fork may lose.
        best = {pair.test: pair.best_of_pristine for pair in comparisons if pair.test in expected}
        if record and is_usual:
            notes.append(f"recorded: {write_record(wanted, best)}")
        elif known is not None:
            notes += changed_outcomes(known, best)
        elif recorded:
            notes.append("no recorded outcomes of pristine for these packages: both sides ran")
    except (BuildError, ToolError) as error:
        raise SuiteError(str(error)) from error
    report = Report(version, fork_version, comparisons, stale, environment.absent, notes)
    show(report, console)
    return report
