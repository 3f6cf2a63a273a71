"""Tries the result out: lint, wheel, tests, all in a copy of the checkout that has it."""

from __future__ import annotations

import shutil
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from buildsys.errors import BuildError
from tools.command import run
from tools.errors import SuiteError, ToolError
from tools.git import Git
from tools.junit import Outcome, read_junit
from tools.paths import Project
from tools.rebase.points import reached
from tools.rebase.regression import regression_verdict
from tools.rebase.replay import Replay
from tools.rebase.result import Result, result_of
from tools.rebase.state import Folder
from tools.series.lint import lint_series, missing_test
from tools.series.repository import refuse_unfinished
from tools.uv import Uv

__all__ = ["PatchTests", "Verdict", "copy_checkout", "scratch_copy", "try_out"]

# For the tests of all patches.
TEST_TIMEOUT_SECONDS = 1800.0

# Left out of the copy of a folder that is no git repository.
_NOT_COPIED = (
    ".git",
    ".rebase",
    ".venv",
    "build",
    "dist",
    "reports",
    "node_modules",
    ".hypothesis",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    "__pycache__",
    "*.pyc",
    "*.egg-info",
)


@dataclass(frozen=True)
class PatchTests:
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
        result: what was tried; None when the commits are no series.
        wheel: the wheel's file name; empty when it could not be built.
        lint: errors of the series' lint.
        tests: results by patch.
        regression: the suite's verdict and lines; None when it was left out.
        problem: what stopped the trial; empty when it ran to its end.
    """

    result: Result | None = None
    wheel: str = ""
    lint: list[str] = field(default_factory=list)
    tests: list[PatchTests] = field(default_factory=list)
    regression: tuple[bool, str] | None = None
    problem: str = ""

    @property
    def is_good(self) -> bool:
        """Tell whether the result may be written."""
        failed = any(one.problem for one in self.tests)
        differs = self.regression is not None and not self.regression[0]
        return not (self.problem or self.lint or failed or differs)


def copy_checkout(project: Project, target: Path, files: Mapping[str, bytes | None]) -> None:
    """Copy the checkout's own files and put new ones over them.

    Args:
        project: the checkout.
        target: a folder; what it holds is removed first.
        files: bytes by path to write over the copy; None deletes.
    """
    shutil.rmtree(target, ignore_errors=True)
    if (project.root / ".git").exists():
        options = ("-z", "--cached", "--others", "--exclude-standard")
        for name in sorted({*Git(project.root).text("ls-files", *options).split("\0")} - {""}):
            if (project.root / name).is_file():  # one may be deleted and not yet committed
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(project.root / name, target / name)
    else:
        shutil.copytree(project.root, target, ignore=shutil.ignore_patterns(*_NOT_COPIED))
    for name, data in files.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if data is None:
            (target / name).unlink(missing_ok=True)
        else:
            (target / name).write_bytes(data)


@contextmanager
def scratch_copy(project: Project) -> Iterator[Project]:
    """A copy of the checkout with its downloads, for as long as the block runs."""
    with TemporaryDirectory(prefix="rebase-") as scratch:
        copy = Project(Path(scratch) / "project")
        copy_checkout(project, copy.root, {})
        if project.cache.is_dir():
            shutil.copytree(project.cache, copy.cache)
        yield copy


def try_out(folder: Folder, replay: Replay) -> Verdict:
    """Export, lint, build and test; the result is staged, so that only the decision is left.

    Args:
        folder: the rebase's folder, where everything is made.
        replay: the finished replay; HEAD of its repository is the new series.
    """
    verdict = Verdict()
    try:
        refuse_unfinished(replay.git, untracked=False)
        verdict.result = result_of(folder.project, replay)
        folder.replacement.stage(verdict.result.files)
        copy_checkout(folder.project, folder.copy, verdict.result.files)
        reached("staged")
        copy = Project(folder.copy)
        found = lint_series(copy, cache=folder.project.cache)
        verdict.lint = [f"{one.where}: {one.text}" for one in found if one.is_error]
        uv = Uv()
        wheel = uv.wheel(folder.copy, folder.path / "wheel", folder.logs / "build.log")
        verdict.wheel = wheel.name
        reached("wheel-built")
        trial = replay.plan.trial
        python = _environment(uv, folder, wheel, borrow=trial.borrow_packages)
        verdict.tests = _run_tests(folder, python, replay, verdict.result)
        reached("tests-run")
        # Twenty minutes of upstream's tests say nothing about a result that is refused already.
        if verdict.is_good and not trial.skip_regression:
            verdict.regression = regression_verdict(folder, wheel, trial.regression_test)
    except (BuildError, ToolError) as error:
        verdict.problem = str(error)
    return verdict


def _environment(uv: Uv, folder: Folder, wheel: Path, *, borrow: bool) -> Path:
    """Make a fresh virtual environment with the wheel and what tests need; returns its Python.

    To borrow is to take every other package from the environment this command runs in: quick, and
    wrong when the new release needs other dependencies.
    """
    python = uv.environment(folder.path / "venv")
    log = folder.logs / "install.log"
    if borrow:
        question = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
        site = Path(run([python, "-c", question], timeout_seconds=60).strip())
        own = dict.fromkeys(sysconfig.get_paths()[name] for name in ("purelib", "platlib"))
        # A .pth is read after the environment's own folder, so the wheel goes first.
        (site / "borrowed.pth").write_text("".join(f"{path}\n" for path in own), "utf-8")
        uv.install(python, "--no-deps", wheel, log=log)
    else:
        uv.install(python, wheel, "-r", folder.project.root / "requirements-dev.txt", log=log)
    return python


def _run_tests(folder: Folder, python: Path, replay: Replay, result: Result) -> list[PatchTests]:
    """Run the tests that patches name, those of dropped ones too, against the installed wheel."""
    # All but the package, so that a test can only import what the wheel has installed.
    tests = folder.path / "tests"
    shutil.rmtree(tests, ignore_errors=True)
    shutil.copytree(folder.copy, tests, ignore=shutil.ignore_patterns("smolagents_fork"))
    log, junit = folder.logs / "tests.log", folder.logs / "tests.xml"
    junit.unlink(missing_ok=True)
    base = replay.plan.steps[-1].base
    new = replay.git.lines("rev-list", "--reverse", f"{base}..HEAD")
    named: dict[str, tuple[str, ...]] = {}
    for commit in (*new, *replay.commits(replay.plan.steps[0])):
        said = replay.trailers(commit).get("Test", ())
        name = replay.name(commit)
        if name not in named and (name in result.kept or name in result.dropped):
            # Who drops a patch on purpose removes its tests; then nothing is held to them.
            is_kept = name in result.kept
            named[name] = tuple(one for one in said if is_kept or not missing_test(tests, one))
    wanted = dict.fromkeys(
        one for them in named.values() for one in them if not missing_test(tests, one)
    )
    outcomes: dict[str, Outcome] = {}
    if wanted:
        options = ("-p", "no:cacheprovider", "--continue-on-collection-errors")
        run(
            [python, "-m", "pytest", *options, f"--junitxml={junit}", *wanted],
            timeout_seconds=TEST_TIMEOUT_SECONDS,
            cwd=tests,
            log=log,
            accepted=range(6),
        )
        try:
            outcomes = read_junit(junit)
        except SuiteError as error:
            raise ToolError(f"{error}; pytest's words are in {log}") from None
    return [
        _of_patch(name, them, outcomes, tests, is_dropped=name in result.dropped)
        for name, them in named.items()
    ]


def _of_patch(
    name: str,
    tests: tuple[str, ...],
    outcomes: Mapping[str, Outcome],
    root: Path,
    *,
    is_dropped: bool,
) -> PatchTests:
    """Judge the tests of one patch; one that is skipped shows nothing, so it counts as failed."""
    passed, problems = 0, list[str]()
    if not tests and not is_dropped:
        problems.append("it names no test")
    for test in tests:
        cases = {
            key: one
            for key, one in outcomes.items()
            if key in (test, test.partition("::")[0]) or key.startswith(f"{test}[")
        }
        passed += sum(one.status == "passed" for one in cases.values())
        problems += [
            f"{key}: {one.status}: {one.message}\n{one.text[-2000:]}".strip()
            for key, one in cases.items()
            if one.status != "passed"
        ]
        if not cases:
            problems.append(missing_test(root, test) or f"{test}: was not run; see tests.log")
    return PatchTests(name, is_dropped, passed, "\n".join(problems))
