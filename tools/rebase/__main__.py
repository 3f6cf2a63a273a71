"""``python -m tools.rebase``: take the series to another upstream release."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from buildsys.errors import BuildError
from tools.git import GitError
from tools.paths import ROOT, Project
from tools.rebase.command import abort, check, resume, start
from tools.rebase.commands import CommandError
from tools.rebase.rehearsal import rehearse
from tools.rebase.state import Folder, RebaseError
from tools.series.repository import SeriesError
from tools.upstream.fetch import FetchError

__all__ = ["main"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.rebase", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("start", "Put the series on a newer release: replay, build, test, and only then write."),
        ("check", "The same in a scratch copy; exit 0 if the release takes the series, 1 if not."),
        ("rehearse", "Put the series on an older release in a scratch copy and bring it back."),
    ):
        one = commands.add_parser(name, help=text, description=text)
        if name == "rehearse":
            one.add_argument("--since", required=True, metavar="VERSION", help="the older release")
            one.add_argument("--record", type=Path, help="also write the report to this file")
        else:
            one.add_argument("--to", metavar="VERSION", help="upstream's version (default: newest)")
            one.add_argument(
                "--upstream-git", default="", metavar="REPOSITORY", help="bases from its tags"
            )
        one.add_argument(
            "--skip-regression", action="store_true", help="leave upstream's own tests out"
        )
        one.add_argument(
            "--regression-test", action="append", default=[], metavar="TEST", help="only these"
        )
        one.add_argument(
            "--borrow-packages",
            action="store_true",
            help="test with this environment's packages instead of freshly installed ones",
        )
        if name == "check":
            one.add_argument(
                "--report", type=Path, help="file for the report (default: reports/rebase-check.md)"
            )
    for name, text in (
        ("continue", "Go on after a conflict, a refused result or an interruption."),
        ("abort", "Give a started rebase up; the checkout is as it was."),
    ):
        commands.add_parser(name, help=text, description=text)
    return parser


def _run(project: Project, options: argparse.Namespace) -> int:
    if options.command == "continue":
        return resume(project)
    if options.command == "abort":
        return abort(project)
    if options.command == "rehearse":
        status, text = rehearse(project, options.since, _trial_options(options), options.record)
        print(text)
        return status
    upstream_git = options.upstream_git
    if upstream_git and Path(upstream_git).exists():
        upstream_git = str(Path(upstream_git).resolve())
    if options.command == "start":
        chosen = {
            "skip_regression": options.skip_regression,
            "regression_tests": options.regression_test,
            "borrow_packages": options.borrow_packages,
        }
        return start(project, options.to, upstream_git, chosen)
    arguments = ["--to", options.to] if options.to else []
    arguments += ["--upstream-git", upstream_git] if upstream_git else []
    report = options.report or project.reports / "rebase-check.md"
    return check(project, [*arguments, *_trial_options(options)], report)


def _trial_options(options: argparse.Namespace) -> list[str]:
    """The options that say how a result is tried out, as they were given."""
    given = ["--skip-regression"] if options.skip_regression else []
    given += ["--borrow-packages"] if options.borrow_packages else []
    given += [word for test in options.regression_test for word in ("--regression-test", test)]
    return given


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run one command; 0 is success, 1 that a person is needed, 2 that it could not be done."""
    options = _parser().parse_args(arguments)
    try:
        return _run(Project(root), options)
    except KeyboardInterrupt:
        print(
            "interrupted; make rebase-continue goes on, make rebase-abort gives up", file=sys.stderr
        )
        return 2
    except (
        BuildError,
        CommandError,
        FetchError,
        GitError,
        OSError,
        RebaseError,
        SeriesError,
    ) as error:
        print(f"error: {error}", file=sys.stderr)
        if options.command == "start" and Folder(Project(root)).state_file.exists():
            print("make rebase-continue tries again, make rebase-abort gives up", file=sys.stderr)
        return 2


if __name__ == "__main__":
    raise SystemExit(main())
