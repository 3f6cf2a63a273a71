"""The Wasm executor: code in Pyodide, in a Deno process without permissions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from ...errors import ExecutorError
from ...folders.file_store import FileStore
from ...options.option import option, part_of, taking
from ...wasm.deno_process import DenoProcess
from ..call_options import Arguments
from ..guests.guest_executor import GuestExecutor
from ..pools.pool_options import PooledArguments
from ..pools.pooled_executor import PooledExecutor
from ..session.guest_files import GuestFiles
from ..weak_methods import weakly
from .guest_source import PyodideSource, WasmLauncher, check_imports, installation, log_line
from .wasm_options import SetupOptions, WasmOptions
from .wasm_pool import WasmPool

__all__ = ["WasmExecutor"]


@dataclass(frozen=True)
class WasmArguments(WasmOptions, PooledArguments, Arguments):
    """Arguments of WasmExecutor's constructor."""

    _: KW_ONLY
    pool: WasmPool | None = option(None, "gives a ready guest", WasmPool.check, form="a pool")


class WasmExecutor(PooledExecutor[DenoProcess], GuestExecutor):
    """Executor that runs code in WebAssembly, in a Deno that may read its own files only.

    The code is ordinary Python; no guarantee rests on what runs it.

    :class:`WasmArguments` has the arguments, with what each is for. pip on the host fetches the
    packages of ``additional_authorized_imports``, once per executor.

    Args:
        *arguments: ``additional_authorized_imports`` and ``logger``.
        **keywords: Further options, and these two by keyword.

    Raises:
        ConfigurationError: an argument is invalid.
        ExecutorStartError: Deno, Pyodide or a package is not available, or the guest did not start.

    Example:
        >>> with WasmExecutor(memory="512m", timeout_seconds=10) as executor:
        ...     executor("6 * 7").output
        42
    """

    label: ClassVar[str] = "wasm"
    options: WasmOptions
    pool_class: ClassVar[type[WasmPool]] = WasmPool

    @taking(WasmArguments)
    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        options = WasmArguments.of(type(self).__name__, arguments, keywords)
        names = options.additional_authorized_imports
        pool = options.pool
        effective_options = (
            part_of(options, WasmOptions) if pool is None else pool.options_for(options, names)
        )
        super().__init__(names, options.logger, effective_options)
        self._source = None if pool is None else pool.source
        self._join(pool, options)
        self.start()

    @classmethod
    @taking(WasmArguments)
    async def acreate(cls, *args: Any, **keywords: Any) -> WasmExecutor:
        """Call the constructor without blocking the event loop.

        Waiting for a pool's guest needs no thread. When the task is cancelled, the guest that was
        started for it is closed.
        """
        return await cls._create_async(args, keywords)

    def _start(self) -> None:
        check_imports(self.additional_imports)
        source = self._source or PyodideSource(
            self.options, self.additional_imports, weakly(self._note)
        )
        first = self._take()
        imports = source.import_names(self.additional_imports)
        self._open(WasmLauncher(self.options, imports, source, first))

    def _note(self, text: str) -> None:
        self._log(f"WasmExecutor: {text}")

    def _files_of_guest(self, ask: Callable[[bytes], bytes]) -> FileStore:
        return GuestFiles(ask, self.options.memory_bytes)

    @contextlib.contextmanager
    def _file_store(self, action: str) -> Iterator[FileStore]:
        if self._inside_own_call():
            raise ExecutorError(
                f"WasmExecutor: {action} from a tool, while the code that called it waits; "
                "the files are in the same guest, which answers after the "
                "call: let the tool return the data, or exchange files after the call"
            )
        with self._turn(action):
            yield self._files_of_guest(self._ask_file)

    @classmethod
    @taking(SetupOptions)
    def setup(cls, **keywords: Any) -> None:
        """Fetch and make what starts need, at an application's start or in an image's build.

        Args:
            **keywords: :class:`.wasm_options.SetupOptions`, as the constructor takes them.
        """
        installation(SetupOptions.of("WasmExecutor.setup", (), keywords), log_line)
