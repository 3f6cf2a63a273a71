"""One package in one environment: install it beside smolagents, and run its program."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tools.command import clean_environment, run
from tools.errors import CommandError, last_lines
from tools.uv import Uv

from .packages import USES, Package

__all__ = ["Outcome", "Side", "use"]

# Seconds that one program may take: smolagents-capsule compiles its WebAssembly first.
USE_TIMEOUT_SECONDS = 300.0

_VERSION = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"


class Side(NamedTuple):
    """One of the two smolagents.

    Attributes:
        name: "fork" or "upstream".
        requirement: what the installer is asked for: a wheel, or a pinned release.
        version: what the environment must have afterwards.
    """

    name: str
    requirement: str
    version: str


class Outcome(NamedTuple):
    """Result of one package on one side.

    Attributes:
        works: whether its program ended as it should.
        version: of the package; empty if it could not be installed.
        message: the program's last line, or the last line of the failure.
    """

    works: bool
    version: str
    message: str


def use(package: Package, side: Side, folder: Path, uv: Uv) -> Outcome:
    """Install a package beside one smolagents, and run its program.

    The program's temporary files are removed with its folder.

    Args:
        package: the package.
        side: the smolagents.
        folder: for environments and logs; an environment of the same name in it is removed.
        uv: the installer.
    """
    name = f"{package.name}-{side.name}"
    log = folder / f"{name}.log"
    version = ""

    def in_environment(*arguments: str | Path, keep: Path | None = None) -> str:
        path = f"{python.parent}:{clean_environment().get('PATH', '')}"
        with TemporaryDirectory() as scratch:
            return run(
                [python, *arguments],
                timeout_seconds=USE_TIMEOUT_SECONDS,
                cwd=folder,
                env={**clean_environment(), "PATH": path, "TERM": "dumb", "TMPDIR": scratch},
                log=keep,
            )

    try:
        python = uv.environment(folder / name)
        uv.install(python, side.requirement, *(package.requirements or (package.name,)))
        version = in_environment("-c", _VERSION, package.name).strip()
        installed = in_environment("-c", _VERSION, "smolagents").strip()
        if installed != side.version:
            return Outcome(False, version, f"smolagents {side.version} became {installed}")
        printed = in_environment(USES / f"{package.use}.py", keep=log)
    except CommandError as error:
        return Outcome(False, version, _last_line(error.output or error.what))
    return Outcome(True, version, _last_line(printed))


def _last_line(text: str) -> str:
    return " ".join(last_lines(text, lines=1).split())[:300]
