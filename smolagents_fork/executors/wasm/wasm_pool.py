"""Pool of ready guests in WebAssembly."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import ExecutorStartError, ProtocolError, SandboxDiedError
from ...wasm.deno_process import DenoProcess
from ..guests.guest_options import GuestOptions, option_names
from ..pools.demand import OnDemand
from ..pools.sandbox_pool import POOL_PARAMETERS, SandboxPool
from .guest_source import GuestSource
from .wasm_options import WasmOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .wasm_options import WasmKeywords

__all__ = ["WasmPool"]


class WasmPool(SandboxPool[DenoProcess]):
    """Ready guests for :class:`WasmExecutor`: Pyodide and the packages are loaded.

    Args:
        min_size: guests kept ready.
        max_size: most guests ready, starting and in use together.
        idle_seconds: time after which a ready guest above ``min_size`` is removed.
        acquire_timeout_seconds: time an executor waits for a guest.
        concurrent_starts: most starts at a time.
        additional_imports: modules that executors may ask for besides the built-in list.
        max_per_tenant: most guests in use by executors with the same ``tenant``; ``None``: no
            limit but ``max_size``.
        on_demand: called as ``on_demand(needed, capacity)`` when executors have to wait: ``needed``
            guests are in use or would be if there were enough, ``capacity`` is ``max_size``.
        **keywords: the executor's options of the guest.

    Raises:
        ConfigurationError: an argument that cannot work.
        ExecutorStartError: the system cannot run guests.
    """

    noun: ClassVar[str] = "guest"
    # Of the others, a guest is started with these.
    own_options: ClassVar[frozenset[str]] = frozenset(option_names(GuestOptions)) - {
        "max_value_bytes",
        "memory",
    }

    def __init__(
        self,
        min_size: int = 1,
        max_size: int = 8,
        idle_seconds: float = 300.0,
        acquire_timeout_seconds: float = 60.0,
        *,
        concurrent_starts: int = 2,
        additional_imports: Sequence[str] = (),
        max_per_tenant: int | None = None,
        on_demand: OnDemand | None = None,
        **keywords: Unpack[WasmKeywords],
    ) -> None:
        super().__init__(
            min_size,
            max_size,
            idle_seconds,
            acquire_timeout_seconds,
            concurrent_starts,
            additional_imports,
            max_per_tenant,
            on_demand,
        )
        self.options = WasmOptions.of("WasmPool", POOL_PARAMETERS, **keywords)
        #: Starts the guests, also those that follow an executor's first one.
        self.source = GuestSource(self.options, self.additional_imports)
        self._fill()

    def options_for(
        self, asked: WasmOptions, imports: Sequence[str], given: Collection[str]
    ) -> WasmOptions:
        """Return the pool's options, with the executor's own taken from ``asked``.

        Args:
            asked: the executor's options.
            imports: names the executor's code may import.
            given: names of the options that were given, also if with their default.

        Raises:
            ConfigurationError: the executor asks for another guest than the pool's.
        """
        values = {name: getattr(asked, name) for name in given}
        return dataclasses.replace(self.options, **self.chosen(values, imports))

    def _option(self, name: str) -> Any:
        return getattr(self.options, name)

    def _is_alive(self, sandbox: DenoProcess) -> bool:
        return not sandbox.ended

    def _start(self) -> DenoProcess:
        try:
            return self.source.start(self.options.startup_timeout_seconds)
        except (SandboxDiedError, ProtocolError) as error:
            raise ExecutorStartError(f"a guest did not start: {error}") from None
