"""``python -m tools.rebase``: take the series to another upstream release."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from buildsys.errors import BuildError
from tools.errors import ToolError
from tools.paths import ROOT, Project
from tools.rebase.bases import is_version
from tools.rebase.command import abort, check, check_drift, resume, start
from tools.rebase.rehearsal import rehearse
from tools.rebase.state import Folder, Trial

__all__ = ["main"]

_COMMANDS = {
    "start": "Put the series on a newer release: replay, build, test, and only then write.",
    "check": "The same in a scratch copy; exit 0 if the release takes the series, 1 if not.",
    "rehearse": "Put the series on an older release in a scratch copy and bring it back.",
    "continue": "Go on after a conflict, a refused result or an interruption.",
    "abort": "Give a started rebase up; the checkout is as it was.",
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.rebase", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    made = {
        name: commands.add_parser(name, help=text, description=text)
        for name, text in _COMMANDS.items()
    }
    for name in ("start", "check", "rehearse"):
        add = made[name].add_argument
        if name == "rehearse":
            add("--since", required=True, metavar="VERSION", help="the older release")
            add("--record", type=Path, help="also write the report to this file")
        else:
            add(
                "--to",
                metavar="VERSION",
                help="upstream's version (default: newest); check also takes a branch or commit",
            )
            add("--upstream-git", default="", metavar="REPOSITORY", help="bases from its tags")
        if name == "check":
            add("--pulls", default="", metavar="NUMBERS", help="pull requests to try, or all")
            add("--report", type=Path, help="file for it (default: reports/rebase-check.md)")
        add("--skip-regression", action="store_true", help="leave upstream's own tests out")
        add("--skip-contract", action="store_true", help="leave the contract suite out")
        add("--regression-test", action="append", default=[], metavar="TEST", help="only these")
        add("--borrow-packages", action="store_true", help="test with this environment's packages")
    made["continue"].add_argument(
        "--drop", default="", metavar="PATCH", help="leave the conflicting patch out"
    )
    return parser


def _run(project: Project, options: argparse.Namespace) -> int:
    if options.command == "continue":
        return resume(project, options.drop)
    if options.command == "abort":
        return abort(project)
    tests = tuple(options.regression_test)
    trial = Trial(options.skip_regression, tests, options.borrow_packages, options.skip_contract)
    if options.command == "rehearse":
        return rehearse(project, options.since, trial, options.record)
    upstream_git = options.upstream_git
    if upstream_git and Path(upstream_git).exists():
        upstream_git = str(Path(upstream_git).resolve())
    if options.command == "start":
        return start(project, options.to, upstream_git, trial)
    report = options.report or project.reports / "rebase-check.md"
    pulls = [one.strip() for one in options.pulls.split(",") if one.strip()]
    if pulls or (options.to and not is_version(options.to)):
        return check_drift(project, options.to, pulls, upstream_git, report)
    return check(project, options.to, upstream_git, trial, report)


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run one command; 0 is success, 1 that a person is needed, 2 that it could not be done."""
    options = _parser().parse_args(arguments)
    try:
        return _run(Project(root), options)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    except (BuildError, OSError, ToolError) as error:
        print(f"error: {error}", file=sys.stderr)
    if Folder(Project(root)).plan_file.exists():
        print("make rebase-continue tries again, make rebase-abort gives up", file=sys.stderr)
    return 2


if __name__ == "__main__":
    raise SystemExit(main())
