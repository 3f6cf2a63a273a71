"""start, continue, abort and check: the order of a rebase's phases."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Sequence
from pathlib import Path

from buildsys import lock as lockfile
from buildsys.errors import BuildError
from buildsys.series import load_prune_list, load_series
from tools.errors import RebaseError, ToolError
from tools.paths import Project
from tools.rebase.bases import steps_between
from tools.rebase.drift import drift_of, pull_references
from tools.rebase.drift import report_text as drift_report
from tools.rebase.replay import Replay
from tools.rebase.report import conflict_text, report_text
from tools.rebase.state import Folder, Plan, Trial, reached
from tools.rebase.trial import Verdict, scratch_copy, try_out
from tools.series.edit import finish_export
from tools.series.repository import folder_digest

__all__ = ["abort", "check", "check_drift", "last_report", "plan_to", "resume", "start"]

_UNTOUCHED = "patches/, upstream.lock, the version and CHANGELOG.md are untouched."

_CHECK_FAILED = """\
# Rebase check

**The check itself failed**, so nothing is known.

```
{}
```
"""


def plan_to(project: Project, new: str | None, upstream_git: str, trial: Trial) -> Plan:
    """Plan the steps that put the series on another release.

    Args:
        new: upstream's version to reach; None for the newest release.
        upstream_git: repository whose tags are the bases; empty for releases.

    Raises:
        RebaseError, BuildError, FetchError: there is no such version, or no series.
    """
    load_series(project.patches)
    load_prune_list(project.patches)
    old = lockfile.load(project.lock).version
    steps = steps_between(project, old, new, upstream_git)
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    return Plan(date, folder_digest(project), tuple(steps), upstream_git, trial)


def start(project: Project, new: str | None, upstream_git: str, trial: Trial) -> int:
    """Start a rebase and take it as far as it goes; arguments as for :func:`plan_to`.

    Returns:
        0 when all of it has succeeded, 1 when it needs a person.

    Raises:
        RebaseError, BuildError, FetchError: it could not be started, or not go on.
    """
    folder = Folder(project)
    with folder.locked():
        if folder.plan_file.exists():
            raise RebaseError(
                "a rebase is under way in .rebase; make rebase-continue goes on with it, make "
                "rebase-abort gives it up"
            )
        folder.remove()  # what an abort or a start that was killed has left
        finish_export(project)
        plan = plan_to(project, new, upstream_git, trial)
        if plan.new == plan.old:
            print(f"the series is on smolagents {plan.old} already; nothing to do")
            return 0
        folder.save(plan)
        labels = ", ".join(step.label for step in plan.steps)
        print(f"from smolagents {plan.old} to {plan.new}: {labels}", flush=True)
        return _advance(folder, plan)


def resume(project: Project, drop: str = "") -> int:
    """Go on with a started rebase, after a conflict, a refused result or an interruption.

    Args:
        drop: file name of the conflicting patch, to leave it out; empty for none.

    Raises:
        RebaseError: there is none, or it is not ready to go on.
    """
    folder = Folder(project)
    with folder.locked():
        return _advance(folder, folder.load(), drop)


def _advance(folder: Folder, plan: Plan, drop: str = "") -> int:
    """Do what is left: replay, try out, decide, write."""
    if folder.replacement.is_decided:
        folder.replacement.finish()
        return _finish(folder, plan)
    _refuse_changed_inputs(folder.project, plan)
    replay = Replay(folder, plan, drop)
    if (conflict := replay.run()) is not None:
        folder.report.write_text(report_text(replay, conflict), "utf-8")
        print(conflict_text(conflict))
        print(f"To give up: make rebase-abort. {_UNTOUCHED}")
        return 1
    verdict = try_out(folder, replay)
    folder.report.write_text(report_text(replay, verdict), "utf-8")
    if not verdict.is_good:
        print(folder.report.read_text("utf-8"))
        print(_refusal(plan, verdict))
        return 1
    _refuse_changed_inputs(folder.project, plan)  # trying out takes minutes
    folder.replacement.decide()
    return _finish(folder, plan)


def _refuse_changed_inputs(project: Project, plan: Plan) -> None:
    """Refuse to go on when the series in the checkout is not the one that is replayed."""
    if folder_digest(project) != plan.digest:
        raise RebaseError(
            "patches/ or upstream.lock has been changed in the checkout since the rebase was "
            "started, and finishing would undo that: put the change back, or make rebase-abort "
            "and start again"
        )


def _refusal(plan: Plan, verdict: Verdict) -> str:
    failed = ", ".join(one.patch for one in verdict.tests if one.problem)
    what = f"the tests of {failed} fail" if failed else "the result does not hold; see above"
    if verdict.contract:
        what = "the contract suite fails"
    return f"""\
