"""Administration of the local executor."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from ...system.checks import Check
from ..administration import Administration, run_check
from .local_executor import LocalPythonExecutor

__all__ = ["LocalAdministration"]


class LocalAdministration(Administration):
    """Administration of the local executor."""

    def checks(self) -> Sequence[Check]:
        return (run_check(lambda: contextlib.nullcontext(LocalPythonExecutor([]))),)
