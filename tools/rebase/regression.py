"""The regression suite's verdict on the new wheel, as a few lines for the report."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from buildsys import lock as lockfile
from tools.errors import SuiteError
from tools.paths import Project
from tools.rebase.state import Folder
from tools.regression import Kind, Report, run

__all__ = ["regression_verdict", "verdict_of"]

# Undeclared differences listed by name.
_SHOWN = 20


def regression_verdict(folder: Folder, wheel: Path, tests: tuple[str, ...]) -> tuple[bool, str]:
    """Run upstream's own tests on the new release and on the new wheel, and compare.

    Args:
        folder: the rebase's folder; the copy in it has the new lock and the declared deviations.
        wheel: the built wheel.
        tests: test files or ids to run; empty for all.

    Returns:
        Whether there is no undeclared difference, and the report's lines.
    """
    lock = lockfile.load(Project(folder.copy).lock)
    with (folder.logs / "regression.log").open("w", encoding="utf-8") as log:
        try:
            report = run(
                fork_wheel=wheel,
                release=lock.version,
                sdist_sha256=lock.sdist.sha256,
                tests=tests,
                deviations=folder.copy / "tests" / "upstream" / "deviations.toml",
                folder=folder.path / "regression",
                reports=folder.path / "regression-reports",
                console=Console(file=log, width=120),
            )
        except SuiteError as error:
            return False, f"The suite could not run:\n\n```\n{error}\n```"
    return verdict_of(report)


def verdict_of(report: Report) -> tuple[bool, str]:
    """The verdict on a report of the suite, and its lines."""
    differing = report.of(Kind.UNDECLARED)
    lines = [
        f"{len(report.comparisons)} tests; {report.ran} ran on upstream's release.",
        "",
        "| outcome | tests |",
        "|---|---:|",
        *(f"| {kind.value} | {len(report.of(kind))} |" for kind in Kind),
        "",
        *(f"- differs: `{one.test}`" for one in differing[:_SHOWN]),
        *([f"- and {len(differing) - _SHOWN} more"] if len(differing) > _SHOWN else []),
        *(f"- stale deviation: {text}" for text in report.stale),
    ]
    return report.exit_status == 0, "\n".join(lines).rstrip()
