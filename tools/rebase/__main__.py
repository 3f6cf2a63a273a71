"""``python -m tools.rebase``: take the series to another upstream release."""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Callable
from pathlib import Path

from buildsys import lock as lockfile
from buildsys.errors import BuildError
from tools.errors import RebaseError, ToolError
from tools.git import Git
from tools.paths import ROOT, Project
from tools.rebase.drift import drift_report
from tools.rebase.folder import Folder, Plan
from tools.rebase.releases import is_version, path_of_versions
from tools.rebase.replay import advance
from tools.rebase.report import refusal_text, report_text, stop_text
from tools.rebase.trial import scratch_copy, try_out
from tools.series.repository import folder_digest, write_files
from tools.upstream.fetch import released_versions

__all__ = ["main"]

_UNTOUCHED = "patches/, upstream.lock, the version and CHANGELOG.md are untouched."
_CHECK_FAILED = "# Rebase check\n\n**The check itself failed**:\n\n```\n%s\n```\n"
_CHECK_ENDED = "The checkout has not changed: make rebase-upstream does that. The report is"


def start(
    project: Project, options: argparse.Namespace, say: Callable[[str], object] = print
) -> int:
    """Put the series on a newer release: replay, build, test, and only then write."""
    folder = Folder(project)
    if folder.plan_file.exists():
        raise RebaseError(
            "a rebase is under way in .rebase; make rebase-continue goes on with it, make "
            "rebase-abort gives it up"
        )
    _refuse_uncommitted(project)
    old = lockfile.load(project.lock).version
    versions = path_of_versions(old, options.to, released_versions())
    if versions == [old]:
        say(f"the series is on smolagents {old} already; nothing to do")
        return 0
    folder.remove()  # what a start that was killed has left
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    flags = (options.skip_contract, options.skip_regression, options.borrow_packages)
    plan = Plan(date, folder_digest(project), versions, *flags)
    folder.save(plan)
    print(f"from smolagents {old} to {plan.new}: {', '.join(versions)}", flush=True)
    return _go_on(folder, plan, say)


def go_on(project: Project, _: argparse.Namespace) -> int:
    """Go on after a conflict, a refused result or an interruption."""
    folder = Folder(project)
    return _go_on(folder, folder.load(), print)


def _go_on(folder: Folder, plan: Plan, say: Callable[[str], object]) -> int:
    """Do what is left: replay, try out, write; returns 1 when it needs a person.

    Args:
        say: is told the outcome and what to do next.
    """
    _refuse_changed_series(folder.project, plan)
    if (stop := advance(folder, plan)) is not None:
        folder.report.write_text(report_text(folder, plan, stop), "utf-8")
        say(f"{stop_text(stop)}\nTo give up: make rebase-abort. {_UNTOUCHED}")
        return 1
    verdict = try_out(folder, plan)
    report = report_text(folder, plan, verdict)
    folder.report.write_text(report, "utf-8")
    if not verdict.is_good or verdict.result is None:
        say(f"{refusal_text(plan, verdict)}\nTo give up: make rebase-abort. {_UNTOUCHED}")
        return 1
    _refuse_changed_series(folder.project, plan)  # trying out takes minutes
    kept = folder.project.reports / f"rebase-{plan.old}-to-{plan.new}.md"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(report, "utf-8")
    write_files(folder.project.root, verdict.result.files)
    folder.remove()
    say(
        f"{report}\npatches/, upstream.lock, the version and CHANGELOG.md are on {plan.new}; the "
        f"report is reports/{kept.name}. docs/rebase.md has the steps to the commit; git restore . "
        "takes it back."
    )
    return 0


def _refuse_uncommitted(project: Project) -> None:
    """Refuse a checkout in which git could not take back what a rebase writes."""
    written = ("patches", "upstream.lock", "smolagents_fork/_version.py")
    if not (project.root / ".git").exists():
        return
    if changed := Git(project.root).text("status", "--porcelain", "--", *written):
        raise RebaseError(f"commit or stash these first, a rebase writes them:\n{changed}")


