"""Packages that a test's own processes have and the suite does not."""

from __future__ import annotations

import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

__all__ = ["have_packages", "python_with_ray_alone"]

_SECONDS = 400.0


def have_packages(requirements: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install packages into a folder that processes of the test import from; skip if pip cannot.

    Args:
        requirements: as pip takes them.
        folder: is made.
        monkeypatch: takes the environment back.
    """
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder)]
    done = subprocess.run(
        [*command, *requirements], capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    if done.returncode:
        pytest.skip(f"pip cannot install {', '.join(requirements)}: {done.stderr[-300:]}")
    monkeypatch.setenv("PYTHONPATH", str(folder))


def python_with_ray_alone(folder: Path) -> str:
    """Make an environment with Ray and what it requires, and return its Python.

    Args:
        folder: is made.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / version / "site-packages"
    names, known = ["ray"], set[str]()
    while names:
        known.add(name := names.pop())
        for one in map(Requirement, metadata.requires(name) or ()):
            if one.name not in known and (one.marker is None or one.marker.evaluate({"extra": ""})):
                names.append(one.name)
    for name in known:
        for file in metadata.files(name) or ():
            # A package's folder once, and single modules.
            top = Path(str(file.locate())).parents[len(file.parts) - 1] / file.parts[0]
            if file.parts[0] != ".." and not (packages / top.name).exists():
                (packages / top.name).symlink_to(top)
    return str(folder / "bin" / "python")
