"""Executor of an example: the one that EXECUTOR names, else the first of three that works."""

from __future__ import annotations

import os
from typing import Any

from smolagents import LocalPythonExecutor, PythonExecutor

from smolagents_fork import DockerExecutor, ProcessExecutor, WasmExecutor
from smolagents_fork.errors import ConfigurationError, ExecutorStartError

__all__ = ["choose_executor"]

NAMED: dict[str, tuple[type[PythonExecutor], str]] = {
    "docker": (DockerExecutor, "a container without network"),
    "local": (LocalPythonExecutor, "this process, under an import list and limits"),
    "process": (ProcessExecutor, "a child process that the kernel confines"),
    "wasm": (WasmExecutor, "Python in WebAssembly, in a Deno without permissions"),
}


def choose_executor() -> tuple[type[PythonExecutor], dict[str, Any], str]:
    """Return an executor class, its keyword arguments, and a description with the reason."""
    name = os.environ.get("EXECUTOR", "")
    if name:
        if name not in NAMED:
            raise ConfigurationError(f"EXECUTOR={name!r}: one of {', '.join(NAMED)}")
        named, words = NAMED[name]
        return named, {}, words
    try:
        DockerExecutor.setup()
    except ExecutorStartError as error:
        return _without_docker(error)
    return DockerExecutor, {}, "Docker, since an engine responds: a container without network"


def _without_docker(reason: ExecutorStartError) -> tuple[type[PythonExecutor], dict[str, Any], str]:
    try:
        ProcessExecutor().cleanup()
    except ExecutorStartError as error:
        words = f"the local interpreter, since Docker is not available: {reason}; and {error}"
        return LocalPythonExecutor, {}, words
    words = f"a process that the kernel confines, since Docker is not available: {reason}"
    return ProcessExecutor, {}, words
