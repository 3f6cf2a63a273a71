"""Starts the guests of one Wasm executor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import ProtocolError
from ...system.shortages import naming_shortages
from ...wasm.deno_process import DenoProcess
from ..guests.frame_guest import GuestLauncher
from .guest_source import PyodideSource
from .wasm_options import WasmOptions

__all__ = ["WasmLauncher"]


class WasmLauncher(GuestLauncher):
    """Starts guests one after the other.

    Args:
        options: the executor's.
        imports: modules programs may import.
        source: starts a guest.
        first: a guest that a pool has started; ``None`` to start the first one, too.
    """

    def __init__(
        self,
        options: WasmOptions,
        imports: Sequence[str],
        source: PyodideSource,
        first: DenoProcess | None,
    ) -> None:
        super().__init__(options, imports)
        self._source = source
        self._first = first
        self._process: DenoProcess | None = None

    def start_process(self) -> DenoProcess:
        """Return a guest that waits for the SETUP frame."""
        first, self._first = self._first, None
        seconds = self._options.startup_timeout_seconds
        with naming_shortages("the guest cannot be started"):
            self._process = first or self._source.start(seconds)
        return self._process

    def accept(self, report: Any) -> None:
        """Limit the process, now that it has what it needs to start."""
        if type(report) is not dict or type(report.get("python")) is not str:
            raise ProtocolError("a READY frame has the version of Python")
        assert self._process is not None
        self._process.confine(self._options.memory_bytes)

    def close(self) -> None:
        """Close a guest that was never started from. Idempotent."""
        first, self._first = self._first, None
        if first is not None:
            first.close()
