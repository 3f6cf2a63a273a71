"""Upstream's environment for a benchmark: the locked release, untouched, made once and kept.

It is made of the wheel ``upstream.lock`` names, whose hash is checked, through pip with the user's
own settings. Someone's own environment may be named instead; the fork in it is refused, since a
comparison with itself says nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from buildsys.lock import load

from ..paths import Project
from ..upstream.fetch import FetchError, fetch_wheel

__all__ = ["PristineError", "checked_version", "pristine_python"]

#: Seconds one call of pip may take; numpy on a slow line is the longest.
INSTALL_SECONDS = 600.0

Say = Callable[[str], None]


class PristineError(Exception):
    """The environment cannot be had, or is not upstream's; the message says what to do."""


def pristine_python(
    extras: Sequence[str],
    needed: Sequence[str],
    *,
    project: Project | None = None,
    say: Say = lambda _line: None,
) -> Path:
    """Return the interpreter of an environment with the locked release; made when there is none.

    Args:
        extras: of the release.
        needed: requirements besides.
        project: the checkout; its ``build/`` holds the environment.
        say: gets a line when something takes time.

    Raises:
        PristineError: pip failed, no release can be fetched, or the wheel is not the locked one.
    """
    project = project or Project()
    lock = load(project.lock)
    wanted = " ".join([lock.wheel.sha256, *sorted(extras), *sorted(needed)])
    mark = hashlib.sha256(wanted.encode()).hexdigest()[:12]
    name = f"pristine-{lock.version}-py{sys.version_info[0]}.{sys.version_info[1]}-{mark}"
    folder = project.build / "bench" / name
    python, done = folder / "bin" / "python", folder / "complete"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f"{name}.lock"), "a") as held:
        # Two benchmarks started at once make it once; the lock ends with its process.
        fcntl.flock(held, fcntl.LOCK_EX)
        if not done.exists():
            say(f"making an environment with smolagents {lock.version} in {folder}")
            try:
                wheel = fetch_wheel(lock.version, project.cache)
            except FetchError as error:
                raise PristineError(str(error)) from None
            digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
            if digest != lock.wheel.sha256:
                raise PristineError(
                    f"{wheel}: its sha256 {digest} is not the lock's {lock.wheel.sha256}; "
                    "remove the file and try again"
                )
            shutil.rmtree(folder, ignore_errors=True)
            _call([sys.executable, "-m", "venv", str(folder)])
            source = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
            _call([str(python), "-m", "pip", "install", "--quiet", source, *needed])
            checked_version(python, lock.version)
            done.touch()
    return python


def checked_version(python: str | Path, expected: str | None = None) -> str:
    """Return the version of smolagents that ``python`` has.

    Args:
        python: an interpreter.
        expected: the version it has to be; ``None``: any release of upstream's.

    Raises:
        PristineError: there is none, it is a build of the fork, or another release.
    """
    question = "import importlib.metadata as m; print(m.version('smolagents'))"
    # From the root folder: the checkout on sys.path would be the fork's own.
    version = _call([str(python), "-c", question], cwd="/").strip()
    if "+" in version:
        raise PristineError(
            f"{python} has smolagents {version}, a build of the fork: name an environment with "
            "upstream's release, or none to have one made"
        )
    if expected is not None and version != expected:
        raise PristineError(f"{python} has smolagents {version}, not {expected}")
    return version


def _call(command: list[str], cwd: str | None = None) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False, cwd=cwd
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PristineError(f"{' '.join(command[:4])}: {error}") from None
    if done.returncode:
        raise PristineError(f"{' '.join(command[:4])} failed:\n{done.stderr[-2000:]}")
    return done.stdout
