"""The only module of the fork that imports ``smolagents``.

Everything above this layer takes upstream's types from here, so that a release which moves a name
breaks in one file. Nothing below this layer (codec, jupyter, containers, interpreter, wasm) may
import it.
"""

from __future__ import annotations

from smolagents.local_python_executor import (
    BASE_BUILTIN_MODULES,
    CodeOutput,
    PythonExecutor,
)
from smolagents.monitoring import AgentLogger, LogLevel
from smolagents.remote_executors import RemotePythonExecutor
from smolagents.tools import Tool
from smolagents.utils import AgentError, AgentExecutionError

__all__ = [
    "BASE_BUILTIN_MODULES",
    "AgentError",
    "AgentExecutionError",
    "AgentLogger",
    "CodeOutput",
    "LogLevel",
    "PythonExecutor",
    "RemotePythonExecutor",
    "Tool",
]
