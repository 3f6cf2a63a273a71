"""The regression suite's verdict on the new wheel, as a few lines for the report."""

from __future__ import annotations

from pathlib import Path

from buildsys import lock as lockfile
from tools.paths import Project
from tools.rebase.state import Folder

__all__ = ["regression_verdict"]


def regression_verdict(
    project: Project, folder: Folder, wheel: Path, tests: list[str]
) -> tuple[bool, str]:
    """Run upstream's own tests on the new release and on the new wheel, and compare.

    Args:
        project: the checkout, whose declared deviations hold.
        folder: the rebase's folder; its ``upstream.lock`` is the new release's.
        wheel: the built wheel.
        tests: test files or ids to run; empty for all.

    Returns:
        Whether there is no undeclared difference, and the report's lines.
    """
    # Imported here: it brings in what only this needs, and the tests of a rebase leave it out.
    from tools.regression import Kind, SuiteError, run

    lock = lockfile.load(folder.path / "upstream.lock")
    try:
        report = run(
            fork_wheel=wheel,
            release=lock.version,
            sdist_sha256=lock.sdist.sha256,
            tests=tests,
            deviations=project.root / "tests" / "upstream" / "deviations.toml",
            folder=folder.path / "regression",
            reports=folder.path / "regression-reports",
        )
    except SuiteError as error:
        return False, f"The suite could not run: {error}"
    lines = [
        f"{len(report.comparisons)} tests, {report.ran} ran on upstream's release.",
        "",
        "| on both sides | tests |",
        "|---|---:|",
        *(f"| {kind.value} | {len(report.of(kind))} |" for kind in Kind),
    ]
    differing = report.of(Kind.UNDECLARED)
    lines += [f"- differs: `{found.test}`" for found in differing[:20]]
    if len(differing) > 20:
        lines.append(f"- and {len(differing) - 20} more")
    lines += [f"- stale deviation: {text}" for text in report.stale]
    return report.exit_status == 0, "\n".join(lines)
