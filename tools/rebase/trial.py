"""Try the result out: lint, wheel, tests, all in a copy of the checkout that has it."""

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
from buildsys.series import load_series
from buildsys.tree import write_tree
from tools.command import clean_environment, run
from tools.errors import CommandError, FetchError, RebaseError, SuiteError, ToolError
from tools.git import Git
from tools.junit import Outcome, read_junit
from tools.paths import Project
from tools.rebase.replay import Replay
from tools.rebase.result import Result, result_of
from tools.rebase.state import Folder, reached
from tools.regression import Report
from tools.regression import run as run_regression
from tools.series.lint import lint_series, missing_test
from tools.series.message import parse_message
from tools.series.needed import tree_without
from tools.series.repository import commits, read_tree, refuse_unfinished
from tools.uv import Uv

__all__ = ["PatchTests", "Verdict", "copy_checkout", "regression", "scratch_copy", "try_out"]

# For the tests of all patches.
TEST_TIMEOUT_SECONDS = 1800.0

# The executors' contract: a change of upstream's that no patch and no test of upstream's notices.
CONTRACT = "tests/contract"


class PatchTests(NamedTuple):
    """Results of the tests of one patch.

    Attributes:
        patch: the patch's file name.
        is_dropped: the patch is gone, so its behaviour has to come from upstream.
        passed: how many test cases passed.
        problem: what is wrong; empty when nothing is.
    """

    patch: str
    is_dropped: bool
    passed: int
    problem: str


@dataclass
class Verdict:
    """Verdict on a result after trying it out.

    Attributes:
        result: what was tried; None when the commits are not a series.
        wheel: the wheel's file name; empty when it could not be built.
        lint: errors of the series' lint.
        tests: results by patch.
        contract: what is wrong with the contract suite; None when it was left out.
        redundant: kept patches whose tests pass without them.
        regression: the regression suite's report; None when it was left out.
        problem: what stopped the trial; empty when it ran to its end.
    """

    result: Result | None = None
    wheel: str = ""
    lint: list[str] = field(default_factory=list)
    tests: list[PatchTests] = field(default_factory=list)
    contract: str | None = None
    redundant: list[str] = field(default_factory=list)
    regression: Report | None = None
    problem: str = ""

    @property
    def is_good(self) -> bool:
        """Tell whether the result may be written."""
        failed = any(one.problem for one in self.tests)
        differs = self.regression is not None and self.regression.exit_status != 0
        return not (self.problem or self.lint or failed or self.contract or differs)


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


def try_out(folder: Folder, replay: Replay) -> Verdict:
    """Export, lint, build and test; the result is staged, so that only the decision is left.

    Args:
        folder: the rebase's folder, where everything is made.
        replay: the finished replay; HEAD of its repository is the new series.

    Raises:
        FetchError, RebaseError: the index failed, so nothing is known about the result.
    """
    verdict, trial = Verdict(), replay.plan.trial
    try:
        refuse_unfinished(replay.git, untracked=False)
        verdict.result = result_of(folder.project, replay)
        folder.replacement.stage(verdict.result.files)
        copy_checkout(folder.project, folder.copy)
        for name, data in verdict.result.files.items():
            if data is None:
                (folder.copy / name).unlink(missing_ok=True)
            else:
                (folder.copy / name).write_bytes(data)
        reached("staged")
        found = lint_series(Project(folder.copy), cache=folder.project.cache)
        verdict.lint = [f"{one.where}: {one.text}" for one in found if one.is_error]
        uv = Uv()
        wheel = uv.wheel(folder.copy, folder.path / "wheel", folder.logs / "build.log")
        verdict.wheel = wheel.name
        python = _tried_environment(uv, folder, wheel, borrow=trial.borrow_packages)
        verdict.tests = _run_tests(folder, python, replay, verdict.result)
        reached("tests-run")
        if verdict.is_good and not trial.skip_contract:
            verdict.contract = _contract_problem(folder, python)
            verdict.redundant = _redundant(folder, python, replay, verdict.result)
        # Twenty minutes of upstream's tests say nothing about a result that is refused already.
        if verdict.is_good and not trial.skip_regression:
            verdict.regression = regression(folder, wheel, trial.regression_test)
    except SuiteError as error:
        verdict.problem = f"upstream's own tests could not run: {error}"
    except (FetchError, RebaseError):
        raise
    except (BuildError, ToolError) as error:
        verdict.problem = str(error)
    return verdict


def _tried_environment(uv: Uv, folder: Folder, wheel: Path, *, borrow: bool) -> Path:
    try:
        return _environment(uv, folder, wheel, borrow=borrow)
    except CommandError as error:
        raise RebaseError(
            f"the result could not be tried out, because its environment could not be made: {error}"
        ) from None


def regression(folder: Folder, wheel: Path, tests: Sequence[str]) -> Report:
    """Run upstream's own tests on the new release and on the new wheel, and compare.

    Args:
        folder: the rebase's folder; the copy in it has the new lock and the declared deviations.
        tests: test files or ids to run; empty for all.

    Raises:
        SuiteError: nothing was compared.
    """
    lock = lockfile.load(Project(folder.copy).lock)
    with (folder.logs / "regression.log").open("w", encoding="utf-8") as log:
        return run_regression(
            fork_wheel=wheel,
            release=lock.version,
            sdist_sha256=lock.sdist.sha256,
            tests=tests,
            deviations=folder.copy / "tests" / "upstream" / "deviations.toml",
            folder=folder.path / "regression",
            reports=folder.path / "regression-reports",
            console=Console(file=log, width=120),
        )


