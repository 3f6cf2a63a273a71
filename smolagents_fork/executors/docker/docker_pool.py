"""Pool of ready containers."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...errors import ConfigurationError
from ...options.option import taking
from ...sandboxes.termination import exit_on_sigterm
from ...system.closing import close_on_error
from ..jupyter.connection import KernelConnection
from ..pools.pool_options import PoolOptions
from ..pools.sandbox_pool import SandboxPool
from .options import DockerOptions, EngineOption, connection_to, engine_for

__all__ = ["DockerPool"]


@dataclass(frozen=True)
class DockerPoolArguments(DockerOptions, EngineOption, PoolOptions):
    """Arguments of the constructor: the pool's own, and the executor's options of the container."""


class DockerPool(SandboxPool[KernelConnection, DockerOptions]):
    """Ready containers for :class:`DockerExecutor`.

    :class:`DockerPoolArguments` has the arguments, with what each is for.

    Args:
        *arguments: ``min_size``, ``max_size``, ``idle_seconds``, ``acquire_timeout_seconds``.
        **keywords: Further options, and these four by keyword.

    Raises:
        ConfigurationError: an argument is invalid.

    Example:
        >>> with DockerPool(min_size=1, max_size=4, memory="1g") as pool:
        ...     with DockerExecutor(pool=pool) as executor:
        ...         executor("6 * 7").output
        42
    """

    noun: ClassVar[str] = "container"

    @taking(DockerPoolArguments)
    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        options = DockerPoolArguments.of("DockerPool", arguments, keywords)
        super().__init__(options, DockerOptions)
        #: Where the containers run.
        self.engine = engine_for(options.engine, self.options)
        self._image: str | None = None
        self._image_lock = threading.Lock()
        # Here, because other threads than the main one start the containers.
        exit_on_sigterm()
        self._fill()

    def options_for(self, requested: DockerOptions, imports: Sequence[str]) -> DockerOptions:
        """Return the executor's options; it may not keep more output than is sent."""
        kept, sent = requested.print_length, self.options.streamed_length
        if kept > sent:
            raise ConfigurationError(
                f"max_print_outputs_length={kept}: the pool's kernels send {sent} characters; "
                "pass the larger number to the pool, too"
            )
        return super().options_for(requested, imports)

    def _is_alive(self, sandbox: KernelConnection) -> bool:
        return sandbox.is_alive()

    def _start(self) -> KernelConnection:
        provisioner = self.engine.connect(self.options.container)
        with close_on_error(provisioner):
            with self._image_lock:
                if self._image is None:
                    self._image = self.options.prepare_image(provisioner, self.additional_imports)
            connection = connection_to(provisioner, self.options, self._image)
        with close_on_error(connection):
            connection.open(self.options.startup_timeout_seconds, rehearse=True)
        return connection
