"""One virtual environment, in which one smolagents follows the other.

It has the packages of both: what the fork requires, which may be more than upstream does.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sys
import zipfile
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path
from typing import NamedTuple

from buildsys import lock as upstream_lock
from tools.errors import CommandError, SuiteError, last_lines
from tools.paths import ROOT
from tools.regression.settings import CONSTRAINTS, EXTRAS, OPTIONAL, REQUIREMENTS
from tools.uv import Uv, compile_requirements

__all__ = ["Environment", "Side", "build_environment", "relock", "wheel_metadata"]

OLDEST_PYTHON = "3.10"
#: File in an environment with what it was made from and what it had afterwards.
_CONTENTS = "contents.json"

_HEADER = """\
# Versions for both sides of the regression suite. Written by `python -m tools.regression --relock`.
"""

# torch has a version of its own in settings.OPTIONAL; the rest belongs to its CUDA build.
_LEFT_OUT = re.compile(r"(smolagents|torch|triton|nvidia-[\w-]+|cuda-[\w-]+)==")


class Side(NamedTuple):
    """One of the two smolagents: its name, its wheel and its version."""

    name: str
    wheel: Path
    version: str


class Environment(NamedTuple):
    """The environment.

    Attributes:
        uv: what has made it.
        python: its interpreter.
        packages: what it has beside smolagents, as requirements.
        absent: optional groups that did not resolve, with the installer's words.
        notes: complaints of the installer's own check, as sentences.
    """

    uv: Uv
    python: Path
    packages: list[str]
    absent: dict[str, str]
    notes: list[str]

    def use(self, side: Side) -> None:
        """Put a side's smolagents in the place of the one that is there.

        Raises:
            CommandError: the wheel cannot be installed.
        """
        wheel = side.wheel.resolve()
        self.uv.install(self.python, "--no-deps", "--reinstall-package", "smolagents", wheel)


def wheel_metadata(wheel: Path) -> tuple[str, str, set[str]]:
    """Read name, version and extras from a wheel's METADATA.

    Raises:
        SuiteError: the file is not a wheel.
    """
    headers = _read_headers(wheel)
    return headers["Name"], headers["Version"], set(headers.get_all("Provides-Extra") or [])


def _read_headers(wheel: Path) -> Message:
    try:
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
            return HeaderParser().parsestr(archive.read(name).decode("utf-8"))
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise SuiteError(f"{wheel}: not a readable wheel: {error}") from error


def _hash_requirements(*sides: Side) -> str:
    """Return a digest of all that decides which packages an environment gets."""
    required = [_read_headers(side.wheel).get_all("Requires-Dist") or [] for side in sides]
    constraints = CONSTRAINTS.read_text("utf-8")
    parts = [sys.executable, sys.version, constraints, EXTRAS, REQUIREMENTS, OPTIONAL, required]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _list_packages(uv: Uv, python: Path) -> list[str]:
    frozen = uv("pip", "freeze", "--python", python).splitlines()
    return sorted(line for line in frozen if not re.match(r"smolagents(?!-)", line))


def _find_environment(uv: Uv, folder: Path, made_from: str) -> Environment | None:
    """Return an earlier run's environment if it has what it had when it was made."""
    python = folder / "bin" / "python"
    with contextlib.suppress(OSError, ValueError, KeyError, CommandError):
        contents = json.loads((folder / _CONTENTS).read_text("utf-8"))
        packages = contents["packages"]
        if contents["made from"] == made_from and _list_packages(uv, python) == packages:
            return Environment(uv, python, packages, {}, contents["notes"])
    return None


def _resolve(uv: Uv, python: Path, wanted: str, *pins: str | Path) -> dict[str, str]:
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


def build_environment(fork: Side, pristine: Side, folder: Path, *, pinned: bool) -> Environment:
    """Make the environment below a folder, or take that of an earlier run.

    Making it takes half a minute of processor time, and compiling its modules as long again.

    Args:
        fork: the side under test.
        pristine: upstream's.
        folder: an environment in it that was made from other requirements is removed.
        pinned: refuse versions other than ``constraints.txt``'s. Without it they are tried first,
            and left aside with a note when they do not suit this release. The environment is new.

    Raises:
        CommandError: a set of packages cannot be had.
    """
    _, _, provided = wheel_metadata(fork.wheel)
    uv, notes = Uv(), list[str]()
    made_from = _hash_requirements(fork, pristine)
    if pinned and (earlier := _find_environment(uv, folder / "env", made_from)) is not None:
        return earlier
    python = uv.environment(folder / "env")
    extras = ",".join(sorted(set(EXTRAS) & provided))
    wanted = f"smolagents[{extras}] @ {fork.wheel.resolve().as_uri()}"
    try:
        absent = _resolve(uv, python, wanted, "-c", CONSTRAINTS)
    except CommandError as error:
        if pinned or "No solution found" not in str(error):
            raise
        notes.append(
            f"{CONSTRAINTS.name} does not suit this release, so both sides have the newest "
            f"versions that do: {last_lines(str(error), lines=4)}"
        )
        absent = _resolve(uv, python, wanted)
    environment = Environment(uv, python, _list_packages(uv, python), absent, notes)
    for side in (fork, pristine):
        environment.use(side)
        try:
            uv("pip", "check", "--python", python)
        except CommandError as error:
            reason = last_lines(str(error), lines=6)
            notes.append(f"`uv pip check` on the {side.name} side: {reason}")
    if not absent:  # an index that lacked a group may have it the next time
        contents = {"made from": made_from, "packages": environment.packages, "notes": notes}
        (folder / "env" / _CONTENTS).write_text(json.dumps(contents), "utf-8")
    return environment


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
    resolved = compile_requirements(asked, OLDEST_PYTHON)
    pins = [line for line in resolved.splitlines() if "==" in line and not _LEFT_OUT.match(line)]
    CONSTRAINTS.write_text(_HEADER + "\n".join(pins) + "\n", "utf-8")
    return len(pins)
