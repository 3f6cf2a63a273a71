"""Guests with Pyodide and the packages loaded, and their start for an executor."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...deadline import Deadline
from ...distributions.import_names import import_names
from ...distributions.requirements import parse_entry, requirements_for
from ...errors import ConfigurationError, ExecutorStartError, ProtocolError
from ...folders.user_folder import temporary_file
from ...guest.frames import Kind, from_guest
from ...standard_library import absence
from ...system.closing import close_on_error
from ...system.shortages import naming_shortages
from ...wasm.deno_binary import confined_command, find_deno
from ...wasm.deno_process import DenoProcess, answer_of
from ...wasm.pyodide_files import cache_folder, check_files, pyodide_files
from ...wasm.snapshots import START_BYTES, snapshot_file
from ...wasm.wheels import MINOR, wheels_for
from ...wasm.worker_archive import worker_archive
from ..guests.frame_guest import GuestLauncher
from .wasm_options import SetupOptions, WasmOptions

__all__ = [
    "Installation",
    "PyodideSource",
    "WasmLauncher",
    "check_imports",
    "installation",
    "log_line",
]

_PAGE = 64 << 10
_MIB = 1 << 20
# Modules that lead to JavaScript. Programs get Python.
_JAVASCRIPT = frozenset({"_pyodide", "js", "pyodide", "pyodide_js"})
_logger = logging.getLogger("smolagents_fork")


def log_line(text: str) -> None:
    """Log a line of a start without an agent's logger."""
    _logger.info("WasmExecutor: %s", text)


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


def installation(options: SetupOptions, note: Callable[[str], None]) -> Installation:
    """Find or make what guests are started from.

    Args:
        note: takes a line for the user's log before something is fetched or made.

    Raises:
        ExecutorStartError: something is missing; names what provides it.
    """
    deno = find_deno(None if options.deno is None else os.fspath(options.deno))
    cache = cache_folder(options.cache_dir)
    if options.pyodide_dir is None:
        pyodide = pyodide_files(cache, deno, options.setup_timeout_seconds, note)
    else:
        pyodide = Path(options.pyodide_dir).resolve()
        check_files(str(pyodide))
    sources = worker_archive()
    seconds = options.setup_timeout_seconds
    snapshot = snapshot_file(cache, pyodide, deno, sources, seconds, note)
    return Installation(deno, cache, pyodide, snapshot, sources)


def check_imports(imports: Sequence[str]) -> None:
    """Refuse imports that lead to JavaScript, and modules that the guest's Python does not have.

    Raises:
        ConfigurationError: names the modules, and what to do about them.
    """
    tops = sorted({parse_entry(entry).top for entry in imports})
    if refused := [top for top in tops if top in _JAVASCRIPT]:
        raise ConfigurationError(
            f"additional_authorized_imports: {', '.join(refused)}: programs cannot use "
            "JavaScript; give the code a tool"
        )
    for top in tops:
        if why := absence(top, MINOR):
            raise ConfigurationError(
                f"additional_authorized_imports: the Python 3.{MINOR} of WasmExecutor has no "
                f"module {top!r}: {why}; leave it out, or name a distribution that provides it"
            )


class PyodideSource:
    """Starts guests that all have the same packages; from any thread.

    Args:
        note: takes a line for the user's log before something is fetched or made.

    Raises:
        ConfigurationError: an import that no guest can have.
        ExecutorStartError: the system cannot run guests.
    """

    def __init__(
        self,
        options: WasmOptions,
        imports: Sequence[str],
        note: Callable[[str], None] = log_line,
    ) -> None:
        if sys.platform == "win32":
            raise ExecutorStartError(
                "WasmExecutor is not supported on Windows: use executor_type='docker'"
            )
        check_imports(imports)
        self._options = options
        self._note = note
        self._requirements = requirements_for(imports)
        self._lock = threading.Lock()
        self._files: tuple[Installation, tuple[Path, ...]] | None = None

    def _prepare(self) -> tuple[Installation, tuple[Path, ...]]:
        """Return the installation and the wheels, fetched by the first caller."""
        with self._lock:
            if self._files is None:
                options, base = self._options, installation(self._options, self._note)
                folder = options.packages_dir
                wheels = wheels_for(
                    self._requirements,
                    base.cache,
                    base.pyodide / "pyodide-lock.json",
                    None if folder is None else Path(folder).resolve(),
                    options.setup_timeout_seconds,
                    self._note,
                )
                self._files = base, tuple(wheels)
            return self._files

    def import_names(self, entries: Sequence[str]) -> tuple[str, ...]:
        """Return the names that programs import for entries of a list of authorised imports.

        Args:
            entries: Entries of the list; the wheels' metadata says which modules a distribution
                has.

        Raises:
            ExecutorStartError: the metadata cannot be read.
        """
        wheels = self._prepare()[1]
        try:
            return import_names(entries, [str(wheel) for wheel in wheels])
        except ConfigurationError:
            raise
        except Exception as error:  # anybody may have written the metadata
            names = ", ".join(wheel.name for wheel in wheels)
            raise ExecutorStartError(f"the metadata of {names} cannot be read: {error}") from None

    def start(self, seconds: float) -> DenoProcess:
        """Start a guest and load everything.

        Args:
            seconds: limit of the start, without what is fetched once.

        Raises:
            ExecutorStartError: Deno, Pyodide or a package is not available.
            SandboxDiedError: the guest has ended.
            ProtocolError: the guest was not loaded in time.
        """
        base, wheels = self._prepare()
        number, stop_file = temporary_file("wasm-")
        os.close(number)
        readable = [str(base.pyodide), str(base.snapshot), stop_file]
        arguments = ["serve", str(base.pyodide), str(base.snapshot), stop_file]
        command = confined_command(base.deno, readable, self._v8_flags(), arguments)
        longest = self._options.max_value_bytes
        process = DenoProcess(command, from_guest(longest, longest), stop_file)
        with close_on_error(process):
            deadline = Deadline(seconds)
            limit = "startup_timeout_seconds"
            answer_of(process, Kind.SOURCES, base.sources, Kind.ACCEPTED, deadline, limit)
            for wheel in wheels:
                body = wheel.read_bytes()
                answer_of(process, Kind.PACKAGE, body, Kind.ACCEPTED, deadline, limit)
        return process

    def _v8_flags(self) -> list[str]:
        memory = self._options.memory_bytes
        if memory is None:
            return []
        pages = (START_BYTES + memory) // _PAGE
        return [f"--wasm-max-mem-pages={pages}", f"--max-old-space-size={memory // _MIB}"]


class WasmLauncher(GuestLauncher):
    """Starts guests one after the other.

    Args:
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
