"""Writes ``constraints.txt``: one version of every package, for every supported Python.

Upstream's extras are unpinned, so two runs a week apart would test different things. The file is
used as constraints only: a package that no requirement asks for is not installed by it.
"""

from __future__ import annotations

import re
from pathlib import Path

from buildsys import lock as upstream_lock
from tools.regression.command import run
from tools.regression.environments import uv_program
from tools.regression.settings import CONSTRAINTS, EXTRAS, OPTIONAL, REQUIREMENTS, ROOT, SCRATCH

__all__ = ["relock"]

OLDEST_PYTHON = "3.10"

_HEADER = """\
# Versions for both sides of the regression suite. Written by `python -m tools.regression --relock`.
"""

# torch has a version of its own in settings.OPTIONAL; the rest belongs to its CUDA build.
_LEFT_OUT = re.compile(r"(smolagents|torch|triton|nvidia-[\w-]+|cuda-[\w-]+)==")


def relock() -> int:
    """Resolve anew and write the file; returns how many packages it pins."""
    lock = upstream_lock.load(ROOT / "upstream.lock")
    optional = [name.replace("+cpu", "") for group in OPTIONAL.values() for name in group]
    asked = SCRATCH / "constraints.in"
    asked.parent.mkdir(parents=True, exist_ok=True)
    extras = ",".join(EXTRAS)
    lines = [f"smolagents[{extras}]=={lock.version}", *REQUIREMENTS, *optional]
    asked.write_text("\n".join(lines) + "\n", "utf-8")
    uv, env = uv_program()
    command: list[str | Path] = [uv, "pip", "compile", "-q", "--no-annotate", "--no-header", asked]
    command += ["--universal", "--python-version", OLDEST_PYTHON]
    resolved = run(command, timeout_seconds=600, env=env)
    pins = [line for line in resolved.splitlines() if "==" in line and not _LEFT_OUT.match(line)]
    CONSTRAINTS.write_text(_HEADER + "\n".join(pins) + "\n", "utf-8")
    return len(pins)
