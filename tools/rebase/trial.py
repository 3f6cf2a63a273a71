"""Try the result out: lint, wheel, import, tests, all in a copy of the checkout that has it."""

from __future__ import annotations

import shutil
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rich.console import Console

from buildsys import lock as lockfile
from buildsys.errors import BuildError
from tools.command import run
from tools.errors import CommandError, FetchError, RebaseError, SuiteError, ToolError, last_lines
from tools.git import Git
from tools.junit import Outcome
from tools.paths import Project
from tools.rebase.folder import Folder, Plan
from tools.rebase.replay import series_tag, upstream_tag
from tools.rebase.result import Result, result_of
from tools.regression import Kind, Report
from tools.regression import run as run_regression
from tools.run_all.own_tests import OwnTests
from tools.series.lint import lint_series, missing_test
from tools.series.repository import commits, refuse_unfinished, write_files
from tools.uv import Uv

__all__ = ["Check", "Verdict", "copy_checkout", "regression", "scratch_copy", "try_out"]

# For the tests of all patches, or the contract suite.
TEST_TIMEOUT_SECONDS = 1800.0
IMPORT_TIMEOUT_SECONDS = 120.0

# The executors' contract: a change of upstream's that no patch and no test of upstream's notices.
CONTRACT = ("tests/contract", "tests/integration/hosted")


class Check(NamedTuple):
    """Check of a result.

    Attributes:
        name: what was looked at.
        problem: what is wrong; empty when nothing is.
        note: what there is to say of a good one.
    """

    name: str
    problem: str
    note: str = "good"


@dataclass
class Verdict:
    """Verdict on a result after trying it out.

    Attributes:
        result: what was tried; None when the commits are not a series.
        checks: all that were made, in order.
        regression: what the suite of upstream's own tests printed; empty when it was not run.
    """

    result: Result | None = None
    checks: list[Check] = field(default_factory=list)
    regression: str = ""

    @property
    def is_good(self) -> bool:
        """Tell whether the result may be written."""
        return bool(self.checks) and not any(check.problem for check in self.checks)


def copy_checkout(project: Project, target: Path) -> None:
    """Copy what git would take of a checkout: nothing that ``.gitignore`` names.

    Args:
        project: the checkout; it need not be a repository itself.
        target: a folder; its present content is removed first.
    """
    shutil.rmtree(target, ignore_errors=True)
    with TemporaryDirectory() as scratch:
        empty = Git(Path(scratch))
        empty.init("empty")
        listing = ("ls-files", "-z", "--others", "--exclude-standard")
        names = empty.text("--work-tree", str(project.root), *listing)
    for name in names.split("\0"):
        if (project.root / name).is_file():  # not a repository inside, nor a link to nowhere
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(project.root / name, target / name)


@contextmanager
def scratch_copy(project: Project) -> Iterator[Project]:
    """Copy the checkout with its downloads, for as long as the block runs."""
    with TemporaryDirectory(prefix="rebase-") as scratch:
        copy = Project(Path(scratch) / "project")
        copy_checkout(project, copy.root)
        if project.cache.is_dir():
            shutil.copytree(project.cache, copy.cache)
        yield copy


def try_out(folder: Folder, plan: Plan) -> Verdict:
    """Export, lint, build, import and test the series at HEAD of the scratch repository.

    Raises:
        FetchError, RebaseError: the index failed, so nothing is known about the result.
    """
    verdict = Verdict()
    try:
        refuse_unfinished(folder.git, untracked=False)
        verdict.result = result_of(folder, plan)
        copy_checkout(folder.project, folder.copy)
        write_files(folder.copy, verdict.result.files)
        for check in _checks(folder, plan, verdict):
            print(f"{check.name}: {'FAILED' if check.problem else check.note}", flush=True)
            verdict.checks.append(check)
    except (FetchError, RebaseError):
        raise
    except (BuildError, ToolError) as error:
        verdict.checks.append(Check("the trial", str(error)))
    return verdict


