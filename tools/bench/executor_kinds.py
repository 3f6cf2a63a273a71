"""One executor of each kind, as the benchmarks of all kinds open them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.executors.local import LocalPythonExecutor
from smolagents_fork.executors.process import ProcessExecutor
from smolagents_fork.executors.wasm import WasmExecutor
from smolagents_fork.sandboxes.docker.engine import connect

from .base_image import base_image

__all__ = ["KINDS", "OpenExecutor", "prepare"]


class OpenExecutor(Protocol):
    """Methods of every executor, upstream's local one included."""

    def __call__(self, code_action: str, /) -> Any:
        """Run code."""

    def send_tools(self, tools: dict[str, Any], /) -> None:
        """Give the code tools."""

    def cleanup(self) -> None:
        """Close it."""


#: Name to constructor.
KINDS: Mapping[str, Callable[[], OpenExecutor]] = {
    "local": lambda: LocalPythonExecutor([]),
    "process": lambda: ProcessExecutor([], None),
    "docker": lambda: DockerExecutor([]),
    "wasm": lambda: WasmExecutor([]),
}


def prepare() -> None:
    """Make what is made once: the image, and the files of Pyodide."""
    client = connect()
    try:
        base_image(client)
    finally:
        client.close()
    DockerExecutor.setup([], progress=lambda _line: None)
    WasmExecutor.setup()
