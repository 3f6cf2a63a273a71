"""Export, lint, build, test: everything between the replay and the writing."""

from __future__ import annotations

from buildsys.errors import BuildError
from buildsys.series import load_series
from tools.git import Git, GitError
from tools.paths import Project
from tools.rebase.commands import CommandError
from tools.rebase.points import reached
from tools.rebase.regression import regression_verdict
from tools.rebase.replay import base_ref, patch_name, series_ref
from tools.rebase.report import Verdict
from tools.rebase.result import dropped_names, result_files
from tools.rebase.state import Folder, RebaseError, State
from tools.rebase.trial import (
    build_wheel,
    copy_checkout,
    make_environment,
    prepare_tests,
    run_tests,
    tree_digest,
)
from tools.series.export import refuse_unfinished
from tools.series.lint import lint_series
from tools.series.message import parse_message, parse_trailers
from tools.series.repository import SeriesError
from tools.upstream.fetch import FetchError

__all__ = ["tried_files", "verify"]


def verify(
    project: Project, folder: Folder, state: State, git: Git
) -> tuple[Verdict, dict[str, bytes | None]]:
    """Try the result out.

    Args:
        project: the checkout; read only.
        folder: the rebase's folder, where everything is made.
        state: the rebase.
        git: the scratch repository; its HEAD is the new series.

    Returns:
        What was found, and the files to write if that is good.
    """
    verdict = Verdict()
    files: dict[str, bytes | None] = {}
    try:
        refuse_unfinished(git, untracked=False)
        files = result_files(project, folder, state, git)
        reached("exported")
        _try_out(project, folder, state, git, files, verdict)
    except (BuildError, CommandError, FetchError, GitError, RebaseError, SeriesError) as error:
        verdict.problem = str(error)
    return verdict, files


def _try_out(
    project: Project,
    folder: Folder,
    state: State,
    git: Git,
    files: dict[str, bytes | None],
    verdict: Verdict,
) -> None:
    copy_checkout(project, folder.copy, files)
    state.tried = tree_digest(folder.copy)
    reached("staged-copy")
    series = load_series(folder.copy / "patches")
    verdict.kept = [patch.name.rpartition("/")[2] for patch in series]
    verdict.dropped = dropped_names(state, verdict.kept)
    findings = lint_series(Project(folder.copy), cache=project.cache)
    verdict.lint = [f"{found.where}: {found.text}" for found in findings if found.is_error]
    wheel = build_wheel(folder, git.keep_open)
    verdict.wheel = wheel.name
    reached("wheel-built")
    borrow = bool(state.options.get("borrow_packages"))
    python = make_environment(project, folder, wheel, git.keep_open, borrow=borrow)
    reached("environment-made")
    prepare_tests(folder)
    for patch in series:
        tests = parse_message(patch.header).trailers.get("Test", ())
        name = patch.name.rpartition("/")[2]
        found = run_tests(folder, python, name, tests, git.keep_open, is_dropped=False)
        verdict.tests.append(found)
    for name, tests in _tests_of_dropped(state, git, verdict.dropped).items():
        found = run_tests(folder, python, name, tests, git.keep_open, is_dropped=True)
        verdict.tests.append(found)
    reached("tests-run")
    # Twenty minutes of upstream's tests say nothing about a result that is refused already.
    if verdict.is_good and not state.options.get("skip_regression"):
        selection = list(state.options.get("regression_tests", []))
        verdict.regression = regression_verdict(project, folder, wheel, selection, git.keep_open)


def _tests_of_dropped(state: State, git: Git, dropped: list[str]) -> dict[str, tuple[str, ...]]:
    """The tests that the old series' patches name: upstream has to pass them now."""
    first = state.steps[0]
    found: dict[str, tuple[str, ...]] = {}
    for commit in git.lines("rev-list", "--reverse", f"{base_ref(first)}..{series_ref(first)}"):
        name = patch_name(git, commit)
        if name in dropped:
            _, trailers = parse_trailers(git.text("show", "--no-patch", "--format=%B", commit))
            found[name] = trailers.get("Test", ())
    return found


def tried_files(
    project: Project, folder: Folder, state: State, git: Git
) -> dict[str, bytes | None] | None:
    """The files to write, when a run that was killed has tried out just these in this checkout.

    The suite takes its time; what it has said of the same bytes holds.

    Returns:
        The files, or None when something has changed, so that it has to be tried out again.
    """
    files = result_files(project, folder, state, git)
    copy_checkout(project, folder.copy, files)
    return files if tree_digest(folder.copy) == state.tried else None