def _checks(folder: Folder, plan: Plan, verdict: Verdict) -> Iterator[Check]:
    """Make every check that can still decide something: without an import, no test can."""
    findings = lint_series(Project(folder.copy), cache=folder.project.cache)
    errors = (f"{finding.where}: {finding.text}" for finding in findings if finding.is_error)
    yield Check("lint", "\n".join(errors))
    uv = Uv()
    wheel = uv.wheel(folder.copy, folder.path / "wheel", folder.logs / "build.log")
    yield Check("wheel", "", f"`{wheel.name}`")
    python = _environment(uv, folder, wheel, borrow=plan.borrow_packages)
    # The tests can only import what the wheel has installed.
    shutil.rmtree(folder.copy / "smolagents_fork")
    problem = _import_problem(folder, python)
    yield Check("`import smolagents`", problem)
    if problem:
        return
    yield from _patch_tests(folder, python, plan)
    if not plan.skip_contract:
        yield from _contract(folder, python)
    if not plan.skip_regression:
        print("upstream's own tests, on both sides; this takes minutes", flush=True)
        try:
            report = regression(folder, wheel)
            verdict.regression = _regression_log(folder).read_text("utf-8")
            differs = ""
            if report.exit_status:
                count = len(report.of(Kind.UNDECLARED))
                differs = (
                    f"{count} undeclared differences, {len(report.stale)} stale declarations: "
                    ".rebase/report.md names them (docs/regression.md)"
                )
        except SuiteError as error:
            differs = f"they could not run: {error}"
        yield Check("upstream's own tests", differs, "no undeclared difference")


def _environment(uv: Uv, folder: Folder, wheel: Path, *, borrow: bool) -> Path:
    """Make a fresh virtual environment with the wheel and what tests need; returns its Python.

    To borrow is to take every other package from the environment this command runs in: quick, and
    wrong when the new release needs other dependencies.
    """
    log = folder.logs / "install.log"
    try:
        python = uv.environment(folder.path / "venv")
        if not borrow:
            requirements = folder.project.root / "requirements-dev.in"
            # Doubles of hosted services install packages as their sandboxes do.
            uv.install(python, wheel, "pip", "-r", requirements, log=log)
            return python
        uv.install(python, "--no-deps", wheel, log=log)
    except CommandError as error:
        raise RebaseError(
            f"the result could not be tried out, because its environment could not be made: {error}"
        ) from None
    (site,) = (folder.path / "venv" / "lib").glob("python*/site-packages")
    own = dict.fromkeys(sysconfig.get_paths()[name] for name in ("purelib", "platlib"))
    # A .pth is read after the environment's own folder, so the wheel goes first.
    (site / "borrowed.pth").write_text("".join(f"{path}\n" for path in own), "utf-8")
    return python


def _import_problem(folder: Folder, python: Path) -> str:
    """Return why the installed wheel does not import; empty when it does."""
    log = folder.logs / "import.log"
    try:
        run(
            [python, "-c", "import smolagents"],
            timeout_seconds=IMPORT_TIMEOUT_SECONDS,
            cwd=folder.path,
            log=log,
        )
    except CommandError as error:
        return (
            f"`import smolagents` fails with the new wheel:\n{last_lines(error.output, lines=20)}"
        )
    return ""


def regression(folder: Folder, wheel: Path) -> Report:
    """Run upstream's own tests on the new release and on the new wheel, and compare.

    Args:
        folder: the rebase's folder; the copy in it has the new lock and the declared deviations.

    Raises:
        SuiteError: nothing was compared.
    """
    lock = lockfile.load(Project(folder.copy).lock)
    with _regression_log(folder).open("w", encoding="utf-8") as log:
        return run_regression(
            fork_wheel=wheel,
            release=lock.version,
            sdist_sha256=lock.sdist.sha256,
            deviations=folder.copy / "tests" / "upstream" / "deviations.toml",
            folder=folder.path / "regression",
            console=Console(file=log, width=120),
        )


