"""Pool of ready containers."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import ConfigurationError
from ...sandboxes.engine_protocol import Engine, ReportsWaitingStarts
from ...sandboxes.termination import exit_on_sigterm
from ..jupyter.connection import KernelConnection
from ..jupyter.image_progress import shown_progress
from ..pools.demand import OnDemand
from ..pools.sandbox_pool import POOL_PARAMETERS, SandboxPool
from .engine_choice import engine_for
from .options import Options, connection_to

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .option_groups import DockerKeywordsWithUpstreams

__all__ = ["DockerPool"]


class DockerPool(SandboxPool[KernelConnection]):
    """Ready containers for :class:`DockerExecutor`.

    Args:
        min_size: containers kept ready.
        max_size: most containers ready, starting and in use together.
        idle_seconds: time after which a ready container above ``min_size`` is removed.
        acquire_timeout_seconds: time an executor waits for a container.
        concurrent_starts: most starts at a time.
        additional_imports: as for the executor; executors may ask for these and no others.
        max_per_tenant: most containers in use by executors with the same ``tenant``; ``None``: no
            limit but ``max_size``.
        on_demand: called as ``on_demand(needed, capacity)`` when executors have to wait: ``needed``
            containers are in use or would be if there were enough, ``capacity`` is ``max_size``.
        engine: where the containers run; ``None``: Docker's engine that the environment names.
        **keywords: the executor's options of the container.

    Raises:
        ConfigurationError: an argument that cannot work.
    """

    noun: ClassVar[str] = "container"
    own_options: ClassVar[frozenset[str]] = frozenset(
        {
            "max_print_outputs_length",
            "timeout_seconds",
            "startup_timeout_seconds",
            "interrupt_grace_seconds",
            "on_death",
            "on_output",
            "figures_dir",
            "tool_placement",
            "additional_functions",
            "tool_timeout_seconds",
            "max_tool_calls",
        }
    )

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
        engine: Engine | None = None,
        **keywords: Unpack[DockerKeywordsWithUpstreams],
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
        self.options = Options.of("DockerPool", ("engine", *POOL_PARAMETERS), **keywords)
        #: Where the containers run.
        self.engine = engine_for(engine, self.options)
        self._image: str | None = None
        self._image_lock = threading.Lock()
        # Here, because other threads than the main one start the containers.
        exit_on_sigterm()
        self._fill()

    def options_for(
        self, asked: Options, imports: Sequence[str], given: Collection[str] = ()
    ) -> Options:
        """Return the pool's options, with the executor's own taken from ``asked``.

        Args:
            asked: the executor's options.
            imports: names the executor's code may import.
            given: names of the options that were given, also if with their default.

        Raises:
            ConfigurationError: the executor asks for another container than the pool's.
        """
        values = {name: asked.value(name) for name in given}
        kept, sent = asked.limits.print_length, self.options.limits.streamed_length
        if kept > sent:
            raise ConfigurationError(
                f"max_print_outputs_length={kept}: the pool's kernels send {sent} characters; give "
                "the pool the larger one, too"
            )
        return self.options.with_values(self.chosen(values, imports))

    def _option(self, name: str) -> Any:
        return self.options.value(name)

    def _is_alive(self, sandbox: KernelConnection) -> bool:
        return sandbox.is_alive()

    def _waiting_starts(self) -> str:
        engine: object = self.engine
        return engine.waiting_starts() if isinstance(engine, ReportsWaitingStarts) else ""

    def _start(self) -> KernelConnection:
        connection: KernelConnection | None = None
        provisioner = self.engine.connect(self.options.container)
        try:
            with self._image_lock:
                if self._image is None:
                    spec = self.options.image_spec(self.additional_imports)
                    with shown_progress() as report:
                        self._image = provisioner.prepare_image(spec, report=report)
            connection = connection_to(provisioner, self.options, self._image)
            connection.open(self.options.limits.startup_timeout_seconds, rehearse=True)
        except BaseException:
            (connection or provisioner).close()
            raise
        return connection
