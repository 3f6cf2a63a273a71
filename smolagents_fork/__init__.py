"""Executors, the bridge, and the hooks that the patch series calls.

Importing the package is cheap. Names are looked up on first use, so ``import smolagents_fork``
imports neither ``docker`` nor the models of ``smolagents``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from smolagents_fork import errors
from smolagents_fork._version import fork_revision, upstream_version
from smolagents_fork.errors import *

if TYPE_CHECKING:
    # What _EXPORTS says, for editors and type checkers; a test compares both.
    from smolagents_fork.control.proposals import ProposedCall, ProposedRun, Refused
    from smolagents_fork.control.terminal_question import ask_before_run
    from smolagents_fork.executors.docker import DockerExecutor, DockerPool
    from smolagents_fork.executors.docker.agent_sandbox import AgentSandbox
    from smolagents_fork.executors.local import LocalPythonExecutor
    from smolagents_fork.executors.process import ProcessExecutor
    from smolagents_fork.executors.wasm import WasmExecutor, WasmPool
    from smolagents_fork.network.hosts.host_policy import AllowedHost
    from smolagents_fork.network.secrets.secret import Secret
    from smolagents_fork.ray_cluster.ray_engine import RayEngine
    from smolagents_fork.results import Display, Execution, ExecutorStats, FileInfo
    from smolagents_fork.sandboxes.docker.docker_engine import DockerEngine
    from smolagents_fork.sandboxes.kubernetes.kubernetes_engine import KubernetesEngine

# Public name -> module that defines it. Looked up on first use (PEP 562).
_EXPORTS: dict[str, str] = {
    "AgentSandbox": "smolagents_fork.executors.docker.agent_sandbox",
    "AllowedHost": "smolagents_fork.network.hosts.host_policy",
    "Display": "smolagents_fork.results",
    "DockerEngine": "smolagents_fork.sandboxes.docker.docker_engine",
    "DockerExecutor": "smolagents_fork.executors.docker",
    "DockerPool": "smolagents_fork.executors.docker",
    "Execution": "smolagents_fork.results",
    "ExecutorStats": "smolagents_fork.results",
    "FileInfo": "smolagents_fork.results",
    "KubernetesEngine": "smolagents_fork.sandboxes.kubernetes.kubernetes_engine",
    "LocalPythonExecutor": "smolagents_fork.executors.local",
    "ProcessExecutor": "smolagents_fork.executors.process",
    "ProposedCall": "smolagents_fork.control.proposals",
    "ProposedRun": "smolagents_fork.control.proposals",
    "RayEngine": "smolagents_fork.ray_cluster.ray_engine",
    "Refused": "smolagents_fork.control.proposals",
    "Secret": "smolagents_fork.network.secrets.secret",
    "WasmExecutor": "smolagents_fork.executors.wasm",
    "WasmPool": "smolagents_fork.executors.wasm",
    "ask_before_run": "smolagents_fork.control.terminal_question",
}

# Written out: type checkers do not evaluate an expression here.
__all__ = [
    "AgentSandbox",
    "AllowedHost",
    "Display",
    "DockerEngine",
    "DockerExecutor",
    "DockerPool",
    "Execution",
    "ExecutorStats",
    "FileInfo",
    "KubernetesEngine",
    "LocalPythonExecutor",
    "ProcessExecutor",
    "ProposedCall",
    "ProposedRun",
    "RayEngine",
    "Refused",
    "Secret",
    "WasmExecutor",
    "WasmPool",
    "ask_before_run",
    "fork_revision",
    "upstream_version",
]
__all__ += errors.__all__


if not TYPE_CHECKING:
    # Type checkers would take every name for Any, the mistyped ones too.
    def __getattr__(name: str) -> Any:
        try:
            module = _EXPORTS[name]
        except KeyError:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
        value = getattr(importlib.import_module(module), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
