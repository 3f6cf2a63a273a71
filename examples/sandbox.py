"""Executor of an example: Docker if an engine responds, otherwise the local interpreter."""

from __future__ import annotations

from typing import Any

from smolagents import LocalPythonExecutor, PythonExecutor

from smolagents_fork import DockerExecutor
from smolagents_fork.errors import ExecutorStartError

__all__ = ["choose_executor"]


def choose_executor() -> tuple[type[PythonExecutor], dict[str, Any], str]:
    """Return an executor class, its keyword arguments, and a description with the reason."""
    try:
        DockerExecutor.setup()
    except ExecutorStartError as error:
        words = f"the local interpreter, since Docker is not available: {error}"
        return LocalPythonExecutor, {}, words
    return DockerExecutor, {}, "Docker, since an engine responds: a container without network"
