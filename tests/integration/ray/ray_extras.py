"""Packages that a test's own processes have and the suite does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

__all__ = ["have_packages"]

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
