"""The only module of the fork that imports ``smolagents``.

All layers above import upstream's types from here, so that a release which moves a name breaks only
this file. Layers below (codec, jupyter, sandboxes, interpreter) may not import it.

Names are looked up on first use (PEP 562). The hooks of the patch series run while ``smolagents``
is being imported, and use only names that are defined by then.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smolagents.agent_types import AgentAudio, AgentImage, AgentText
    from smolagents.agents import AGENT_REGISTRY, CodeAgent, MultiStepAgent
    from smolagents.local_python_executor import (
        ALLOWED_DUNDER_METHODS,
        BASE_BUILTIN_MODULES,
        BASE_PYTHON_TOOLS,
        MAX_WHILE_ITERATIONS,
        CodeOutput,
        ExecutionTimeoutError,
        InterpreterError,
        LocalPythonExecutor,
        PythonExecutor,
    )
    from smolagents.memory import ToolCall
    from smolagents.models import (
        MODEL_REGISTRY,
        ChatMessage,
        ChatMessageStreamDelta,
        ChatMessageToolCall,
        ChatMessageToolCallFunction,
        ChatMessageToolCallStreamDelta,
        MessageRole,
        Model,
    )
    from smolagents.monitoring import AgentLogger, LogLevel, TokenUsage
    from smolagents.remote_executors import (
        BlaxelExecutor,
        DockerExecutor,
        E2BExecutor,
        ModalExecutor,
        RemotePythonExecutor,
    )
    from smolagents.tools import PipelineTool, Tool, get_tools_definition_code
    from smolagents.utils import AgentError, AgentExecutionError

__all__ = [
    "AGENT_REGISTRY",
    "ALLOWED_DUNDER_METHODS",
    "BASE_BUILTIN_MODULES",
    "BASE_PYTHON_TOOLS",
    "MAX_WHILE_ITERATIONS",
    "MODEL_REGISTRY",
    "PACKAGE",
    "AgentAudio",
    "AgentError",
    "AgentExecutionError",
    "AgentImage",
    "AgentLogger",
    "AgentText",
    "BlaxelExecutor",
    "ChatMessage",
    "ChatMessageStreamDelta",
    "ChatMessageToolCall",
    "ChatMessageToolCallFunction",
    "ChatMessageToolCallStreamDelta",
    "CodeAgent",
    "CodeOutput",
    "DockerExecutor",
    "E2BExecutor",
    "ExecutionTimeoutError",
    "InterpreterError",
    "LocalPythonExecutor",
    "LogLevel",
    "MessageRole",
    "ModalExecutor",
    "Model",
    "MultiStepAgent",
    "PipelineTool",
    "PythonExecutor",
    "RemotePythonExecutor",
    "TokenUsage",
    "Tool",
    "ToolCall",
    "get_tools_definition_code",
]

PACKAGE = "smolagents"
_MODULES: dict[str, tuple[str, ...]] = {
    "agent_types": ("AgentAudio", "AgentImage", "AgentText"),
    "agents": ("AGENT_REGISTRY", "CodeAgent", "MultiStepAgent"),
    "local_python_executor": (
        "ALLOWED_DUNDER_METHODS",
        "BASE_BUILTIN_MODULES",
        "BASE_PYTHON_TOOLS",
        "MAX_WHILE_ITERATIONS",
        "CodeOutput",
        "ExecutionTimeoutError",
        "InterpreterError",
        "LocalPythonExecutor",
        "PythonExecutor",
    ),
    "memory": ("ToolCall",),
    "models": (
        "MODEL_REGISTRY",
        "ChatMessage",
        "ChatMessageStreamDelta",
        "ChatMessageToolCall",
        "ChatMessageToolCallFunction",
        "ChatMessageToolCallStreamDelta",
        "MessageRole",
        "Model",
    ),
    "monitoring": ("AgentLogger", "LogLevel", "TokenUsage"),
    "remote_executors": (
        "BlaxelExecutor",
        "DockerExecutor",
        "E2BExecutor",
        "ModalExecutor",
        "RemotePythonExecutor",
    ),
    "tools": ("PipelineTool", "Tool", "get_tools_definition_code"),
    "utils": ("AgentError", "AgentExecutionError"),
}
_OWNERS = {name: f"{PACKAGE}.{module}" for module, names in _MODULES.items() for name in names}


def load() -> None:
    """Import ``smolagents``, whose patches may in turn import the fork."""
    importlib.import_module(PACKAGE)


if not TYPE_CHECKING:
    # Type checkers would take every name for Any, the mistyped ones too.
    def __getattr__(name: str) -> Any:
        try:
            owner = _OWNERS[name]
        except KeyError:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
        return getattr(importlib.import_module(owner), name)
