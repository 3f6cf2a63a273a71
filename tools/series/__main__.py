"""``python -m tools.series``: edit, export, check, status, lint and forward the patch series."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

from buildsys import lock as lockfile
from buildsys.errors import BuildError
from buildsys.metadata import ADDED_DEPENDENCIES, ADDED_EXTRAS
from buildsys.series import load_series
from tools.errors import ToolError
from tools.paths import ROOT, Project
from tools.series.edit import close_series, differences, finish_export, open_series
from tools.series.forward import check_forwarded, load_forwarded, sources_of
from tools.series.lint import lint_series
from tools.series.message import parse_message
from tools.upstream.fetch import fetch_sdist, unpack_sdist

__all__ = ["main"]


def _edit(project: Project, options: argparse.Namespace) -> int:
    """Make a scratch repository: upstream's pruned release, the series as commits."""
    git = open_series(project, options.folder, force=options.force)
    count = git.text("rev-list", "--count", "base..HEAD")
    print(
        f"{options.folder}: {count} patches as commits after the tag 'base'.\n"
        f"Edit, commit and 'git rebase -i base' there; then: make patches-export"
    )
    return 0


def _export(project: Project, options: argparse.Namespace) -> int:
    """Write the scratch repository's commits back to patches/."""
    changed = close_series(project, options.folder, force=options.force)
    for path in changed:
        print("wrote" if (project.root / path).exists() else "deleted", path)
    if not changed:
        print("patches/ has this series already")
    return 0


def _check(project: Project, options: argparse.Namespace) -> int:
    """Export again and compare bytes; exit 1 with the diff if they differ."""
    found = differences(project)
    console = Console(highlight=False, soft_wrap=True)
    for path, correct, diff in found:
        console.print(f"[bold red]{path}[/] is not as exported:")
        console.print(Syntax(diff, "diff", theme="ansi_dark", word_wrap=False))
        if options.output is not None:
            (options.output / path).parent.mkdir(parents=True, exist_ok=True)
            (options.output / path).write_bytes(correct)
            console.print(f"the corrected file is {options.output / path}", markup=False)
    if not found:
        print(len(load_series(project.patches)), "patches are as exported")
    return 1 if found else 0


def _status(project: Project, _: argparse.Namespace) -> int:
    """Show size, files and trailers of every patch."""
    patches = load_series(project.patches)
    table = Table(title=f"The series: {len(patches)} patches", show_lines=True)
    trailers = ("Forwarded", "Retire-When", "Test")
    for column in ("Patch", "Lines", "Files", *trailers):
        table.add_column(column, overflow="fold", justify="right" if column == "Lines" else "left")
    for patch in patches:
        values = parse_message(patch.header).trailers
        cells = ["\n".join(values.get(key, ("-",))) for key in trailers]
        name = patch.name.rpartition("/")[2]
        table.add_row(name, str(patch.size), "\n".join(patch.paths), *cells)
    Console(highlight=False, width=None if sys.stdout.isatty() else 160).print(table)
    return 0


def _lint(project: Project, options: argparse.Namespace) -> int:
    """Check what docs/patches.md asks of a patch; print the dependency delta."""
    findings = lint_series(project, with_release=not options.static)
    for finding in findings:
        print("error" if finding.is_error else "note", f"{finding.where}: {finding.text}")
    print("Dependencies beyond upstream's:")
    for requirement, reason in ADDED_DEPENDENCIES.items():
        print(f"  {requirement}: {reason}")
    for extra, added in ADDED_EXTRAS.items():
        for requirement, reason in added.items():
            print(f"  [{extra}] {requirement}: {reason}")
    errors = sum(finding.is_error for finding in findings)
    count = len(load_series(project.patches))
    print(f"{count} patches, {errors} errors, {len(findings) - errors} notes")
    return 1 if errors else 0


def _forward(project: Project, _: argparse.Namespace) -> int:
    """Apply every pull request of docs/forward to the release, and run its tests."""
    patches = load_forwarded(project.root / "docs" / "forward")
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        sdist = fetch_sdist(lockfile.load(project.lock).version, project.cache)
        sources = sources_of(unpack_sdist(sdist, scratch / "release"))
        found = check_forwarded(patches, sources, scratch / "forward")
    for text in found:
        print(text)
    print(f"{len(patches)} pull requests, {len(found)} errors")
    return 1 if found else 0


def _parser(root: Path) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.series", description=__doc__)
    commands = parser.add_subparsers(required=True)
    for run in (_edit, _export, _check, _status, _lint, _forward):
        text = run.__doc__
        one = commands.add_parser(run.__name__.strip("_"), help=text, description=text)
        one.set_defaults(run=run)
        if run in (_edit, _export):
            one.add_argument("folder", nargs="?", type=Path, default=root / "build" / "series")
            one.add_argument("--force", action="store_true", help="even if work is overwritten")
        if run is _check:
            one.add_argument("--output", type=Path, help="write the corrected files below it")
        if run is _lint:
            one.add_argument("--static", action="store_true", help="leave the release out")
    return parser


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run one command; 0 is success, 1 a finding, 2 that it could not be carried out."""
    options = _parser(root).parse_args(arguments)
    try:
        finish_export(Project(root))
        status: int = options.run(Project(root), options)
    except (BuildError, ToolError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return status


if __name__ == "__main__":
    raise SystemExit(main())
