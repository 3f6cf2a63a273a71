"""``make lint``: every static check, each named, all of them run before the verdict."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.paths import ROOT

__all__ = ["PACKAGE", "main", "repeated_names"]

PACKAGE = "smolagents_fork"

_PROGRAMS = Path(sys.executable).parent
_SCHEMA = (_PROGRAMS / "check-jsonschema", "--quiet", "--builtin-schema")
GITHUB = ROOT / ".github"
# The first one takes longer than all others together, which run beside it.
COMMANDS: dict[str, tuple[str | Path, ...]] = {
    "mypy": (_PROGRAMS / "mypy",),
    "ruff": (_PROGRAMS / "ruff", "check", "."),
    "ruff format": (_PROGRAMS / "ruff", "format", "--check", "."),
    "workflows": (_PROGRAMS / "zizmor", "--offline", "--quiet", "--no-progress", ".github"),
    "workflows' schema": (*_SCHEMA, "vendor.github-workflows", *sorted(GITHUB.glob("workflows/*"))),
    "actions' schema": (*_SCHEMA, "vendor.github-actions", *sorted(GITHUB.glob("actions/*/*"))),
    "dependabot's schema": (*_SCHEMA, "vendor.dependabot", GITHUB / "dependabot.yml"),
    "layers": (_PROGRAMS / "lint-imports", "--no-cache", "--no-logo"),
    "series lint": (sys.executable, "-m", "tools.series", "lint"),
    "series freshness": (sys.executable, "-m", "tools.series", "check"),
}


def main() -> int:
    """Run the checks, two at a time; the exit status is 1 when one of them found something."""
    failed: list[str] = []
    with ThreadPoolExecutor(2) as pool:
        runs = {name: pool.submit(_run, command) for name, command in COMMANDS.items()}
        for name, run in runs.items():
            done = run.result()
            print(f"== {name}\n{done.stdout}", end="", flush=True)
            if done.returncode:
                failed.append(name)
    print("== names of modules")
    if repeated := repeated_names(ROOT / PACKAGE):
        print("\n".join(repeated))
        failed.append("names of modules")
    print(f"lint: {'failed: ' + ', '.join(failed) if failed else 'all checks passed'}")
    return 1 if failed else 0


def repeated_names(package: Path) -> list[str]:
    """List module names that stand twice in the package, one line each.

    Args:
        package: the folder of ``smolagents_fork``.
    """
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        if path.stem != "__init__":
            places[path.stem].append(path.relative_to(package).as_posix())
    return [
        f"{' and '.join(paths)}: a module's name stands once in the package"
        for paths in places.values()
        if len(paths) > 1
    ]


def _run(command: tuple[str | Path, ...]) -> subprocess.CompletedProcess[str]:
    colours = {"FORCE_COLOR": "1"} if sys.stdout.isatty() else {}
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **colours},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


if __name__ == "__main__":
    raise SystemExit(main())
