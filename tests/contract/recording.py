"""An executor that records what is done to it."""

from __future__ import annotations

from typing import Any

from smolagents.local_python_executor import CodeOutput, PythonExecutor


class RecordingExecutor(PythonExecutor):
    """A third-party executor that records its construction and every call."""

    made: list[RecordingExecutor] = []  # noqa: RUF012 - shared on purpose, replaced for each test by a fixture

    def __init__(self, additional_authorized_imports: Any, logger: Any, **kwargs: Any) -> None:
        self.arguments = (additional_authorized_imports, logger, kwargs)
        self.cleanups = 0
        RecordingExecutor.made.append(self)

    def send_tools(self, tools: dict[str, Any]) -> None:
        self.tools = tools

    def send_variables(self, variables: dict[str, Any]) -> None:
        self.variables = variables

    def __call__(self, code_action: str) -> CodeOutput:
        return CodeOutput(output=code_action, logs="", is_final_answer=True)

    def cleanup(self) -> None:
        self.cleanups += 1
