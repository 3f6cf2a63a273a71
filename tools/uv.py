"""Run uv as pip is configured: the user's index, certificates and links apply.

uv installs 260 packages in seconds, where pip takes minutes.

``python -m tools.uv install`` installs ``requirements-dev.txt`` into the environment that runs it.
``python -m tools.uv lock`` writes that file anew from ``requirements-dev.in`` and what the fork
requires: one version of every package for every supported Python. The file names no index.
"""

from __future__ import annotations

import ast
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from buildsys import lock as upstream_lock
from buildsys.metadata import project_fields
from tools.command import clean_environment, run
from tools.errors import CommandError, ToolError
from tools.paths import ROOT

__all__ = ["Uv", "compile_requirements", "installer_settings", "main"]

# Seconds for one call: a cold cache on a slow line loads about 1 GB.
UV_TIMEOUT_SECONDS = 900.0

#: Pinned versions of what the maintainers' commands and the tests need.
DEVELOPMENT_LOCK = ROOT / "requirements-dev.txt"
_LOCK_HEADER = """\
# Written by `make requirements` from requirements-dev.in and what the fork requires.
"""
_COMPILE = (
    *("pip", "compile", "--quiet", "--universal", "--no-header", "--no-annotate"),
    *("--no-emit-index-url", "--no-emit-find-links"),
)

_NAMES = {
    "index-url": "index-url",
    "extra-index-url": "extra-index-url",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
    "trusted-host": "UV_INSECURE_HOST",
    "no-index": "UV_NO_INDEX",
}


def installer_settings(
    pip_config: str, environ: Mapping[str, str], main_index: str = ""
) -> dict[str, str]:
    """Translate pip's settings into uv's variables; uv's own, where set, win.

    Args:
        pip_config: output of ``pip config list``, in which pip's variables are under ``:env:``.
        environ: the caller's variables.
        main_index: goes before extra indexes where pip's settings name no main one.
    """
    levels: dict[bool, dict[str, str]] = {False: {}, True: {}}
    for line in pip_config.splitlines():
        key, _, quoted = line.partition("=")
        level, _, option = key.rpartition(".")
        if option in _NAMES and quoted:
            try:
                value = str(ast.literal_eval(quoted))
            except (SyntaxError, ValueError):
                continue
            levels[level.startswith(":env:")][_NAMES[option]] = " ".join(value.split())
    config = {**levels[False], **levels[True]}
    index, extra = config.pop("index-url", "").split(), config.pop("extra-index-url", "").split()
    # pip takes the best file of all its indexes. uv would stop at the first that answers and, told
    # to look at all, takes a version from the first that has it: the main index goes first. Without
    # a setting that is uv's own default, which it asks last.
    if extra and main_index:
        index = index or [main_index]
    if index:
        *extra, config["UV_DEFAULT_INDEX"] = [*index, *extra]
    if extra:
        config["UV_INDEX"] = " ".join(extra)
        config["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    if "UV_FIND_LINKS" in config:
        config["UV_FIND_LINKS"] = config["UV_FIND_LINKS"].replace(" ", ",")
    return {name: value for name, value in config.items() if name not in environ}


class Uv:
    """uv with pip's settings, which are asked of pip once.

    Args:
        main_index: see :func:`installer_settings`.
    """

    def __init__(self, main_index: str = "") -> None:
        config = run([sys.executable, "-m", "pip", "config", "list"], timeout_seconds=60)
        settings = installer_settings(config, os.environ, main_index)
        self._env = {**clean_environment(), **settings, "UV_NO_PROGRESS": "1", "UV_NO_CONFIG": "1"}

    def __call__(self, *arguments: str | Path, log: Path | None = None) -> str:
        """Run one command and return its output.

        Raises:
            CommandError: uv failed; carries its last words.
        """
        command: list[str | Path] = [sys.executable, "-m", "uv", *arguments]
        return run(command, timeout_seconds=UV_TIMEOUT_SECONDS, env=self._env, log=log)

    def wheel(self, project: Path, folder: Path, log: Path | None = None) -> Path:
        """Build the project's wheel, alone in a folder, and return its path.

        Raises:
            CommandError: it cannot be built.
        """
        shutil.rmtree(folder, ignore_errors=True)
        options = ("--wheel", "--python", sys.executable, "--out-dir", folder)
        self("build", *options, project, log=log)
        wheels = sorted(folder.glob("smolagents-*.whl"))
        if len(wheels) != 1:
            raise ToolError(f"expected one wheel of smolagents in {folder}, got {wheels}")
        return wheels[0]

    def environment(self, folder: Path, python: str = sys.executable) -> Path:
        """Make an empty virtual environment anew and return its Python."""
        shutil.rmtree(folder, ignore_errors=True)
        self("venv", "--quiet", "--no-project", "--python", python, folder)
        return folder / "bin" / "python"

    def install(self, python: Path, *arguments: str | Path, log: Path | None = None) -> None:
        """Install into an environment.

        Raises:
            CommandError: something cannot be had.
        """
        self("pip", "install", "--quiet", "--python", python, *arguments, log=log)


def _default_index() -> str:
    """Return the index that uv asks where none is set."""
    emit = ("pip", "compile", "--quiet", "--no-header", "--emit-index-url", os.devnull)
    command = [sys.executable, "-m", "uv", *emit]
    return run(command, timeout_seconds=60).partition("--index-url ")[2].strip()


def compile_requirements(requirements: Iterable[str], python: str, *options: str) -> str:
    """Pin requirements and all that they require, for every system.

    The main index goes first: an extra one may have a version for this system and Python only.

    Args:
        requirements: lines of a requirements file.
        python: oldest Python that the pins are for, such as ``3.10``.
        options: more of ``uv pip compile``.

    Returns:
        Lines of a requirements file, without a header, comments and addresses of indexes.

    Raises:
        CommandError: the requirements cannot be resolved.
    """
    with tempfile.TemporaryDirectory() as scratch:
        wanted = Path(scratch, "requirements.in")
        wanted.write_text("".join(f"{line}\n" for line in requirements), "utf-8")
        return Uv(_default_index())(*_COMPILE, "--python-version", python, *options, wanted)


def install() -> None:
    """Install the development requirements into this environment.

    Raises:
        CommandError: a package cannot be installed.
    """
    Uv().install(Path(sys.executable), "-r", DEVELOPMENT_LOCK)


def lock() -> None:
    """Write the development requirements anew, with the newest versions.

    Raises:
        CommandError: the requirements cannot be resolved.
    """
    upstream = upstream_lock.load(ROOT / "upstream.lock")
    asked = DEVELOPMENT_LOCK.with_suffix(".in").read_text("utf-8").splitlines()
    required = project_fields(ROOT)["dependencies"]
    oldest = upstream.requires_python.removeprefix(">=")
    pins = compile_requirements([*asked, *required], oldest)
    DEVELOPMENT_LOCK.write_text(_LOCK_HEADER + pins, "utf-8")


def main(arguments: Sequence[str]) -> int:
    """Install or lock the development requirements; return the exit status.

    Args:
        arguments: ``install`` or ``lock``.
    """
    (name,) = arguments
    try:
        {"install": install, "lock": lock}[name]()
    except CommandError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
