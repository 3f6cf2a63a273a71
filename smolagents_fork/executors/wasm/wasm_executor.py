"""The Wasm executor: code in Pyodide, in a Deno process without permissions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import ExecutorError
from ...upstream import LogLevel
from ...wasm.deno_process import DenoProcess
from ..async_calls import created
from ..file_transfers import FileStore
from ..guests.guest_executor import GuestExecutor
from ..guests.guest_files import GuestFiles
from ..pools.pool_queue import check_tenant
from ..pools.sandbox_pool import check_pool
from ..validation import names_of
from ..weak_methods import weakly
from .guest_source import GuestSource, check_imports, installation, log_line
from .wasm_launcher import WasmLauncher
from .wasm_options import WasmKeywords, WasmOptions
from .wasm_pool import WasmPool

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .wasm_options import SetupKeywords

__all__ = ["WasmExecutor"]


class WasmArguments(WasmKeywords, total=False):
    """Arguments of WasmExecutor's constructor by name, for :meth:`WasmExecutor.acreate`."""

    additional_authorized_imports: Sequence[str]
    logger: Any
    pool: WasmPool | None
    tenant: str


class WasmExecutor(GuestExecutor):
    """Run code in Python in WebAssembly, in a Deno process that may read its own files only.

    The code is ordinary Python; no guarantee rests on what runs it.

    Args:
        additional_authorized_imports: modules the code may import besides the built-in list. What
            provides them is fetched by pip on the host, once an executor.
        logger: upstream's ``AgentLogger``.
        pool: take a ready guest from this pool.
        tenant: whose quota of the pool the guest counts for (``max_per_tenant``).
        timeout_seconds: wall clock of one call, without the time the host works for it in tools;
            ``None`` for no limit. At the limit the program is stopped with its state kept; one that
            does not stop is killed.
        interrupt_grace_seconds: how long a program may take to stop before it is killed.
        startup_timeout_seconds: for a guest's start.
        setup_timeout_seconds: for what is fetched and made once.
        memory: what the code may add to Python's own memory, in bytes or as ``"512m"``.
        network: ``"none"``: WebAssembly has no sockets.
        deno: another Deno program than the package's.
        pyodide_dir: folder with the files of the pinned release of Pyodide, in the place of the
            ones from npm.
        packages_dir: folder with wheels of Pyodide's own packages.
        cache_dir: another folder than the user's cache for what is kept from start to start.
        max_print_outputs_length: characters kept of what a call prints, first and last half.
        max_value_bytes: largest encoded value in either direction.
        max_tool_calls: calls of tools in one run.
        tool_timeout_seconds: how long one tool may work on the host.
        tools_in_calling_thread: whether tools run in the thread that calls the executor, so that
            an interrupt waits for a tool that blocks; ``None``: unless ``tool_timeout_seconds`` is
            given.
        on_output: gets printed text while the code runs.
        figures_dir: folder on the host that figures are saved in; None: none is saved.
        tool_placement: tool name -> ``"host"``; there is no other place here.
        additional_functions: functions of the host the code may call, as it calls tools.
        files: the code's paths to paths of this machine or bytes; written for each new guest.
        max_operations: a limit of the local executor, without effect here, as the two below:
            ``timeout_seconds`` limits the code.
        max_while_iterations: without effect.
        max_recursion_depth: without effect; Python's own limit holds, which code may raise.

    Raises:
        ConfigurationError: an argument that cannot work.
        ExecutorStartError: Deno, Pyodide or a package cannot be had, or the guest did not start.
    """

    label: ClassVar[str] = "wasm"

    def __init__(
        self,
        additional_authorized_imports: Sequence[str] = (),
        logger: Any = None,
        *,
        pool: WasmPool | None = None,
        tenant: str = "",
        _guest: DenoProcess | None = None,
        **keywords: Unpack[WasmKeywords],
    ) -> None:
        own = ("additional_authorized_imports", "logger", "pool", "tenant")
        self.options = WasmOptions.of(type(self).__name__, own, **keywords)
        check_pool(pool, WasmPool)
        self._tenant = check_tenant(tenant)
        if pool is not None:
            names = names_of("additional_authorized_imports", additional_authorized_imports)
            self.options = pool.options_for(self.options, names, keywords)
        super().__init__(additional_authorized_imports, logger, self.options)
        self._pool = pool
        self._first = _guest
        self.start()

    @classmethod
    async def acreate(cls, *args: Any, **keywords: Unpack[WasmArguments]) -> WasmExecutor:
        """Call the constructor without blocking the event loop.

        Waiting for a pool's guest needs no thread. When the task is cancelled, the guest that was
        started for it is closed.
        """
        pool, tenant = keywords.get("pool"), check_tenant(keywords.get("tenant", ""))
        check_pool(pool, WasmPool)
        return await created(
            lambda guest: cls(*args, _guest=guest, **keywords),
            pool,
            tenant,
        )

    def _start(self) -> None:
        check_imports(self.additional_imports)
        if self._pool is None:
            source = GuestSource(self.options, self.additional_imports, weakly(self._note))
        else:
            source = self._pool.source
            self._first = self._first or self._pool.acquire(tenant=self._tenant)
        imports = source.import_names(self.additional_imports)
        self._launch(WasmLauncher(self.options, imports, source, self._first))

    def _cleanup(self) -> None:
        super()._cleanup()
        if self._pool is not None and self._first is not None:
            self._pool.release(self._first)

    def _note(self, text: str) -> None:
        self._log(f"WasmExecutor: {text}", LogLevel.INFO)

    def _files_of_guest(self, ask: Callable[[bytes], bytes]) -> FileStore:
        return GuestFiles(ask, self.options.memory_bytes)

    @contextlib.contextmanager
    def _file_store(self, action: str) -> Iterator[FileStore]:
        if self._inside_own_call():
            raise ExecutorError(
                f"WasmExecutor: {action} from within a tool that its own code has called: the "
                "files are in the machine that waits for the tool; let the tool return the data, "
                "or exchange files after the call"
            )
        with self._turn(action):
            yield self._files_of_guest(self._open_session().ask_file)

    @classmethod
    def setup(cls, **options: Unpack[SetupKeywords]) -> None:
        """Fetch and make what starts need, at an application's start or in an image's build.

        Args:
            options: ``deno``, ``pyodide_dir``, ``cache_dir`` and ``setup_timeout_seconds`` as the
                constructor takes them.
        """
        installation(WasmOptions(**options), log_line)
