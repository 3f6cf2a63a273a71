"""Two virtual environments that hold the same packages, but for smolagents itself.

The fork's side is resolved (its requirements may be more than upstream's), frozen, and the frozen
set is laid down once more for the pristine side. uv does it: about 260 packages in seconds, where
pip takes minutes. It is told pip's own settings, so the user's index and certificates apply.
"""

from __future__ import annotations

import ast
import fcntl
import os
import shutil
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path

from tools.regression.command import last_words, run
from tools.regression.errors import SuiteError
from tools.regression.settings import (
    CONSTRAINTS,
    EXTRAS,
    OPTIONAL,
    REQUIREMENTS,
    SCRATCH,
    UV_REQUIREMENT,
)

__all__ = ["Side", "Twins", "build_twins", "installer_settings", "uv_program", "wheel_metadata"]

# Seconds for one installer call: a cold cache on a slow line loads about 1 GB.
INSTALL_TIMEOUT_SECONDS = 900.0


@dataclass(frozen=True)
class Side:
    """One of the two environments: its name, interpreter, and the smolagents in it."""

    name: str
    python: Path
    wheel: Path
    version: str


@dataclass(frozen=True)
class Twins:
    """Both sides.

    Attributes:
        packages: what both hold, as frozen requirements, without smolagents.
        absent: optional groups that did not resolve, with the installer's words.
        notes: complaints of the installer's own check, as sentences.
    """

    pristine: Side
    fork: Side
    packages: tuple[str, ...]
    absent: dict[str, str]
    notes: tuple[str, ...]