def _refuse_changed_series(project: Project, plan: Plan) -> None:
    """Refuse to go on when the series in the checkout is not the one that is replayed."""
    if folder_digest(project) != plan.digest:
        raise RebaseError(
            "patches/ or upstream.lock has been changed in the checkout since the rebase was "
            "started, and finishing would undo that: put the change back (git restore patches "
            "upstream.lock), or make rebase-abort and start again"
        )


def abort(project: Project, _: argparse.Namespace) -> int:
    """Give a started rebase up; the checkout is as it was."""
    folder = Folder(project)
    if not folder.plan_file.exists():
        raise RebaseError("no rebase is under way; nothing to abort")
    folder.remove()
    old = lockfile.load(project.lock).version
    print(f"the rebase is given up; the series is on {old} as before")
    return 0


def check(project: Project, options: argparse.Namespace) -> int:
    """Do the same in a scratch copy; exit 0 if the release takes the series, 1 if not."""
    report: Path = options.report or project.reports / "rebase-check.md"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    try:
        if options.pulls or (options.to and not is_version(options.to)):
            status, text = _check_drift(project, options)
        else:
            with scratch_copy(project) as copy:
                # What to do next is about the copy, which does not stay.
                status = start(copy, options, lambda _text: None)
                text = _last_report(copy)
    except (BuildError, OSError, ToolError) as error:
        status, text = 2, _CHECK_FAILED % error
    report.write_text(text, "utf-8")
    print(f"{text}\n{_CHECK_ENDED} {report}")
    return status


def _check_drift(project: Project, options: argparse.Namespace) -> tuple[int, str]:
    if not options.upstream_git:
        raise RebaseError("UPSTREAM_GIT is missing: a branch or pull request is of a repository")
    upstream = options.upstream_git
    upstream = str(Path(upstream).resolve()) if Path(upstream).exists() else upstream
    pulls = [pull.strip() for pull in options.pulls.split(",") if pull.strip()]
    fits, text = drift_report(project, upstream, options.to, pulls)
    return 0 if fits else 1, text


def _last_report(project: Project) -> str:
    places = [*project.reports.glob("rebase-*.md"), Folder(project).report]
    newest = "# Rebase check\n\nThe series is on the newest release.\n"
    return next((path.read_text("utf-8") for path in places if path.is_file()), newest)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.rebase", description=__doc__)
    commands = parser.add_subparsers(required=True)
    functions = {"start": start, "check": check, "continue": go_on, "abort": abort}
    for name, command in functions.items():
        subparser = commands.add_parser(name, help=command.__doc__, description=command.__doc__)
        subparser.set_defaults(run=command)
        add = subparser.add_argument
        if command in (start, check):
            add(
                "--to",
                metavar="VERSION",
                help="upstream's version (default: newest); check also takes a branch or commit",
            )
            add("--skip-contract", action="store_true", help="no contract suite")
            add("--skip-regression", action="store_true", help="no upstream's tests")
            add(
                "--borrow-packages",
                action="store_true",
                help="test with this environment's packages",
            )
        if command is check:
            add("--pulls", default="", metavar="NUMBERS", help="pull requests, or all")
            add("--upstream-git", default="", metavar="REPOSITORY", help="of these")
            add("--report", type=Path, help="(default: reports/rebase-check.md)")
    return parser


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run one command; 0 is success, 1 that a person is needed, 2 that it could not be done."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(Project(root), options)
        return status
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    except (BuildError, OSError, ToolError) as error:
        print(f"error: {error}", file=sys.stderr)
    if Folder(Project(root)).plan_file.exists():
        print("make rebase-continue tries again, make rebase-abort gives up", file=sys.stderr)
    return 2


if __name__ == "__main__":
    raise SystemExit(main())