def _regression_log(folder: Folder) -> Path:
    return folder.logs / "regression.log"


def _patch_tests(folder: Folder, python: Path, plan: Plan) -> Iterator[Check]:
    """Run the tests that patches name, those of dropped ones too, against the installed wheel.

    The lint has named tests of kept patches that do not exist. The tests of a dropped patch may be
    removed with it; then nothing is compared.
    """
    kept = commits(folder.git, upstream_tag(plan.new))
    names = {commit.name for commit in kept}
    old = commits(folder.git, upstream_tag(plan.old), series_tag(plan.old))
    dropped = [commit for commit in old if commit.name not in names]
    tests = {
        commit.name: [
            test for test in commit.trailers.get("Test", ()) if not missing_test(folder.copy, test)
        ]
        for commit in (*kept, *dropped)
    }
    wanted = dict.fromkeys(test for some in tests.values() for test in some)
    run = _own_tests(folder, python, "patches", wanted)
    outcomes = run.outcomes() if wanted else {}
    for name, some in tests.items():
        passed, problem = _judge(some, outcomes)
        note = f"{passed} passed" if some else "they are gone with it"
        yield Check(f"tests of `{name}`{'' if name in names else ' (dropped)'}", problem, note)
    if wanted:
        yield from _unstable(run)


def _own_tests(folder: Folder, python: Path, name: str, tests: Iterable[str]) -> OwnTests:
    """Return a run of tests in the copy of the checkout.

    Args:
        name: of the folder of its logs and results.
        tests: test ids, folders or options for pytest.
    """
    arguments = ("--continue-on-collection-errors", *tests)
    reports = folder.logs / name
    return OwnTests(
        folder.copy, reports, arguments, python=python, timeout_seconds=TEST_TIMEOUT_SECONDS
    )


def _unstable(run: OwnTests) -> Iterator[Check]:
    """Tell of the tests that failed for the load of their neighbours."""
    if names := run.shortcomings():
        yield Check("tests that failed and then passed alone", "", ", ".join(names))


def _contract(folder: Folder, python: Path) -> Iterator[Check]:
    """Run the executors' contract suite, without the parts that need Docker or Deno."""
    parallel = ("-p", "xdist", "-n", "logical", "--dist", "loadfile", "--max-worker-restart=0")
    chosen = (*parallel, "-m", "not docker and not ray and not wasm and not network", *CONTRACT)
    run = _own_tests(folder, python, "contract", chosen)
    outcomes = run.outcomes()
    failed = [
        f"{key}: {outcome.status}: {outcome.message}"
        for key, outcome in outcomes.items()
        if outcome.status not in ("passed", "skipped")
    ]
    if not any(outcome.status == "passed" for outcome in outcomes.values()):
        failed.append(f"{' '.join(CONTRACT)}: no test passed; see contract/tests.log")
    yield Check("contract suite, without Docker and Deno", "\n".join(failed))
    yield from _unstable(run)


def _judge(tests: Sequence[str], outcomes: Mapping[str, Outcome]) -> tuple[int, str]:
    """Count the test cases that passed, and describe the others.

    A test that is skipped shows nothing, so it counts as failed.
    """
    passed, problems = 0, list[str]()
    for test in tests:
        cases = {
            key: outcome
            for key, outcome in outcomes.items()
            if key in (test, test.partition("::")[0]) or key.startswith(f"{test}[")
        }
        for key, outcome in cases.items():
            if outcome.status == "passed":
                passed += 1
            else:
                problem = f"{key}: {outcome.status}: {outcome.message}\n{outcome.text[-2000:]}"
                problems.append(problem.strip())
        if not cases:
            problems.append(f"{test}: was not run; see patches/tests.log")
    return passed, "\n".join(problems)
