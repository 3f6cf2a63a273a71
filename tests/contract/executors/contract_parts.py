"""Tools and programs of the suite."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from case_harness import read_cases
from smolagents import Tool, tool

PREFIX = "from the module: "


def read_programs(name: str) -> dict[str, str]:
    """Return the programs of a file of ``programs/`` by name."""
    path = Path(__file__).parent / "programs" / f"{name}.py"
    return {case.name: case.code for case in read_cases(path)}


class Counter(Tool):
    """A tool with a required argument, and state that changes between calls."""

    name = "counter"
    description = "Counts on."
    inputs: ClassVar[dict[str, Any]] = {
        "step": {"type": "integer", "description": "How far to count."}
    }
    output_type = "integer"

    def __init__(self, start: int) -> None:
        super().__init__()
        self.total = start

    def forward(self, step: int) -> int:
        self.total += step
        return self.total


@tool
def prefixed(text: str, times: int = 1) -> str:
    """Puts a prefix before a text.

    Args:
        text: what to put it before.
        times: how often to say the text.
    """
    return PREFIX + text * times


class StoreError(LookupError):
    """An exception class of the host."""
