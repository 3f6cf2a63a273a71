"""start, continue, abort and check: the order of a rebase's phases."""

from __future__ import annotations

import datetime
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from buildsys import lock as lockfile
from buildsys.series import load_prune_list, load_series
from tools.git import Git
from tools.paths import Project
from tools.rebase.bases import path_of_versions, tagged_versions
from tools.rebase.points import reached
from tools.rebase.replay import PickConflict, accept_resolution, prepare, replay
from tools.rebase.report import Verdict, conflict_text, report_text
from tools.rebase.result import refuse_changed_inputs
from tools.rebase.state import Folder, RebaseError, State, Step
from tools.rebase.trial import copy_checkout
from tools.rebase.verify import tried_files, verify
from tools.rebase.write import is_written, roll_back, write
from tools.series.edit import finish_export
from tools.series.repository import folder_digest
from tools.upstream.fetch import released_versions

__all__ = ["abort", "check", "resume", "start"]

# For a whole dry run: the regression suite is the most of it. Below the hour that a scheduled job
# commonly gets, so that the report is still written.
CHECK_TIMEOUT_SECONDS = 3000.0


def start(project: Project, new: str | None, upstream_git: str, options: dict[str, Any]) -> int:
    """Start a rebase and take it as far as it goes.

    Args:
        project: the checkout.
        new: upstream's version to reach; None for the newest release.
        upstream_git: repository whose tags are the bases; empty for releases.
        options: how to verify; see :class:`tools.rebase.state.State`.

    Returns:
        0 when all of it has succeeded, 1 when it needs a person.

    Raises:
        RebaseError, BuildError, FetchError: it could not be started.
    """
    folder = Folder(project)
    with folder.locked() as descriptor:
        if folder.load() is not None:
            raise RebaseError(
                "a rebase is under way in .rebase; make rebase-continue goes on with it, make "
                "rebase-abort gives it up"
            )
        folder.remove()  # what an abort or a start that was killed has left
        finish_export(project)
        load_series(project.patches)
        load_prune_list(project.patches)
        old = lockfile.load(project.lock).version
        steps = _steps(old, new, upstream_git, project)
        if steps[-1].version == old:
            print(f"the series is on smolagents {old} already; nothing to do")
            return 0
        state = State(
            phase="prepare",
            old=old,
            new=steps[-1].version,
            date=datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
            digest=folder_digest(project),
            steps=steps,
            upstream_git=upstream_git,
            options=options,
        )
        folder.save(state)
        reached("state-written")
        print(f"from smolagents {old} to {state.new}: {', '.join(step.label for step in steps)}")
        return _advance(project, folder, state, descriptor)


def _steps(old: str, new: str | None, upstream_git: str, project: Project) -> list[Step]:
    releases = released_versions()
    if not upstream_git:
        return [Step(version, "release") for version in path_of_versions(old, new, releases)]
    # The tag of the new release must be there, and the release too: the lock is of the release.
    target = path_of_versions(old, new, releases)[-1]
    project.build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=project.build) as scratch:
        git = Git(Path(scratch) / "list")
        git.init("list")
        tags = tagged_versions(upstream_git, git)
    versions = path_of_versions(old, target, tags)
    if old not in [str(tag) for tag in tags]:
        raise RebaseError(f"UPSTREAM_GIT={upstream_git}: has no tag v{old}, where the series is")
    between = [Step(version, "git") for version in versions]
    return [Step(old, "release"), *between, Step(target, "release")]


def resume(project: Project) -> int:
    """Go on with a started rebase, after a conflict, a refused result or an interruption.

    Raises:
        RebaseError: there is none, or it is not ready to go on.
    """
    folder = Folder(project)
    with folder.locked() as descriptor:
        state = folder.load()
        if state is None:
            raise RebaseError("no rebase is under way; make rebase-upstream starts one")
        if state.busy:
            print(f"the last run was interrupted ({state.phase}); going on from there")
            _remove_git_locks(folder.repository)
        state.busy = True
        folder.save(state)
        try:
            return _advance(project, folder, state, descriptor)
        except RebaseError:
            # Refused, not interrupted: what a person has in the work tree stays theirs.
            state.busy = False
            folder.save(state)
            raise


def _remove_git_locks(repository: Path) -> None:
    """Lock files of a git that was killed; the rebase's own lock says that none is alive."""
    for path in (repository / ".git").rglob("*.lock"):
        path.unlink()


