"""Base of the executors whose code runs in a Jupyter kernel."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from ...distributions.requirements import missing_requirements
from ...errors import ExecutorError, InterpreterError
from ...folders.file_store import FileStore
from ...options import accept
from ...text.hints import network_hint
from ..session.guest import Ask, Failure
from ..session.guest_files import GuestFiles
from ..session.sandbox_executor import SandboxExecutor
from .connection import KernelConnection
from .error_text import CodeFailedError, failure_text, kernel_advice
from .kernel_guest import KernelGuestSource
from .kernel_options import KernelOptions
from .packages import Packages

__all__ = ["KernelExecutor"]


class KernelExecutor(SandboxExecutor):
    """An executor whose code runs in a kernel, which a connection starts and speaks to.

    Args:
        packages: installs what the sandbox does not have from its image.
        of_pool: whether a pool decides what is installed.
        network_remedy: how the sandbox gets a network; empty if it has one, or nobody knows how.
        own_loopback: whether ``127.0.0.1`` is the sandbox's own.
    """

    options: KernelOptions
    #: Connection to the kernel; ``None`` before the start.
    _connection: KernelConnection | None = None

    def __init__(
        self,
        additional_imports: Sequence[str],
        logger: Any,
        options: KernelOptions,
        packages: Packages,
        *,
        of_pool: bool = False,
        network_remedy: str = "",
        own_loopback: bool = True,
    ) -> None:
        super().__init__(additional_imports, logger, options)
        self._packages = packages
        self._of_pool, self._network_remedy = of_pool, network_remedy
        self._own_loopback = own_loopback
        self.installed_packages = list(additional_imports)

    def _open_kernel(self, connection: KernelConnection) -> None:
        """Start the first kernel; called by ``_start()``."""
        self._connection = connection
        self._open(KernelGuestSource(connection, self.options.startup_timeout_seconds))

    def _prepare(self, ask: Ask) -> None:
        """Give a new kernel the packages and files of the last one."""
        self._packages.prepare(ask)
        self.options.given_files.send(self._files())

    def install_packages(self, additional_imports: Sequence[str]) -> list[str]:
        """Install packages for the code, which keeps its state.

        A container that has run no code and is not a pool's is replaced, by one of an image with
        the packages. All others install them with pip, which needs a network.

        Args:
            additional_imports: Import names or requirements of what is installed.

        Raises:
            ConfigurationError: a name that is neither a module's nor a requirement.
            ExecutorError: the sandbox has no network and must stay, or pip failed.
        """
        names = list(accept.names("additional_imports", additional_imports))
        with self._turn("install_packages"), self._naming_refusals():
            self._install(names)
        return names

    def _install(self, requirements: list[str]) -> None:
        present = self.installed_packages
        missing = [name for name in requirements if missing_requirements([name], present)]
        if missing:
            self._install_missing(missing)
            self.installed_packages += missing

    def _install_missing(self, names: list[str]) -> None:
        """Install the packages of import names that the sandbox lacks."""
        self._packages.add(self._open_session().request, names)

    @contextlib.contextmanager
    def _file_store(self, action: str) -> Iterator[FileStore]:
        self._check_open(action)
        connection = self._connection
        if connection is None or connection.channel is None:
            # The last one has ended, or was replaced: a call would start another, too.
            with self._turn(action):
                self._open_session().open()
        yield self._files()

    def _files(self) -> FileStore:
        """Return the files of the present kernel, which has them while code runs, too."""
        connection = self._connection
        sandbox = None if connection is None else connection.sandbox
        if connection is None or sandbox is None:
            raise ExecutorError("the sandbox has ended; the next call starts another")
        place, root = f"sandbox {sandbox.id}", sandbox.spec.workdir
        return GuestFiles(connection.ask_file, memory=None, place=place, root=root)

    def _ask_new_guest(self, _ask: Ask, body: bytes) -> bytes:
        connection = self._connection
        assert connection is not None
        return connection.ask_file(body)

    @property
    def allow_pickle(self) -> bool:
        """Tell whether values that the codec refuses may be pickled."""
        return self.options.allow_pickle

    def _as_program_error(self, error: InterpreterError) -> Exception:
        return CodeFailedError(str(error))

    def _explain(self, failure: Failure) -> Exception:
        return CodeFailedError(failure_text(failure, self._advice) + self._refusals())

    def _advice(self, message: str) -> str:
        return kernel_advice(
            message,
            present=self.installed_packages,
            of_pool=self._of_pool,
            network_remedy=self._network_remedy,
            own_loopback=self._own_loopback,
        )

    def _network_hint(self, logs: str) -> str:
        return network_hint(logs, self._network_remedy, own_loopback=self._own_loopback)