def _environment(uv: Uv, folder: Folder, wheel: Path, *, borrow: bool) -> Path:
    """Make a fresh virtual environment with the wheel and what tests need; returns its Python.

    To borrow is to take every other package from the environment this command runs in: quick, and
    wrong when the new release needs other dependencies.
    """
    python = uv.environment(folder.path / "venv")
    log = folder.logs / "install.log"
    if borrow:
        uv.install(python, "--no-deps", wheel, log=log)
        (site,) = (folder.path / "venv" / "lib").glob("python*/site-packages")
        own = dict.fromkeys(sysconfig.get_paths()[name] for name in ("purelib", "platlib"))
        # A .pth is read after the environment's own folder, so the wheel goes first.
        (site / "borrowed.pth").write_text("".join(f"{path}\n" for path in own), "utf-8")
    else:
        uv.install(python, wheel, "-r", folder.project.root / "requirements-dev.txt", log=log)
    return python


def _run_tests(folder: Folder, python: Path, replay: Replay, result: Result) -> list[PatchTests]:
    """Run the tests that patches name, those of dropped ones too, against the installed wheel.

    The lint has named tests of kept patches that do not exist. The tests of a dropped patch may be
    removed with it; then nothing is compared.
    """
    # All but the package, so that a test can only import what the wheel has installed.
    root = _tests_root(folder)
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(folder.copy, root, ignore=shutil.ignore_patterns("smolagents_fork"))
    named: dict[str, list[str]] = {}
    new = commits(replay.git, replay.plan.steps[-1].base)
    for commit in (*new, *replay.series(replay.plan.steps[0])):
        tests = commit.trailers.get("Test", ())
        if commit.name in (*result.kept, *result.dropped):
            named.setdefault(commit.name, [one for one in tests if not missing_test(root, one)])
    outcomes: dict[str, Outcome] = {}
    if wanted := dict.fromkeys(test for tests in named.values() for test in tests):
        outcomes = _outcomes(folder, python, "tests", wanted)
    return [
        PatchTests(name, name in result.dropped, *_judged(tests, outcomes))
        for name, tests in named.items()
    ]


def _tests_root(folder: Folder) -> Path:
    return folder.path / "tests"


def _outcomes(
    folder: Folder, python: Path, name: str, tests: Iterable[str], *, package: Path | None = None
) -> dict[str, Outcome]:
    """Run tests in the copy of the checkout and return each one's outcome.

    Args:
        name: base name of the log and the JUnit file.
        tests: test ids, folders or options for pytest.
        package: folder of another build of the package, to be imported first; None for the wheel's.
    """
    log, junit = folder.logs / f"{name}.log", folder.logs / f"{name}.xml"
    junit.unlink(missing_ok=True)
    options = ("-p", "no:cacheprovider", "--continue-on-collection-errors")
    env = clean_environment() | ({"PYTHONPATH": str(package)} if package else {})
    run(
        [python, "-m", "pytest", *options, f"--junitxml={junit}", *tests],
        timeout_seconds=TEST_TIMEOUT_SECONDS,
        cwd=_tests_root(folder),
        env=env,
        log=log,
        accepted=range(6),
    )
    try:
        return read_junit(junit)
    except SuiteError as error:
        raise ToolError(f"{error}; pytest's words are in {log}") from None


def _contract_problem(folder: Folder, python: Path) -> str:
    """Run the executors' contract suite, without the parts that need Docker or Deno."""
    chosen = ("-m", "not docker and not ray and not wasm and not network", CONTRACT)
    outcomes = _outcomes(folder, python, "contract", chosen)
    failed = [
        f"{key}: {one.status}: {one.message}"
        for key, one in outcomes.items()
        if one.status not in ("passed", "skipped")
    ]
    if not any(one.status == "passed" for one in outcomes.values()):
        failed.append(f"{CONTRACT}: no test passed; see contract.log")
    return "\n".join(failed)


def _redundant(folder: Folder, python: Path, replay: Replay, result: Result) -> list[str]:
    """List the patches whose tests pass without them: upstream has the behaviour by now."""
    base = read_tree(replay.git, replay.plan.steps[-1].base)
    patches = load_series(folder.copy / "patches")
    found = []
    for name, patch in zip(result.kept, patches, strict=True):
        without = folder.path / "without" / name
        shutil.rmtree(without, ignore_errors=True)
        without.mkdir(parents=True)
        write_tree(tree_without(base, patches, patch, replay.plan.new), without)
        tests = parse_message(patch.header).trailers.get("Test", ())
        outcomes = _outcomes(folder, python, f"without-{name}", tests, package=without)
        if outcomes and all(one.status == "passed" for one in outcomes.values()):
            found.append(name)
    return found


def _judged(tests: Sequence[str], outcomes: Mapping[str, Outcome]) -> tuple[int, str]:
    """Count the test cases that passed, and describe the others.

    A test that is skipped shows nothing, so it counts as failed.
    """
    passed, problems = 0, list[str]()
    for test in tests:
        cases = {
            key: one
            for key, one in outcomes.items()
            if key in (test, test.partition("::")[0]) or key.startswith(f"{test}[")
        }
        for key, one in cases.items():
            if one.status == "passed":
                passed += 1
            else:
                problems.append(f"{key}: {one.status}: {one.message}\n{one.text[-2000:]}".strip())
        if not cases:
            problems.append(f"{test}: was not run; see tests.log")
    return passed, "\n".join(problems)
