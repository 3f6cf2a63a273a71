"""Command ``setup``: what the first start would build or fetch."""

from __future__ import annotations

import argparse
import time

from rich.console import Console

from ..executors import registry
from ..executors.administration import Preparation
from .outcome import Outcome

__all__ = ["setup"]


def setup(arguments: argparse.Namespace) -> Outcome:
    """Build or fetch what the first start of an executor would."""
    started = time.monotonic()
    administration = registry.administration(arguments.executor)
    assert isinstance(administration, Preparation)
    made = administration.setup(arguments.packages)
    seconds = time.monotonic() - started

    def show(console: Console) -> None:
        console.print(f"{arguments.executor} is ready after {seconds:.1f} s: {made}")

    data = {"executor": arguments.executor, "ready": made, "seconds": round(seconds, 3)}
    return Outcome(data, show)
