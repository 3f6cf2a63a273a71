"""Two virtual environments with the same packages, but for smolagents itself.

The fork's side is resolved (its requirements may be more than upstream's), frozen, and the frozen
set is installed once more for the pristine side.
"""

from __future__ import annotations

import re
import zipfile
from email.parser import HeaderParser
from pathlib import Path
from typing import NamedTuple

from buildsys import lock as upstream_lock
from tools.errors import CommandError, SuiteError, last_lines
from tools.regression.settings import CONSTRAINTS, EXTRAS, OPTIONAL, REQUIREMENTS, ROOT, SCRATCH
from tools.uv import Uv

__all__ = ["Side", "Twins", "build_twins", "relock", "wheel_metadata"]

OLDEST_PYTHON = "3.10"

_HEADER = """\
# Versions for both sides of the regression suite. Written by `python -m tools.regression --relock`.
"""

# torch has a version of its own in settings.OPTIONAL; the rest belongs to its CUDA build.
_LEFT_OUT = re.compile(r"(smolagents|torch|triton|nvidia-[\w-]+|cuda-[\w-]+)==")


class Side(NamedTuple):
    """One of the two environments: its name, interpreter, and the smolagents in it."""

    name: str
    python: Path
    wheel: Path
    version: str


class Twins(NamedTuple):
    """Both sides.

    Attributes:
        absent: optional groups that did not resolve, with the installer's words.
        notes: complaints of the installer's own check, as sentences.
    """

    pristine: Side
    fork: Side
    absent: dict[str, str]
    notes: list[str]


def wheel_metadata(wheel: Path) -> tuple[str, str, set[str]]:
    """Read name, version and extras from a wheel's METADATA.

    Raises:
        SuiteError: the file is not a wheel.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
            headers = HeaderParser().parsestr(archive.read(name).decode("utf-8"))
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise SuiteError(f"{wheel}: not a readable wheel: {error}") from error
    return headers["Name"], headers["Version"], set(headers.get_all("Provides-Extra") or [])


def _frozen(uv: Uv, python: Path) -> list[str]:
    """List an environment's packages beside smolagents, as requirements."""
    listed = uv("pip", "freeze", "--python", python).splitlines()
    return sorted(line for line in listed if not re.match(r"smolagents(?!-)", line))


def _resolved(uv: Uv, python: Path, wanted: str, *pins: str | Path) -> dict[str, str]:
    """Install everything on one side; returns the groups that could not be had."""
    absent: dict[str, str] = {}
    optional: list[str] = []
    for group, requirements in OPTIONAL.items():
        try:
            uv.install(python, "--dry-run", *pins, *requirements)
            optional += requirements
        except CommandError as error:
            absent[group] = last_lines(str(error), lines=3)
    uv.install(python, *pins, wanted, *REQUIREMENTS, *optional)
    return absent


def build_twins(fork_wheel: Path, pristine_wheel: Path, folder: Path, *, pinned: bool) -> Twins:
    """Make both environments anew below a folder.

    Args:
        fork_wheel: the wheel under test.
        pristine_wheel: upstream's.
        folder: environments of the same names in it are removed.
        pinned: refuse versions other than ``constraints.txt``'s. Without it they are tried first,
            and left aside with a note when they do not suit this release.

    Raises:
        SuiteError: the two sides came out different.
        CommandError: a set of packages cannot be had.
    """
    _, fork_version, provided = wheel_metadata(fork_wheel)
    _, pristine_version, _ = wheel_metadata(pristine_wheel)
    uv, notes = Uv(), list[str]()
    fork_python = uv.environment(folder / "fork-env")
    extras = ",".join(sorted(set(EXTRAS) & provided))
    wanted = f"smolagents[{extras}] @ {fork_wheel.resolve().as_uri()}"
    try:
        absent = _resolved(uv, fork_python, wanted, "-c", CONSTRAINTS)
    except CommandError as error:
        if pinned or "No solution found" not in str(error):
            raise
        notes.append(
            f"{CONSTRAINTS.name} does not suit this release, so both sides have the newest "
            f"versions that do: {last_lines(str(error), lines=4)}"
        )
        absent = _resolved(uv, fork_python, wanted)
    packages = _frozen(uv, fork_python)
    listing = folder / "packages.txt"
    listing.write_text("\n".join(packages) + "\n", "utf-8")
    pristine_python = uv.environment(folder / "pristine-env")
    uv.install(pristine_python, "--no-deps", "-r", listing, pristine_wheel.resolve())
    if unequal := sorted({*_frozen(uv, pristine_python)} ^ {*packages}):
        raise SuiteError(f"the two environments differ in more than smolagents: {unequal[:10]}")
    sides = (
        Side("pristine", pristine_python, pristine_wheel, pristine_version),
        Side("fork", fork_python, fork_wheel, fork_version),
    )
    for side in sides:
        try:
            uv("pip", "check", "--python", side.python)
        except CommandError as error:
            text = last_lines(str(error), lines=6)
            notes.append(f"`uv pip check` on the {side.name} side: {text}")
    return Twins(*sides, absent, notes)


def relock() -> int:
    """Write ``constraints.txt``: one version of every package, for every supported Python.

    Upstream's extras are unpinned, so two runs a week apart would test different things. The file
    is used as constraints only: a package that no requirement asks for is not installed by it.

    Returns:
        How many packages it pins.
    """
    lock = upstream_lock.load(ROOT / "upstream.lock")
    optional = [name.replace("+cpu", "") for group in OPTIONAL.values() for name in group]
    asked = SCRATCH / "constraints.in"
    asked.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"smolagents[{','.join(EXTRAS)}]=={lock.version}", *REQUIREMENTS, *optional]
    asked.write_text("\n".join(lines) + "\n", "utf-8")
    options = ("--no-annotate", "--no-header", "--universal", "--python-version", OLDEST_PYTHON)
    resolved = Uv()("pip", "compile", "--quiet", *options, asked)
    pins = [line for line in resolved.splitlines() if "==" in line and not _LEFT_OUT.match(line)]
    CONSTRAINTS.write_text(_HEADER + "\n".join(pins) + "\n", "utf-8")
    return len(pins)
