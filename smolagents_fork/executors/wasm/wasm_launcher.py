"""Starts the guests of one Wasm executor."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...deadline import Deadline
from ...errors import ProtocolError
from ...guest.frames import Kind, from_guest
from ...wasm.deno_binary import confined_command, find_deno
from ...wasm.deno_process import DenoProcess
from ...wasm.pyodide_files import cache_folder, check_files, pyodide_files
from ...wasm.snapshots import START_BYTES, snapshot_file
from ...wasm.worker_archive import worker_archive
from .wasm_options import WasmOptions

__all__ = ["Installation", "WasmLauncher", "installation"]

_PAGE = 64 << 10
_MIB = 1 << 20
#: Threads of the engine that work at once, at most and about.
_THREADS = 4


@dataclass(frozen=True)
class Installation:
    """Paths and settings from which guests are started.

    Attributes:
        deno: the program.
        cache: the folder of what is kept from start to start.
        pyodide: the folder of Pyodide's files.
        snapshot: a guest's memory when it is ready for a program.
        sources: archive of the guest's modules.
    """

    deno: str
    cache: Path
    pyodide: Path
    snapshot: Path
    sources: bytes


def installation(options: WasmOptions) -> Installation:
    """Find or make what guests are started from.

    Raises:
        ExecutorStartError: something is missing and cannot be had; says what brings it.
    """
    deno = find_deno(None if options.deno is None else os.fspath(options.deno))
    cache = cache_folder(options.cache_dir)
    if options.pyodide_dir is None:
        pyodide = pyodide_files(cache, deno, options.setup_timeout_seconds)
    else:
        pyodide = Path(options.pyodide_dir).resolve()
        check_files(str(pyodide))
    sources = worker_archive()
    snapshot = snapshot_file(cache, pyodide, deno, sources, options.setup_timeout_seconds)
    return Installation(deno, cache, pyodide, snapshot, sources)


class WasmLauncher:
    """Starts guests one after the other, each with a stop file of its own.

    Args:
        options: the executor's.
        base: what guests are started from.
        imports: modules programs may import.
        wheels: the packages of a guest.
    """

    def __init__(
        self,
        options: WasmOptions,
        base: Installation,
        imports: list[str],
        wheels: Sequence[Path],
    ) -> None:
        self._options = options
        self._base = base
        self._imports = imports
        self._wheels = tuple(wheels)
        self._folder: str | None = None
        self._process: DenoProcess | None = None

    def start(self) -> DenoProcess:
        """Start Deno, and give it what comes before the SETUP frame."""
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="smolagents-wasm-")
        number, stop_file = tempfile.mkstemp(dir=self._folder)
        os.close(number)
        options, base = self._options, self._base
        readable = [str(base.pyodide), str(base.snapshot), stop_file]
        arguments = ["serve", str(base.pyodide), str(base.snapshot), stop_file]
        command = confined_command(base.deno, readable, self._v8_flags(), arguments)
        kinds = from_guest(options.max_value_bytes, options.max_value_bytes)
        process = DenoProcess(command, kinds, stop_file, self._cpu_seconds())
        try:
            deadline = Deadline(options.startup_timeout_seconds)
            process.send(Kind.SOURCES, 0, base.sources, deadline)
            for wheel in self._wheels:
                process.send(Kind.PACKAGE, 0, wheel.read_bytes(), deadline)
        except BaseException:
            process.close()
            raise
        self._process = process
        return process

    def _cpu_seconds(self) -> float | None:
        options = self._options
        if options.timeout_seconds is None:
            return None
        # The engine compiles and collects garbage in threads of its own.
        return _THREADS * (options.timeout_seconds + options.interrupt_grace_seconds)

    def _v8_flags(self) -> list[str]:
        memory = self._options.memory_bytes
        if memory is None:
            return []
        pages = (START_BYTES + memory) // _PAGE
        return [f"--wasm-max-mem-pages={pages}", f"--max-old-space-size={memory // _MIB}"]

    def setup(self) -> dict[str, Any]:
        """The content of the SETUP frame."""
        return {
            "imports": self._imports,
            "limits": self._options.limits,
            "max_value_bytes": self._options.max_value_bytes,
        }

    def accept(self, report: Any) -> None:
        """Limit the process, now that it has what it needs to start."""
        if type(report) is not dict or type(report.get("python")) is not str:
            raise ProtocolError("a READY frame has the version of Python")
        assert self._process is not None
        self._process.confine(self._options.memory_bytes)

    def remove(self) -> None:
        """Remove the stop files. Idempotent."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
