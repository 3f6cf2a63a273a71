"""Pool of ready guests in WebAssembly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ...errors import ExecutorStartError, ProtocolError, SandboxDiedError
from ...options.option import taking
from ...wasm.deno_process import DenoProcess
from ..pools.pool_options import PoolOptions
from ..pools.sandbox_pool import SandboxPool
from .guest_source import PyodideSource
from .wasm_options import WasmOptions

__all__ = ["WasmPool"]


@dataclass(frozen=True)
class WasmPoolArguments(WasmOptions, PoolOptions):
    """Arguments of the constructor: the pool's own, and the executor's options of the guest."""


class WasmPool(SandboxPool[DenoProcess, WasmOptions]):
    """Ready guests for :class:`WasmExecutor`: Pyodide and the packages are loaded.

    :class:`WasmPoolArguments` has the arguments, with what each is for.

    Args:
        *arguments: ``min_size``, ``max_size``, ``idle_seconds``, ``acquire_timeout_seconds``.
        **keywords: Further options, and these four by keyword.

    Raises:
        ConfigurationError: an argument is invalid.
        ExecutorStartError: the system cannot run guests.

    Example:
        >>> with WasmPool(min_size=1, max_size=2) as pool:
        ...     with WasmExecutor(pool=pool) as executor:
        ...         executor("6 * 7").output
        42
    """

    noun: ClassVar[str] = "guest"

    @taking(WasmPoolArguments)
    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        options = WasmPoolArguments.of("WasmPool", arguments, keywords)
        super().__init__(options, WasmOptions, {"network"})
        #: Starts the guests, also those that follow an executor's first one.
        self.source = PyodideSource(self.options, self.additional_imports)
        self._fill()

    def _is_alive(self, sandbox: DenoProcess) -> bool:
        return not sandbox.ended

    def _start(self) -> DenoProcess:
        try:
            return self.source.start(self.options.startup_timeout_seconds)
        except (SandboxDiedError, ProtocolError) as error:
            raise ExecutorStartError(f"a guest did not start: {error}") from None
