"""Starts the confined children of one process executor."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from ...errors import ExecutorStartError, ProtocolError
from ...folders.removal import remove_tree
from ...guest.frames import from_guest
from ...process.child import Child
from ...process.confinement_report import MEASURES, Bounds, Kernel
from ...process.sandbox_paths import Layout
from ...process.spawn import spawn
from .process_options import Options

__all__ = ["ProcessLauncher"]


class ProcessLauncher:
    """Starts children that share a folder, one after the other.

    Args:
        options: the executor's.
        layout: where a child finds modules.
        imports: modules programs may import.
        kernel: the features of the kernel that are used.
    """

    def __init__(
        self, options: Options, layout: Layout, imports: list[str], kernel: Kernel
    ) -> None:
        self._options = options
        self._layout = layout
        self._imports = imports
        self._kernel = kernel
        #: The only folder a child may write to.
        self.folder: str | None = None
        #: The measures in force, and those that are missing.
        self.report: dict[str, dict[str, str]] = {"in_force": {}, "missing": {}}

    def start(self) -> Child:
        """Fork a child."""
        if self.folder is None:
            self.folder = os.path.realpath(tempfile.mkdtemp(prefix="smolagents-process-"))
        options = self._options
        bounds = Bounds(
            folder=self.folder,
            memory_bytes=options.memory_bytes,
            file_bytes=options.file_bytes,
            open_files=options.open_files,
            threads=options.max_threads,
            network=options.network,
            kernel=self._kernel,
        )
        kinds = from_guest(options.max_value_bytes, options.max_value_bytes)
        return spawn(self._layout, bounds, kinds)

    def setup(self) -> dict[str, Any]:
        """The content of the SETUP frame."""
        return {
            "imports": self._imports,
            "limits": self._options.limits,
            "memory": self._options.memory,
            "cpu_seconds": self._cpu_seconds(),
            "max_value_bytes": self._options.max_value_bytes,
        }

    def _cpu_seconds(self) -> float | None:
        options = self._options
        if options.cpu_seconds is not None or options.timeout_seconds is None:
            return options.cpu_seconds
        # More than one thread can use more than the wall clock's time, but not without end.
        return 2 * (options.timeout_seconds + options.interrupt_grace_seconds)

    def accept(self, report: Any) -> None:
        """Refuse a child without a measure that may not be missing."""
        self.report = checked_report(report)
        in_force = self.report["in_force"].keys()
        missing = [name for name in MEASURES if name in self._options.required - in_force]
        if missing:
            reasons = self.report["missing"]
            lines = "; ".join(f"{name} ({reasons.get(name, 'no reason')})" for name in missing)
            raise ExecutorStartError(
                f"this machine cannot confine the code: {lines}. Use "
                "executor_type='docker', or do without: "
                f"allow_missing={(*sorted(self._options.allow_missing), *missing)!r}"
            )

    def remove(self) -> None:
        """Remove the folder. Idempotent."""
        if self.folder is not None:
            remove_tree(self.folder)
            self.folder = None


def checked_report(data: Any) -> dict[str, dict[str, str]]:
    """Check a READY frame and return the measures in force and those missing."""
    if type(data) is not dict or data.keys() != {"in_force", "missing"}:
        raise ProtocolError("a READY frame has what is in force and what is missing")
    for part in data.values():
        if type(part) is not dict or not all(type(text) is str for text in part.values()):
            raise ProtocolError("a READY frame has words for every measure")
    return data
