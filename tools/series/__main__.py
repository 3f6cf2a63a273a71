"""``python -m tools.series``: edit, export, check and lint the patch series."""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path

from buildsys.errors import BuildError
from buildsys.metadata import ADDED_DEPENDENCIES, ADDED_EXTRAS
from buildsys.series import load_series
from tools.errors import ToolError
from tools.paths import ROOT, Project
from tools.series.edit import close_series, differences, open_series
from tools.series.lint import lint_series
from tools.series.repository import write_files

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
    corrections = differences(project)
    for path, correct in corrections.items():
        texts = ((project.root / path).read_bytes(), correct)
        before, after = (text.decode("utf-8", "replace").splitlines() for text in texts)
        diff = "\n".join(difflib.unified_diff(before, after, lineterm=""))
        print(f"{path} is not as exported:\n{diff or 'it differs in line ends'}")
    if corrections and options.output is not None:
        write_files(options.output, corrections)
        print(f"the corrected files are in {options.output}")
    if not corrections:
        print(len(load_series(project.patches)), "patches are as exported")
    return 1 if corrections else 0


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


def _parser(root: Path) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.series", description=__doc__)
    commands = parser.add_subparsers(required=True)
    for run in (_edit, _export, _check, _lint):
        text = run.__doc__
        command = commands.add_parser(run.__name__.strip("_"), help=text, description=text)
        command.set_defaults(run=run)
        if run in (_edit, _export):
            command.add_argument("folder", nargs="?", type=Path, default=root / "build" / "series")
            command.add_argument("--force", action="store_true", help="even if work is overwritten")
        if run is _check:
            command.add_argument("--output", type=Path, help="write the corrected files below it")
        if run is _lint:
            command.add_argument("--static", action="store_true", help="leave the release out")
    return parser


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run one command; 0 is success, 1 a finding, 2 that it could not be carried out."""
    options = _parser(root).parse_args(arguments)
    try:
        status: int = options.run(Project(root), options)
    except (BuildError, OSError, ToolError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return status


if __name__ == "__main__":
    raise SystemExit(main())
