"""Upstream's environment for a benchmark: the locked release, untouched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from buildsys.lock import load

from ..paths import Project
from ..upstream.fetch import check_digest, fetch_wheel
from ..uv import Uv
from .runner import say

__all__ = ["pristine_python"]


def pristine_python(
    extras: Sequence[str], needed: Sequence[str], project: Project | None = None
) -> Path:
    """Return the interpreter of a new environment with the locked release.

    Args:
        extras: of the release.
        needed: requirements besides.
        project: the checkout; its ``build/`` has the environment.

    Raises:
        ToolError: no release can be fetched or installed, or the wheel is not the locked one.
    """
    project = project or Project()
    lock = load(project.lock)
    say(f"making an environment with smolagents {lock.version}")
    wheel = fetch_wheel(lock.version, project.cache)
    check_digest(wheel, lock.wheel.sha256)
    uv = Uv()
    python = uv.environment(project.build / "bench" / "pristine")
    uv.install(python, f"{wheel}[{','.join(extras)}]" if extras else wheel, *needed)
    return python