stopped: {what}.
To go on: change the commits in .rebase/repo (git commit --amend, or git rebase -i
upstream/{plan.steps[-1].label}) or the tests in the checkout, then make rebase-continue.
Logs are in .rebase/logs.
To give up: make rebase-abort. {_UNTOUCHED}"""


def _finish(folder: Folder, plan: Plan) -> int:
    """Keep the report of what the checkout has now, print it, and remove the scratch."""
    kept = folder.project.reports / f"rebase-{plan.old}-to-{plan.new}.md"
    kept.parent.mkdir(exist_ok=True)
    shutil.copyfile(folder.report, kept)
    reached("reported")
    folder.remove()
    print(kept.read_text("utf-8"))
    print(
        f"patches/, upstream.lock, the version and CHANGELOG.md are on {plan.new}; the report is "
        f"reports/{kept.name}. Read git diff, then commit."
    )
    return 0


def abort(project: Project) -> int:
    """Give a started rebase up; the checkout is as it was before.

    Raises:
        RebaseError: there is none.
        ToolError: the checkout was changed while it was being written.
    """
    folder = Folder(project)
    with folder.locked():
        if not folder.plan_file.exists():
            folder.remove()
            raise RebaseError("no rebase is under way; nothing to abort")
        if folder.replacement.is_decided:
            folder.replacement.undo()
        folder.remove()
        old = lockfile.load(project.lock).version
        print(f"the rebase is given up; the series is on {old} as before")
        return 0


def check(project: Project, new: str | None, upstream_git: str, trial: Trial, report: Path) -> int:
    """Try a rebase in a copy of the checkout; nothing in the checkout is touched.

    Args:
        new, upstream_git, trial: see :func:`plan_to`.
        report: file for the report; written whatever happens.

    Returns:
        0 when the release takes the series, 1 when it does not, 2 when that could not be found out.
    """
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(_CHECK_FAILED.format("the check did not end"), "utf-8")
    with scratch_copy(project) as copy:
        try:
            status = start(copy, new, upstream_git, trial)
            text = last_report(copy) or "# Rebase check\n\nThe series is on the newest release.\n"
        except (BuildError, OSError, ToolError) as error:
            status, text = 2, _CHECK_FAILED.format(error)
            print(text)
    report.write_text(text, "utf-8")
    return status


def check_drift(
    project: Project, revision: str | None, pulls: Sequence[str], upstream_git: str, report: Path
) -> int:
    """Try the series on unreleased revisions; see :mod:`tools.rebase.drift`.

    Args:
        revision: a branch, a full commit id or a ref; None for pull requests alone.
        pulls: numbers of pull requests, or ``["all"]``.
        upstream_git: path or address of upstream's repository.
        report: file for the report; written whatever happens.

    Returns:
        0 when every revision takes the series, 1 when not, 2 when that could not be found out.
    """
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(_CHECK_FAILED.format("the check did not end"), "utf-8")
    try:
        if not upstream_git:
            raise RebaseError(
                "UPSTREAM_GIT is missing: a branch or pull request is of a repository"
            )
        revisions = [*([revision] if revision else []), *pull_references(upstream_git, pulls)]
        drifts = drift_of(project, upstream_git, revisions)
        text = drift_report(drifts, lockfile.load(project.lock).version)
        status = 0 if all(one.is_clean for one in drifts) else 1
        status = 2 if any(one.problem for one in drifts) else status
    except (BuildError, OSError, ToolError) as error:
        status, text = 2, _CHECK_FAILED.format(error)
    print(text)
    report.write_text(text, "utf-8")
    return status


def last_report(project: Project) -> str:
    """Return the report of a rebase, finished or stopped; empty when there is none."""
    places = [*project.reports.glob("rebase-*.md"), Folder(project).report]
    return next((path.read_text("utf-8") for path in places if path.is_file()), "")
