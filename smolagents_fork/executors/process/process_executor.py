"""Executor that runs code in a child process which the kernel confines."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ...distributions.import_names import import_names, missing_packages
from ...errors import ConfigurationError, ExecutorStartError, ProtocolError
from ...folders.file_store import FileStore
from ...guest.frames import from_guest
from ...guest.guest_process import GuestProcess
from ...interpreter.imports import DEFAULT_IMPORTS
from ...options.option import taking
from ...process.child import Child
from ...process.child_places import ChildPlace, ChildRequest, LocalChildren
from ...process.confinement_report import MEASURES, Bounds, Kernel, MeasureTable
from ...process.sandbox_paths import layout_for
from ...results import ExecutorStats
from ...upstream import LogLevel
from ..guests.frame_guest import GuestLauncher
from ..guests.guest_executor import GuestExecutor
from ..weak_methods import weakly
from .process_options import ProcessArguments, ProcessOptions

if TYPE_CHECKING:
    from ...network.host_proxy import SandboxProxy

__all__ = ["ProcessExecutor"]


class ProcessExecutor(GuestExecutor):
    """Executor that runs code in a child process, which the kernel confines.

    The code is ordinary Python; no guarantee rests on what runs it.

    :class:`.process_options.ProcessArguments` has the arguments, with what each is for.

    Args:
        *arguments: ``additional_authorized_imports`` and ``logger``.
        **keywords: Further options, and these two by keyword.

    Raises:
        ConfigurationError: an argument is invalid.
        EngineUnavailableError: the engine does not answer.
        ExecutorStartError: the child did not start, or a required measure is missing.

    Example:
        >>> with ProcessExecutor(["json"], memory="512m", timeout_seconds=10) as executor:
        ...     executor("import json; json.dumps({'a': 1})").output
        '{"a": 1}'
    """

    label: ClassVar[str] = "process"
    options: ProcessArguments
    #: Features of the kernel that are used; subclasses of tests mask some.
    kernel: ClassVar[Kernel] = Kernel()

    @taking(ProcessArguments)
    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        options = ProcessArguments.of(type(self).__name__, arguments, keywords)
        super().__init__(options.additional_authorized_imports, options.logger, options)
        #: The nodes on which the child runs; ``None``: this machine.
        self.engine = options.engine
        self._launcher: ProcessLauncher | None = None
        self.start()

    # -- lifecycle --

    def _start(self) -> None:
        imports = import_names(self.additional_imports)
        proxy = self._open_proxy(self.options)
        self._launcher = ProcessLauncher(self.options, imports, self._place(imports, proxy), proxy)
        self._open(self._launcher)
        disabled = {"memory"} if self.options.memory_bytes is None else set()
        disabled |= {"network"} if self.options.has_network else set()
        # Measures that are missing against the user's options are worth a line in the log.
        unexpected = self.confinement["missing"].keys() - disabled
        level = LogLevel.INFO if unexpected else LogLevel.DEBUG
        self._log(f"ProcessExecutor: {self._measures_text()}", level)

    def _place(self, imports: Sequence[str], proxy: SandboxProxy | None) -> ChildPlace:
        options = self.options
        bounds = Bounds(
            folder="",
            readable=options.readable,
            memory_bytes=options.memory_bytes,
            file_bytes=options.file_bytes,
            open_files=options.open_files,
            threads=options.max_threads,
            cpu_seconds=options.run_cpu_seconds,
            variables={} if proxy is None else proxy.variables,
        )
        if self.engine is not None:
            request = ChildRequest(
                imports=(*DEFAULT_IMPORTS, *self.additional_imports),
                network=options.network_scope,
                bounds=bounds,
                max_value_bytes=options.max_value_bytes,
                start_seconds=options.startup_timeout_seconds,
            )
            return self.engine.children(request, note=weakly(self._log))
        _check_platform(self.kernel.platform, options.allow_unconfined)
        if message := missing_packages(self.additional_imports):
            raise ConfigurationError(message)
        names = [*DEFAULT_IMPORTS, *imports]
        return LocalChildren(
            layout_for(names, network=options.network_scope, kernel=self.kernel),
            bounds,
        )

    def _measures_text(self) -> str:
        confinement = self.confinement
        missing = [f"{name} ({why})" for name, why in confinement["missing"].items()]
        in_force = ", ".join(confinement["in_force"])
        return f"in force: {in_force}; not in force: {', '.join(missing) or 'nothing'}"

    @classmethod
    def measures(cls) -> MeasureTable:
        """Return a table of the measures on this machine, found by confining a child.

        Raises:
            ExecutorStartError: no child can be started, as on Windows.
        """
        with cls(allow_unconfined=True) as executor:
            return MeasureTable(**executor.confinement)

    @property
    def confinement(self) -> dict[str, dict[str, str]]:
        """``in_force`` and ``missing``: each measure with its mechanism, or why it is missing."""
        return self._started_launcher().report

    def _measures(self) -> dict[str, Any]:
        report = self._started_launcher().report
        return {
            **super()._measures(),
            **{name: sorted(measures) for name, measures in report.items()},
        }

    @property
    def place(self) -> str:
        """Sandbox, node and tenant on a cluster; empty on this machine."""
        return "" if self._launcher is None else self._launcher.place.described

    @property
    def folder(self) -> str | None:
        """Folder the code works in, the only one it may write to."""
        return self._started_launcher().place.folder

    def _files_of_guest(self, _ask: Callable[[bytes], bytes]) -> FileStore:
        return self._started_launcher().place.files()

    @contextlib.contextmanager
    def _file_store(self, action: str) -> Iterator[FileStore]:
        # The host's own access, so that tools can exchange files with the code that calls them.
        self._check_open(action)
        yield self._started_launcher().place.files()

    def _started_launcher(self) -> ProcessLauncher:
        if self._launcher is None:
            raise ExecutorStartError("the process executor has not been started")
        return self._launcher

    def stats(self) -> ExecutorStats:
        """Return the child's resource use now.

        Raises:
            ExecutorStartError: the system has no ``/proc``, or the child has not started.
        """
        return self._started_launcher().place.stats(self.pid)


def _check_platform(platform: str, allow_unconfined: bool) -> None:
    if platform.startswith("linux"):
        return
    if platform == "win32":
        raise ExecutorStartError(
            "ProcessExecutor needs fork(), which Windows does not have: use executor_type='docker'"
        )
    if not allow_unconfined:
        raise ExecutorStartError(
            f"ProcessExecutor confines code with the Linux kernel, but this is {platform}: use "
            "executor_type='docker'; allow_unconfined=True gives only a separate process that can "
            "be killed"
        )


class ProcessLauncher(GuestLauncher):
    """Starts children that share a folder, one after the other.

    Args:
        proxy: serves their listeners; ``None``: they have none.
    """

    def __init__(
        self,
        options: ProcessOptions,
        imports: Sequence[str],
        place: ChildPlace,
        proxy: SandboxProxy | None,
    ) -> None:
        super().__init__(options, imports)
        self._required, self._waived = options.required, options.allow_missing
        self._proxy = proxy
        self.place = place
        self._process: GuestProcess | None = None
        #: The measures in force, and those that are missing.
        self.report: dict[str, dict[str, str]] = {"in_force": {}, "missing": {}}

    def start_process(self) -> GuestProcess:
        """Fork a child."""
        most = self._options.max_value_bytes
        self._process = self.place.start(from_guest(most, most))
        return self._process

    def accept(self, report: Any) -> None:
        """Refuse a child without a measure that may not be missing; serve its listener."""
        self.report = check_report(report)
        in_force = self.report["in_force"].keys()
        missing = [name for name in MEASURES if name in self._required - in_force]
        if missing:
            reasons = self.report["missing"]
            lines = "; ".join(f"{name} ({reasons.get(name, 'no reason')})" for name in missing)
            raise ExecutorStartError(
                f"this machine cannot confine the code: {lines}. Use "
                "executor_type='docker', or do without: "
                f"allow_missing={(*sorted(self._waived), *missing)!r}"
            )
        if self._proxy is not None and isinstance(self._process, Child):
            listener = self._process.take_listener()
            if listener is not None:
                self._proxy.serve(listener)

    def close(self) -> None:
        """Remove the folder. Idempotent."""
        self.place.remove()


def check_report(data: Any) -> dict[str, dict[str, str]]:
    """Check a READY frame and return the measures in force and those missing."""
    if type(data) is not dict or data.keys() != {"in_force", "missing"}:
        raise ProtocolError("a READY frame needs the measures in force and those missing")
    for part in data.values():
        if type(part) is not dict or not all(type(text) is str for text in part.values()):
            raise ProtocolError("a READY frame needs a text for every measure")
    return data
