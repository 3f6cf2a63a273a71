"""The regression suite's verdict on the new wheel, as a few lines for the report."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from buildsys import lock as lockfile
from tools.paths import Project
from tools.rebase.commands import CommandError, run
from tools.rebase.state import Folder

__all__ = ["regression_verdict", "verdict_of"]

# Two environments are installed and about a thousand tests run on each.
REGRESSION_TIMEOUT_SECONDS = 2700.0

# Undeclared differences listed by name.
_SHOWN = 20


def regression_verdict(
    project: Project, folder: Folder, wheel: Path, tests: list[str], keep_open: tuple[int, ...]
) -> tuple[bool, str]:
    """Run upstream's own tests on the new release and on the new wheel, and compare.

    A process of its own, because it inherits the rebase's lock: should this one be killed, the
    next waits until the suite has ended.

    Args:
        project: the checkout, whose declared deviations hold.
        folder: the rebase's folder; its ``upstream.lock`` is the new release's.
        wheel: the built wheel.
        tests: test files or ids to run; empty for all.
        keep_open: descriptors that the suite inherits.

    Returns:
        Whether there is no undeclared difference, and the report's lines.
    """
    lock = lockfile.load(folder.path / "upstream.lock")
    reports = folder.path / "regression-reports"
    if reports.exists():
        shutil.rmtree(reports)
    options: dict[str, str | Path] = {
        "--fork-wheel": wheel,
        "--release": lock.version,
        "--sdist-sha256": lock.sdist.sha256,
        "--deviations": project.root / "tests" / "upstream" / "deviations.toml",
        "--folder": folder.path / "regression",
        "--reports": reports,
    }
    words = [word for pair in options.items() for word in pair]
    try:
        run(
            [sys.executable, "-m", "tools.regression", *words, *tests],
            folder.logs / "regression.log",
            timeout_seconds=REGRESSION_TIMEOUT_SECONDS,
            cwd=project.root,
            keep_open=keep_open,
            accepted=(0, 1),
        )
        report = json.loads((reports / "regression.json").read_text("utf-8"))
    except (CommandError, OSError, ValueError) as error:
        return False, f"The suite could not run:\n\n```\n{error}\n```"
    return verdict_of(report)


def verdict_of(report: dict[str, Any]) -> tuple[bool, str]:
    """The verdict and the lines for a report that ``tools.regression`` has written as JSON.

    Args:
        report: the content of ``regression.json``.
    """
    lines = [
        f"{report['collected']} tests; {report['ran']} ran on upstream's release.",
        "",
        "| outcome | tests |",
        "|---|---:|",
        *(f"| {kind} | {count} |" for kind, count in report["counts"].items()),
    ]
    differing = [one["test"] for one in report["tests"] if one["kind"] == "differs, undeclared"]
    lines += ["", *(f"- differs: `{test}`" for test in differing[:_SHOWN])]
    if len(differing) > _SHOWN:
        lines.append(f"- and {len(differing) - _SHOWN} more")
    lines += [f"- stale deviation: {text}" for text in report["stale_deviations"]]
    return report["exit_status"] == 0, "\n".join(lines).rstrip()