def _advance(project: Project, folder: Folder, state: State, descriptor: int) -> int:
    git = Git(folder.repository, keep_open=(descriptor,))
    if state.phase == "write" and is_written(project, folder):
        return _finish(project, folder, state)
    refuse_changed_inputs(project, state)
    try:
        if state.phase == "prepare":
            prepare(project, folder, state, git)
        if state.phase in {"conflict", "resolved"}:
            accept_resolution(folder, state, git)
        if state.phase == "replay":
            replay(project, folder, state, git)
    except PickConflict as conflict:
        return _stopped_by_conflict(folder, state, git, conflict)
    if state.phase == "write" and (files := tried_files(project, folder, state, git)) is not None:
        write(project, folder, files)
        return _finish(project, folder, state)
    state.phase = "verify"
    folder.save(state)
    verdict, files = verify(project, folder, state, git)
    folder.report.write_text(report_text(state, git, verdict), "utf-8")
    if not verdict.is_good:
        return _refused(folder, state, verdict)
    refuse_changed_inputs(project, state)  # verifying takes minutes
    state.phase = "write"
    folder.save(state)
    write(project, folder, files)
    return _finish(project, folder, state)


def _stopped_by_conflict(folder: Folder, state: State, git: Git, conflict: PickConflict) -> int:
    text = conflict_text(state, conflict.name, conflict.places)
    folder.report.write_text(report_text(state, git, None, text), "utf-8")
    print(text)
    return 1


def _refused(folder: Folder, state: State, verdict: Verdict) -> int:
    state.phase = "failed"
    state.busy = False
    folder.save(state)
    print(folder.report.read_text("utf-8"))
    failed = ", ".join(result.patch for result in verdict.tests if result.problem)
    what = f"the tests of {failed} fail" if failed else "the result does not hold; see above"
    print(
        f"stopped: {what}.\n"
        f"To go on: change the commits in .rebase/repo (git commit --amend, or git rebase -i\n"
        f"upstream/{state.step.label}) or the tests in the checkout, then make rebase-continue.\n"
        f"Logs are in .rebase/logs.\n"
        f"To give up: make rebase-abort. patches/, upstream.lock, the version and CHANGELOG.md are "
        f"untouched."
    )
    return 1


def _finish(project: Project, folder: Folder, state: State) -> int:
    """The checkout holds the result: keep the report, say so, and put the scratch away."""
    project.reports.mkdir(exist_ok=True)
    kept = project.reports / f"rebase-{state.old}-to-{state.new}.md"
    if folder.report.exists():
        shutil.copyfile(folder.report, kept)
    reached("reported")
    folder.remove()
    print(kept.read_text("utf-8"))
    print(
        f"patches/, upstream.lock, the version and CHANGELOG.md are on {state.new}; the report is "
        f"reports/{kept.name}. Read git diff, then commit."
    )
    return 0


def abort(project: Project) -> int:
    """Give a started rebase up; the checkout is as it was before.

    Raises:
        RebaseError: there is none, or the checkout was changed while it was being written.
    """
    folder = Folder(project)
    with folder.locked():
        if not folder.state_file.exists():
            folder.remove()
            raise RebaseError("no rebase is under way; nothing to abort")
        roll_back(project, folder)  # knows by itself what was written, if the state is damaged
        folder.remove()
        old = lockfile.load(project.lock).version
        print(f"the rebase is given up; the series is on {old} as before")
        return 0


def check(project: Project, arguments: Sequence[str], report: Path) -> int:
    """Try a rebase in a copy of the checkout; nothing in the checkout is touched.

    Args:
        project: the checkout.
        arguments: of ``start``, such as ``["--to", "1.27.0"]``.
        report: file for the report; written whatever happens.

    Returns:
        0 when the release takes the series, 1 when it does not, 2 when that could not be found out.
    """
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(_failed_check("the check did not end", 2), "utf-8")
    with tempfile.TemporaryDirectory(prefix="rebase-check-") as scratch:
        copy = Project(Path(scratch) / "project")
        copy_checkout(project, copy.root, {})
        if project.cache.is_dir():
            shutil.copytree(project.cache, copy.cache)
        # A process of its own, in the copy: the tools take their folders from where they stand.
        command = [sys.executable, "-m", "tools.rebase", "start", *arguments]
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        try:
            done = subprocess.run(
                command,
                cwd=copy.root,
                env=kept,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=CHECK_TIMEOUT_SECONDS,
                check=False,
            )
            status, output = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            status, output = 2, f"took longer than {CHECK_TIMEOUT_SECONDS:.0f} seconds"
        text = _check_report(copy, status, output)
    print(text)
    report.write_text(text, "utf-8")
    return status if status in {0, 1} else 2


def _check_report(copy: Project, status: int, output: str) -> str:
    """The report the run has left, or else what it has said."""
    places = [*copy.reports.glob("rebase-*.md"), Folder(copy).report]
    for path in places:
        if path.is_file():
            return path.read_text("utf-8")
    if status == 0:
        return f"# Rebase check\n\n{output.strip()}\n"
    return _failed_check(output, status)


def _failed_check(words: str, status: int) -> str:
    return (
        f"# Rebase check\n\n**The check itself failed**, so nothing is known (exit status "
        f"{status}).\n\n```\n{words.strip()}\n```\n"
    )
