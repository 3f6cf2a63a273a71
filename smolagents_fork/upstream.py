"""The only module of the fork that imports ``smolagents``.

All layers above import upstream's types from here, so that a release which moves a name breaks only
this file. Layers below (codec, jupyter, sandboxes, interpreter) may not import it.

Names are looked up on first use (PEP 562). The hooks of the patch series run while ``smolagents``
is being imported, and use only names that are defined by then.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

PACKAGE = "smolagents"
_MODULES: dict[str, tuple[str, ...]] = {
    "agent_types": ("AgentAudio", "AgentImage", "AgentText", "AgentType"),
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


def register_subclass(name: str, cls: type) -> None:
    """Let a class of the fork's pass for one derived from an abstract class of upstream's.

    Args:
        name: one of those above, as the module that defines it has it.
        cls: the fork's.
    """
    vars(sys.modules[_OWNERS[name]])[name].register(cls)


def __getattr__(name: str) -> Any:
    try:
        owner = _OWNERS[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    return getattr(importlib.import_module(owner), name)
