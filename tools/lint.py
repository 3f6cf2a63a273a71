"""``make lint``: every static check, each named, all of them run before the verdict."""

from __future__ import annotations

import subprocess
import sys

from tools.layers import PACKAGE, violations
from tools.paths import ROOT
from tools.rooms import ROOMS_FILE, rooms_violations

__all__ = ["main"]

COMMANDS = {
    "ruff": ("ruff", "check", "."),
    "ruff format": ("ruff", "format", "--check", "."),
    "mypy": ("mypy",),
    "series lint": ("tools.series", "lint"),
    "series freshness": ("tools.series", "check"),
}


def main() -> int:
    """Run the checks; the exit status is 1 when one of them found something."""
    failed: list[str] = []
    for name, command in COMMANDS.items():
        print(f"== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=False).returncode:
            failed.append(name)
    print("== layers", flush=True)
    found = violations(ROOT / PACKAGE)
    for line in found:
        print(line)
    if found:
        failed.append("layers")
    print("== rooms of the interpreter", flush=True)
    if not (ROOT / PACKAGE / "interpreter" / ROOMS_FILE).is_file():
        print(f"left out: interpreter/ has no {ROOMS_FILE}, so it has no rooms yet")
    elif found := rooms_violations(ROOT / PACKAGE):
        print("\n".join(found))
        failed.append("rooms of the interpreter")
    print(f"lint: {'failed: ' + ', '.join(failed) if failed else 'all checks passed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
