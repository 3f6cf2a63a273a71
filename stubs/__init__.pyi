# Types of `smolagents` for type checkers, installed as `smolagents-stubs`.
#
# Upstream's annotations are not those of its behaviour (`executor: PythonExecutor = None`), so that
# a `py.typed` beside them would make right programs wrong. What is not declared here stays as it is
# without this file: mypy takes it for Any, Pyright reads upstream's source.

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from smolagents_fork import DockerExecutor as DockerExecutor
from smolagents_fork import LocalPythonExecutor as LocalPythonExecutor
from smolagents_fork.executors.hosted import BlaxelExecutor as BlaxelExecutor
from smolagents_fork.executors.hosted import E2BExecutor as E2BExecutor
from smolagents_fork.executors.hosted import ModalExecutor as ModalExecutor

from . import agents as _agents
from .agent_types import *
from .agents import *
from .cli import *
from .default_tools import *
from .gradio_ui import *
from .local_python_executor import CodeOutput as CodeOutput
from .local_python_executor import PythonExecutor as PythonExecutor
from .mcp_client import *
from .memory import *
from .models import *
from .monitoring import *
from .remote_executors import RemotePythonExecutor as RemotePythonExecutor
from .serialization import *
from .tools import *
from .utils import *

__version__: str

class _Executor(Protocol):
    def __call__(self, code_action: str, /) -> Any: ...
    def send_tools(self, tools: Any, /) -> Any: ...
    def send_variables(self, variables: Any, /) -> Any: ...

class CodeAgent(_agents.CodeAgent):
    def __init__(
        self,
        tools: Sequence[Any],
        model: Any,
        prompt_templates: Any = None,
        additional_authorized_imports: Sequence[str] | None = None,
        planning_interval: int | None = None,
        executor: _Executor | None = None,
        executor_type: str | None = None,
        executor_kwargs: Mapping[str, Any] | None = None,
        max_print_outputs_length: int | None = None,
        stream_outputs: bool = False,
        use_structured_outputs_internally: bool = False,
        code_block_tags: str | tuple[str, str] | None = None,
        executor_class: type[_Executor] | None = None,
        **kwargs: Any,
    ) -> None: ...

def __getattr__(name: str) -> Any: ...
