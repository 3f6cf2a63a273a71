"""An executor as a package of its own would bring it: local, with a count of its calls."""

from __future__ import annotations

from typing import Any

from smolagents import LocalPythonExecutor


class ExampleExecutor(LocalPythonExecutor):
    """Local executor that counts its calls.

    The agent gives it the imports and, as a local executor, its limits."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.calls = 0

    def __call__(self, code_action: str) -> Any:
        """Run one block."""
        self.calls += 1
        return super().__call__(code_action)
