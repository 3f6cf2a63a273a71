"""Tool with which code notifies a test that it runs."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

from smolagents import Tool


class Begin(Tool):
    """Tool that notifies the test."""

    name = "begin"
    description = "Begins."
    inputs: ClassVar[dict[str, Any]] = {}
    output_type = "null"

    def __init__(self, begun: threading.Event) -> None:
        super().__init__()
        self.begun = begun

    def forward(self) -> None:
        self.begun.set()
