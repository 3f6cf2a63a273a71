"""The tool by which code tells a test that it runs."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

from smolagents import Tool


class Begin(Tool):
    """Says that the code runs."""

    name = "begin"
    description = "Begins."
    inputs: ClassVar[dict[str, Any]] = {}
    output_type = "null"

    def __init__(self, begun: threading.Event) -> None:
        super().__init__()
        self.begun = begun

    def forward(self) -> None:
        self.begun.set()
