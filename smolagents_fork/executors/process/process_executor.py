"""Executor that runs code in a child process which the kernel confines."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ...distributions.import_names import import_names, missing_packages
from ...errors import ConfigurationError, ExecutorStartError
from ...interpreter.imports import DEFAULT_IMPORTS
from ...process.child_places import ChildEngine, ChildPlace, ChildRequest, LocalChildren
from ...process.confinement_report import Bounds, Kernel, MeasureTable, table_of
from ...process.sandbox_paths import layout_for
from ...results import ExecutorStats
from ...upstream import LogLevel
from ..file_transfers import FileStore
from ..guests.guest_executor import GuestExecutor
from ..weak_methods import weakly
from .process_launcher import ProcessLauncher
from .process_options import Options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .process_options import ProcessKeywords

__all__ = ["ProcessExecutor"]


class ProcessExecutor(GuestExecutor):
    """Run code in a child process that the kernel confines, and that can be killed.

    The code is ordinary Python; no guarantee rests on what runs it.

    Args:
        additional_authorized_imports: modules the code may import besides the built-in list; they
            must be installed where the child runs. ``["*"]``: any that is installed.
        logger: upstream's ``AgentLogger``.
        engine: whose nodes run the child, such as ``RayEngine(sandbox="process")``; ``None``: this
            machine.
        timeout_seconds: wall-clock time of one call, without that of its tools on the host;
            ``None`` for no limit. At the limit the program is interrupted and its state kept; a
            program that does not stop is killed.
        interrupt_grace_seconds: time a program may take to stop before it is killed.
        startup_timeout_seconds: limit of the child's start.
        memory: address space the code may add to the interpreter's own, in bytes or as ``"2g"``.
        cpu_seconds: processor time of one call, after which the child is killed; by default twice
            ``timeout_seconds`` and the grace, which only more than one thread can reach.
        file_size: largest file the code may write, in bytes or as ``"1g"``.
        open_files: file descriptors at once.
        max_threads: threads at once.
        network: ``"none"``, or ``"host"`` for the network of this machine.
        allow_missing: measures that may be missing on this machine (see :meth:`measures`). If
            another is missing, the start fails.
        allow_unconfined: start without any measure, as on macOS: only a separate process that can
            be killed.
        readable_paths: files and folders the code may read besides libraries.
        max_print_outputs_length: characters kept of a call's output, first and last half.
        max_value_bytes: largest encoded value in either direction.
        max_tool_calls: calls of tools in one run.
        tool_timeout_seconds: limit of one call of a tool on the host.
        tools_in_calling_thread: whether tools run in the thread that calls the executor, so that
            an interrupt waits for a tool that blocks; ``None``: unless ``tool_timeout_seconds`` is
            given.
        on_output: called with printed text while the code runs.
        figures_dir: folder on the host that figures are saved in; None: none is saved.
        tool_placement: tool name -> ``"host"``, the only place here.
        additional_functions: functions of the host the code may call, as it calls tools.
        files: the code's paths to paths of this machine or bytes; written for each new child.
        max_operations: a limit of the local executor, without effect here, as the two below:
            ``timeout_seconds`` and ``cpu_seconds`` limit the code.
        max_while_iterations: without effect.
        max_recursion_depth: without effect; Python's own limit holds, which code may raise.

    Raises:
        ConfigurationError: an argument that cannot work.
        EngineUnavailableError: the engine does not answer.
        ExecutorStartError: the child did not start, or a required measure is missing.
    """

    label: ClassVar[str] = "process"
    #: Features of the kernel that are used; subclasses of tests mask some.
    kernel: ClassVar[Kernel] = Kernel()

    def __init__(
        self,
        additional_authorized_imports: Sequence[str] = (),
        logger: Any = None,
        *,
        engine: ChildEngine | None = None,
        **keywords: Unpack[ProcessKeywords],
    ) -> None:
        own = ("additional_authorized_imports", "engine", "logger")
        self.options = Options.of(type(self).__name__, own, **keywords)
        #: The nodes on which the child runs; ``None``: this machine.
        self.engine = checked_engine(engine)
        self._launcher: ProcessLauncher | None = None
        super().__init__(additional_authorized_imports, logger, self.options)
        self.start()

    # -- lifecycle --

    def _start(self) -> None:
        imports = import_names(self.additional_imports)
        self._launcher = ProcessLauncher(self.options, imports, self._place(imports))
        self._launch(self._launcher)
        disabled = {"memory"} if self.options.memory_bytes is None else set()
        disabled |= {"network"} if self.options.has_network else set()
        # Measures that are missing against the user's options are worth a line in the log.
        unexpected = self.confinement["missing"].keys() - disabled
        level = LogLevel.INFO if unexpected else LogLevel.DEBUG
        self._log(f"ProcessExecutor: {self._measures_text()}", level)

    def _place(self, imports: Sequence[str]) -> ChildPlace:
        options = self.options
        bounds = Bounds(
            folder="",
            memory_bytes=options.memory_bytes,
            file_bytes=options.file_bytes,
            open_files=options.open_files,
            threads=options.max_threads,
            cpu_seconds=options.run_cpu_seconds,
            network=options.has_network,
            kernel=self.kernel,
        )
        if self.engine is not None:
            request = ChildRequest(
                imports=(*DEFAULT_IMPORTS, *self.additional_imports),
                readable=tuple(options.paths),
                bounds=bounds,
                max_value_bytes=options.max_value_bytes,
                start_seconds=options.startup_timeout_seconds,
            )
            return self.engine.children(request, note=weakly(self._log))
        _check_platform(self.kernel.platform, options.allow_unconfined)
        if message := missing_packages(self.additional_imports):
            raise ConfigurationError(message)
        names = [*DEFAULT_IMPORTS, *imports]
        return LocalChildren(layout_for(names, options.paths, network=options.has_network), bounds)

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
            return table_of(**executor.confinement)

    @property
    def confinement(self) -> dict[str, dict[str, str]]:
        """``in_force`` and ``missing``: each measure with its mechanism, or why it is missing."""
        return self._started_launcher().report

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
            ExecutorStartError: the system has no ``/proc``, or there is no child.
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
            f"ProcessExecutor confines code by Linux's kernel, and this is {platform}: use "
            "executor_type='docker'; allow_unconfined=True gives only a separate process that can "
            "be killed"
        )


def checked_engine(engine: object) -> ChildEngine | None:
    """Return an engine that can run confined children.

    Raises:
        ConfigurationError: it is not one.
    """
    if engine is None:
        return None
    if isinstance(engine, type) or not isinstance(engine, ChildEngine):
        raise ConfigurationError(
            f"engine={engine!r} runs no confined processes: give RayEngine(sandbox='process'), or "
            "None for this machine"
        )
    return engine
