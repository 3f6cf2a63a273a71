"""``make lint``: every static check, each named, all of them run before the verdict."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.layers import PACKAGE, repeated_names
from tools.paths import ROOT

__all__ = ["main"]

_PROGRAMS = Path(sys.executable).parent
_SCHEMA = (_PROGRAMS / "check-jsonschema", "--quiet", "--builtin-schema")
GITHUB = ROOT / ".github"
COMMANDS: dict[str, tuple[str | Path, ...]] = {
    "ruff": (_PROGRAMS / "ruff", "check", "."),
    "ruff format": (_PROGRAMS / "ruff", "format", "--check", "."),
    "mypy": (_PROGRAMS / "mypy",),
    "workflows": (_PROGRAMS / "zizmor", "--offline", "--quiet", "--no-progress", ".github"),
    "workflows' schema": (*_SCHEMA, "vendor.github-workflows", *sorted(GITHUB.glob("workflows/*"))),
    "actions' schema": (*_SCHEMA, "vendor.github-actions", *sorted(GITHUB.glob("actions/*/*"))),
    "dependabot's schema": (*_SCHEMA, "vendor.dependabot", GITHUB / "dependabot.yml"),
    "layers": (_PROGRAMS / "lint-imports", "--no-cache", "--no-logo"),
    "series lint": (sys.executable, "-m", "tools.series", "lint"),
    "series freshness": (sys.executable, "-m", "tools.series", "check"),
}


def main() -> int:
    """Run the checks; the exit status is 1 when one of them found something."""
    failed: list[str] = []
    for name, command in COMMANDS.items():
        print(f"== {name}", flush=True)
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            failed.append(name)
    found_by = {
        "names of modules": repeated_names(ROOT / PACKAGE),
    }
    for name, found in found_by.items():
        print(f"== {name}")
        if found:
            print("\n".join(found))
            failed.append(name)
    print(f"lint: {'failed: ' + ', '.join(failed) if failed else 'all checks passed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