def wheel_metadata(wheel: Path) -> tuple[str, str, set[str]]:
    """Name, version and extras that a wheel's METADATA gives.

    Raises:
        SuiteError: the file is no wheel.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
            headers = HeaderParser().parsestr(archive.read(name).decode("utf-8"))
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise SuiteError(f"{wheel}: not a readable wheel: {error}") from error
    extras = set(headers.get_all("Provides-Extra") or [])
    return headers["Name"], headers["Version"], extras


def installer_settings(
    pip_config: str, pip_index: str, environ: Mapping[str, str]
) -> dict[str, str]:
    """uv's variables that say what pip's settings say; uv's own, where set, win.

    Args:
        pip_config: output of ``pip config list``, in which pip's variables are under ``:env:``.
        pip_index: the index that pip takes without settings, as pip itself says.
        environ: the caller's variables.
    """
    names = {
        "index-url": "index-url",
        "extra-index-url": "extra-index-url",
        "find-links": "UV_FIND_LINKS",
        "cert": "SSL_CERT_FILE",
        "trusted-host": "UV_INSECURE_HOST",
        "no-index": "UV_NO_INDEX",
    }
    levels: dict[bool, dict[str, str]] = {False: {}, True: {}}
    for line in pip_config.splitlines():
        key, _, quoted = line.partition("=")
        level, _, option = key.rpartition(".")
        if option in names and quoted:
            try:
                value = str(ast.literal_eval(quoted))
            except (SyntaxError, ValueError):
                continue
            levels[level.startswith(":env:")][names[option]] = " ".join(value.split())
    found = {**levels[False], **levels[True]}
    index, extra = found.pop("index-url", pip_index), found.pop("extra-index-url", "").split()
    # pip takes the best file of all its indexes. uv would stop at the first that answers and, told
    # to look at all, takes a version from the first that has it: the main index goes first.
    *first, found["UV_DEFAULT_INDEX"] = [index, *extra]
    if extra:
        found["UV_INDEX"] = " ".join(first)
        found["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    if "UV_FIND_LINKS" in found:
        found["UV_FIND_LINKS"] = found["UV_FIND_LINKS"].replace(" ", ",")
    return {name: value for name, value in found.items() if name not in environ}


def uv_program() -> tuple[Path, dict[str, str]]:
    """uv in an environment of its own, installed through pip, and the variables to run it with."""
    folder = SCRATCH / f"{UV_REQUIREMENT.replace('==', '-')}-py{sys.version_info.minor}"
    pip: list[str | Path] = [folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    uv = folder / "bin" / "uv"
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f"{folder.name}.lock"), "a") as lock:
        # Two runs at a time share this one; the lock goes with the process that holds it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not uv.exists():
            run([sys.executable, "-m", "venv", "--clear", folder], timeout_seconds=120)
            run([*pip, "install", "-q", UV_REQUIREMENT], timeout_seconds=INSTALL_TIMEOUT_SECONDS)
    config = run([*pip, "config", "list"], timeout_seconds=60)
    # pip says its default nowhere else; no address of an index is written in this project.
    question = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
    index = run([pip[0], "-c", question], timeout_seconds=60).strip()
    settings = installer_settings(config, index, os.environ)
    # Quiet about the caller's active environment: every call names its interpreter.
    variables = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    return uv, {**variables, **settings, "UV_NO_PROGRESS": "1"}


@dataclass(frozen=True)
class _Installer:
    uv: Path
    env: Mapping[str, str]

    def __call__(self, *arguments: str | Path) -> str:
        return run([self.uv, *arguments], timeout_seconds=INSTALL_TIMEOUT_SECONDS, env=self.env)

    def environment(self, folder: Path, python: str) -> Path:
        shutil.rmtree(folder, ignore_errors=True)
        self("venv", "-q", "--no-project", "--python", python, folder)
        return folder / "bin" / "python"

    def frozen(self, python: Path) -> tuple[str, ...]:
        listed = self("pip", "freeze", "--python", python).splitlines()
        lines = (line.strip() for line in listed if line.strip() and not line.startswith("Using "))
        return tuple(
            sorted(
                line
                for line in lines
                if not line.startswith("smolagents") or line.startswith("smolagents-")
            )
        )

    def complaints(self, side: str, python: Path) -> list[str]:
        try:
            self("pip", "check", "--python", python)
        except SuiteError as error:
            return [f"`uv pip check` on the {side} side: {last_words(str(error), lines=6)}"]
        return []


def _resolved(
    install: _Installer, python: Path, wanted: str, pins: tuple[str | Path, ...]
) -> dict[str, str]:
    """Install everything on one side; returns the groups that could not be had."""
    target = ("--python", python, *pins)
    absent: dict[str, str] = {}
    optional: list[str] = []
    for group, requirements in OPTIONAL.items():
        try:
            install("pip", "install", "-q", "--dry-run", *target, *requirements)
            optional += requirements
        except SuiteError as error:
            absent[group] = last_words(str(error), lines=3)
    install("pip", "install", "-q", *target, wanted, *REQUIREMENTS, *optional)
    return absent


def build_twins(
    fork_wheel: Path,
    pristine_wheel: Path,
    folder: Path,
    *,
    pinned: bool,
    python: str = sys.executable,
) -> Twins:
    """Make both environments anew below a folder.

    Args:
        fork_wheel: the wheel under test.
        pristine_wheel: upstream's.
        folder: where to make them; what is there under their names is removed.
        pinned: refuse versions other than ``constraints.txt``'s. Without it they are tried first,
            and left aside with a note when they do not suit this release.
        python: interpreter to make them with.

    Raises:
        SuiteError: a set of packages cannot be had, or the two sides came out different.
    """
    _, fork_version, provided = wheel_metadata(fork_wheel)
    _, pristine_version, _ = wheel_metadata(pristine_wheel)
    uv, env = uv_program()
    install = _Installer(uv, env)
    fork_python = install.environment(folder / "fork-env", python)
    extras = ",".join(sorted(set(EXTRAS) & provided))
    wanted = f"smolagents[{extras}] @ {fork_wheel.resolve().as_uri()}"
    notes: list[str] = []
    try:
        absent = _resolved(install, fork_python, wanted, ("-c", CONSTRAINTS))
    except SuiteError as error:
        if pinned or "No solution found" not in str(error):
            raise
        notes.append(
            f"{CONSTRAINTS.name} does not suit this release, so both sides have the newest "
            f"versions that do: {last_words(str(error), lines=4)}"
        )
        absent = _resolved(install, fork_python, wanted, ())
    packages = install.frozen(fork_python)
    listing = folder / "packages.txt"
    listing.write_text("\n".join(packages) + "\n", "utf-8")
    pristine_python = install.environment(folder / "pristine-env", python)
    same = ("--python", pristine_python, "--no-deps", "-r", listing)
    install("pip", "install", "-q", *same, pristine_wheel.resolve())
    other = install.frozen(pristine_python)
    if other != packages:
        unequal = sorted(set(other) ^ set(packages))
        raise SuiteError(f"the two environments differ in more than smolagents: {unequal[:10]}")
    notes += install.complaints("fork", fork_python)
    notes += install.complaints("pristine", pristine_python)
    return Twins(
        Side("pristine", pristine_python, pristine_wheel, pristine_version),
        Side("fork", fork_python, fork_wheel, fork_version),
        packages,
        absent,
        tuple(notes),
    )
