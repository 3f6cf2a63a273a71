"""Run uv as pip is configured: the user's index, certificates and links apply.

uv installs 260 packages in seconds, where pip takes minutes. ``python -m tools.uv REQUIREMENTS``
installs a file of requirements into the environment that runs it.
"""

from __future__ import annotations

import ast
import functools
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.command import clean_environment, run
from tools.errors import CommandError, ToolError

__all__ = ["Uv", "installer_settings", "main"]

# Seconds for one call: a cold cache on a slow line loads about 1 GB.
UV_TIMEOUT_SECONDS = 900.0

_NAMES = {
    "index-url": "index-url",
    "extra-index-url": "extra-index-url",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
    "trusted-host": "UV_INSECURE_HOST",
    "no-index": "UV_NO_INDEX",
}


def installer_settings(
    pip_config: str, pip_index: str, environ: Mapping[str, str]
) -> dict[str, str]:
    """Translate pip's settings into uv's variables; uv's own, where set, win.

    Args:
        pip_config: output of ``pip config list``, in which pip's variables are under ``:env:``.
        pip_index: the index that pip takes without settings, as pip itself says.
        environ: the caller's variables.
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


@functools.cache
def _default_index() -> str:
    # pip says its default nowhere else; no address of an index is written in this project.
    question = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
    return run([sys.executable, "-c", question], timeout_seconds=60).strip()


class Uv:
    """uv with pip's settings, which are asked of pip once."""

    def __init__(self) -> None:
        config = run([sys.executable, "-m", "pip", "config", "list"], timeout_seconds=60)
        settings = installer_settings(config, _default_index(), os.environ)
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


def main(arguments: Sequence[str]) -> int:
    """Install a file of requirements into this environment; return the exit status.

    Args:
        arguments: the file's path.
    """
    (requirements,) = arguments
    began = time.monotonic()
    try:
        Uv().install(Path(sys.executable), "-r", requirements)
    except CommandError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"[{time.monotonic() - began:5.1f} s] installed")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
