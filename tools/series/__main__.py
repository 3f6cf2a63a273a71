"""``python -m tools.series``: edit, export, check, status and lint the patch series."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

from buildsys.errors import BuildError
from buildsys.metadata import ADDED_DEPENDENCIES
from buildsys.series import load_series
from tools.git import GitError
from tools.paths import ROOT, Project
from tools.series.check import differences
from tools.series.edit import close_series, finish_export, open_series
from tools.series.lint import lint_series
from tools.series.message import parse_message
from tools.series.repository import SeriesError
from tools.upstream.fetch import FetchError

__all__ = ["main"]

_console = Console(highlight=False, soft_wrap=True)


def _edit(project: Project, options: argparse.Namespace) -> int:
    git = open_series(project, options.folder, force=options.force)
    commits = git.lines("rev-list", "refs/tags/base..HEAD")
    _console.print(
        f"{options.folder}: {len(commits)} patches as commits after the tag 'base'.\n"
        f"Edit, commit and 'git rebase -i base' there; then: make patches-export",
        markup=False,
    )
    return 0


def _export(project: Project, options: argparse.Namespace) -> int:
    changed = close_series(project, options.folder, force=options.force)
    for path in changed:
        _console.print(f"{'wrote' if (project.root / path).exists() else 'deleted'} {path}")
    if not changed:
        _console.print("patches/ holds this series already")
    return 0


def _check(project: Project, options: argparse.Namespace) -> int:
    found = differences(project)
    for difference in found:
        _console.print(f"[bold red]{difference.path}[/] is not as exported:")
        _console.print(Syntax(difference.diff, "diff", theme="ansi_dark", word_wrap=False))
        if options.output is not None:
            target = options.output / difference.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(difference.correct)
    if found and options.output is not None:
        _console.print(f"the corrected files are in {options.output}", markup=False)
    if not found:
        _console.print(f"{len(load_series(project.patches))} patches are as exported")
    return 1 if found else 0


def _status(project: Project, _: argparse.Namespace) -> int:
    patches = load_series(project.patches)
    table = Table(title=f"The series: {len(patches)} patches", show_lines=True)
    for column in ("Patch", "Lines", "Files", "Forwarded", "Retire-When", "Test"):
        table.add_column(column, overflow="fold", justify="right" if column == "Lines" else "left")
    for patch in patches:
        trailers = parse_message(patch.header).trailers
        table.add_row(
            patch.name.rpartition("/")[2],
            str(patch.size),
            "\n".join(patch.paths),
            *("\n".join(trailers.get(key, ("-",))) for key in ("Forwarded", "Retire-When", "Test")),
        )
    Console(highlight=False, width=None if sys.stdout.isatty() else 160).print(table)
    return 0


def _lint(project: Project, options: argparse.Namespace) -> int:
    findings = lint_series(project, with_release=not options.static)
    for finding in findings:
        label = "[bold red]error[/]" if finding.is_error else "[yellow]note[/]"
        _console.print(label, end=" ")
        _console.print(f"{finding.where}: {finding.text}", markup=False)
    _console.print("Dependencies beyond upstream's:")
    for requirement, reason in ADDED_DEPENDENCIES.items():
        _console.print(f"  {requirement}: {reason}", markup=False)
    errors = sum(finding.is_error for finding in findings)
    count = len(load_series(project.patches))
    _console.print(f"{count} patches, {errors} errors, {len(findings) - errors} notes")
    return 1 if errors else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.series", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=text)

    for name, text in (
        ("edit", "Make a scratch repository: upstream's pruned release, the series as commits."),
        ("export", "Write the scratch repository's commits back to patches/."),
    ):
        one = command(name, text)
        one.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "series")
        one.add_argument("--force", action="store_true", help="even if other work is overwritten")
    one = command("check", "Export again and compare bytes; exit 1 with the diff if they differ.")
    one.add_argument("--output", type=Path, help="also write the corrected files below this folder")
    command("status", "Show size, files and trailers of every patch.")
    one = command("lint", "Check what docs/patches.md asks of a patch; print the dependency delta.")
    one.add_argument("--static", action="store_true", help="do not apply it to the release")
    return parser


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run one command; 0 is success, 1 a finding, 2 that it could not be carried out."""
    options = _parser().parse_args(arguments)
    project = Project(root)
    run = {"edit": _edit, "export": _export, "check": _check, "status": _status, "lint": _lint}
    try:
        finish_export(project)
        return run[options.command](project, options)
    except (BuildError, FetchError, GitError, SeriesError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    raise SystemExit(main())
