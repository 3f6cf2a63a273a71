"""Two virtual environments with the same packages, but for smolagents itself.

A third one has the packages of both: what the fork requires, which may be more than upstream does.
The two have nothing but their smolagents, and read the rest from the shared one. So it is installed
once, and compiled by the side that imports it first.
"""

from __future__ import annotations

import re
import zipfile
from email.parser import HeaderParser
from pathlib import Path
from typing import NamedTuple

from buildsys import lock as upstream_lock
from tools.errors import CommandError, SuiteError, last_lines
from tools.regression.settings import CONSTRAINTS, EXTRAS, OPTIONAL, REQUIREMENTS, ROOT
from tools.uv import Uv, compile_requirements

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
        shared: interpreter of the environment that has the packages of both sides.
        absent: optional groups that did not resolve, with the installer's words.
        notes: complaints of the installer's own check, as sentences.
    """

    pristine: Side
    fork: Side
    shared: Path
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


def _site(python: Path) -> Path:
    """Return the folder of an environment's packages."""
    (site,) = (python.parent.parent / "lib").glob("python*/site-packages")
    return site


def _packages(uv: Uv, python: Path) -> list[str]:
    """List an environment's own packages, as requirements."""
    return sorted(uv("pip", "freeze", "--python", python).splitlines())


def _resolved(uv: Uv, python: Path, wanted: str, *pins: str | Path) -> dict[str, str]:
    """Install everything in one environment; returns the groups that could not be had."""
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
    """Make both environments, and the one that they share, anew below a folder.

    Args:
        fork_wheel: the wheel under test.
        pristine_wheel: upstream's.
        folder: environments of the same names in it are removed.
        pinned: refuse versions other than ``constraints.txt``'s. Without it they are tried first,
            and left aside with a note when they do not suit this release.

    Raises:
        SuiteError: an environment has a package that it must not have.
        CommandError: a set of packages cannot be had.
    """
    _, _, provided = wheel_metadata(fork_wheel)
    uv, notes = Uv(), list[str]()
    shared = uv.environment(folder / "shared-env")
    extras = ",".join(sorted(set(EXTRAS) & provided))
    wanted = f"smolagents[{extras}] @ {fork_wheel.resolve().as_uri()}"
    try:
        absent = _resolved(uv, shared, wanted, "-c", CONSTRAINTS)
    except CommandError as error:
        if pinned or "No solution found" not in str(error):
            raise
        notes.append(
            f"{CONSTRAINTS.name} does not suit this release, so both sides have the newest "
            f"versions that do: {last_lines(str(error), lines=4)}"
        )
        absent = _resolved(uv, shared, wanted)
    notes += _complaints(uv, shared, "fork")
    uv.install(shared, "--no-deps", "--reinstall-package", "smolagents", pristine_wheel.resolve())
    notes += _complaints(uv, shared, "pristine")
    uv("pip", "uninstall", "--quiet", "--python", shared, "smolagents")
    packages = _packages(uv, shared)
    (folder / "packages.txt").write_text("\n".join(packages) + "\n", "utf-8")
    if left := [line for line in packages if re.match(r"smolagents(?!-)", line)]:
        raise SuiteError(f"both sides would see the shared environment's {left[0]}")
    pristine = _side(uv, "pristine", pristine_wheel, folder, shared)
    return Twins(pristine, _side(uv, "fork", fork_wheel, folder, shared), shared, absent, notes)


def _complaints(uv: Uv, python: Path, name: str) -> list[str]:
    """Return a side's complaints of the installer's own check, as sentences."""
    try:
        uv("pip", "check", "--python", python)
    except CommandError as error:
        return [f"`uv pip check` on the {name} side: {last_lines(str(error), lines=6)}"]
    return []


def _side(uv: Uv, name: str, wheel: Path, folder: Path, shared: Path) -> Side:
    """Make the environment that has a wheel, and reads the rest from the shared one."""
    python = uv.environment(folder / f"{name}-env")
    uv.install(python, "--no-deps", wheel.resolve())
    if len(found := _packages(uv, python)) != 1:
        raise SuiteError(f"the {name} side has more than smolagents: {found[:10]}")
    # Behind the side's own packages, and with the ``.pth`` files of the shared ones.
    line = f"import site; site.addsitedir({str(_site(shared))!r})\n"
    (_site(python) / "shared.pth").write_text(line, "utf-8")
    return Side(name, python, wheel, wheel_metadata(wheel)[1])


def relock() -> int:
    """Write ``constraints.txt``: one version of every package, for every supported Python.

    Upstream's extras are unpinned, so two runs a week apart would test different things. The file
    is used as constraints only: a package that no requirement asks for is not installed by it.

    Returns:
        How many packages it pins.
    """
    lock = upstream_lock.load(ROOT / "upstream.lock")
    optional = [name.replace("+cpu", "") for group in OPTIONAL.values() for name in group]
    asked = [f"smolagents[{','.join(EXTRAS)}]=={lock.version}", *REQUIREMENTS, *optional]
    resolved = compile_requirements(Uv(), asked, OLDEST_PYTHON)
    pins = [line for line in resolved.splitlines() if "==" in line and not _LEFT_OUT.match(line)]
    CONSTRAINTS.write_text(_HEADER + "\n".join(pins) + "\n", "utf-8")
    return len(pins)
