"""Upstream's environment for a benchmark: the locked release, untouched, made once and kept."""

from __future__ import annotations

import fcntl
import hashlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from buildsys.lock import load

from ..errors import FetchError
from ..paths import Project
from ..upstream.fetch import fetch_wheel
from ..uv import Uv

__all__ = ["pristine_python"]


def pristine_python(
    extras: Sequence[str],
    needed: Sequence[str],
    *,
    project: Project | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> Path:
    """Return the interpreter of an environment with the locked release; made when there is none.

    Args:
        extras: of the release.
        needed: requirements besides.
        project: the checkout; its ``build/`` has the environment.
        say: gets a line when something takes time.

    Raises:
        ToolError: no release can be fetched or installed, or the wheel is not the locked one.
    """
    project = project or Project()
    lock = load(project.lock)
    wanted = " ".join([lock.wheel.sha256, *sorted(extras), *sorted(needed)])
    mark = hashlib.sha256(wanted.encode()).hexdigest()[:12]
    name = f"pristine-{lock.version}-py{sys.version_info[0]}.{sys.version_info[1]}-{mark}"
    folder = project.build / "bench" / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f"{name}.lock"), "a") as guard:
        # Two benchmarks started at once make it once; the lock ends with its process.
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            say(f"making an environment with smolagents {lock.version} in {folder}")
            wheel = fetch_wheel(lock.version, project.cache)
            digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
            if digest != lock.wheel.sha256:
                raise FetchError(
                    f"{wheel}: its sha256 {digest} is not the lock's {lock.wheel.sha256}; "
                    "remove the file and try again"
                )
            uv = Uv()
            python = uv.environment(folder)
            uv.install(python, f"{wheel}[{','.join(extras)}]" if extras else wheel, *needed)
            (folder / "complete").touch()
    return folder / "bin" / "python"
