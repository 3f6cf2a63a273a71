"""The executor of an example: Docker when an engine answers, the local interpreter otherwise."""

from __future__ import annotations

from typing import Any

from smolagents import LocalPythonExecutor, PythonExecutor

from smolagents_fork import DockerExecutor
from smolagents_fork.errors import ExecutorStartError

__all__ = ["choose_executor"]


def choose_executor() -> tuple[type[PythonExecutor], dict[str, Any], str]:
    """An executor class, its keyword arguments, and which it is and why."""
    try:
        DockerExecutor.setup()
    except ExecutorStartError as error:
        words = f"the local interpreter, since Docker is not to be had: {error}"
        return LocalPythonExecutor, {}, words
    return DockerExecutor, {}, "Docker, since an engine answers: a container without network"
