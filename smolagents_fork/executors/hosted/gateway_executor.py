"""Base of the executors whose hosted sandbox has a Jupyter gateway at a web address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from ...deadline import Deadline
from ...options import accept
from ...options.option import option, same_as
from ...sandboxes.provisioner import SandboxSpec
from ...upstream import LogLevel
from ..call_options import Arguments
from ..jupyter.connection import KernelConnection, KernelSettings
from ..jupyter.kernel_executor import KernelExecutor
from ..jupyter.kernel_options import KernelOptions
from ..jupyter.packages import Packages
from ..weak_methods import weakly
from .gateway_sandbox import CreatedSandbox, GatewayService, WebGateway

__all__ = ["GatewayArguments", "GatewayExecutor"]

# Limit of an installation, in seconds.
_INSTALL_SECONDS = 600.0
# Longest wait for the end of a sandbox, in seconds.
_END_SECONDS = 30.0


@dataclass(frozen=True)
class GatewayArguments(KernelOptions):
    """Arguments of the constructors; the first three are upstream's, in upstream's order."""

    by_position: ClassVar[tuple[str, ...]] = ("additional_imports", "logger", "allow_pickle")

    additional_imports: Sequence[str] = option(
        (),
        "import names or requirements; `pip` installs what provides them at the start",
        accept.names,
        form="import names",
    )
    logger: Any = same_as(Arguments, "logger")
    _: KW_ONLY
    timeout_seconds: float | None = same_as(KernelOptions, "timeout_seconds", default=300.0)


class GatewayExecutor(KernelExecutor):
    """An executor whose code runs in a kernel of a hosted sandbox."""

    options: GatewayArguments
    #: Extra that installs the service's SDK, and name of the executor.
    extra: ClassVar[str]

    def __init__(
        self,
        arguments: GatewayArguments,
        image: str,
        create: Callable[[Deadline], CreatedSandbox],
    ) -> None:
        names = arguments.additional_imports
        packages = Packages(_INSTALL_SECONDS, f"{_INSTALL_SECONDS:g} s", names)
        super().__init__(names, arguments.logger, arguments, packages)
        self._service = GatewayService(create, weakly(self._log_error), self.extra)
        seconds = arguments.startup_timeout_seconds
        self._kernel = KernelConnection(
            self._service,
            SandboxSpec(image, workdir="", start_seconds=seconds),
            KernelSettings(
                max_print_outputs_length=arguments.print_length,
                max_value_bytes=arguments.max_value_bytes,
                allow_pickle=arguments.allow_pickle,
                allow_root=True,  # the service decides
            ),
        )
        self.start()

    def _start(self) -> None:
        self._open_kernel(self._kernel)

    def _cleanup(self) -> None:
        super()._cleanup()
        service = getattr(self, "_service", None)
        if service is not None:
            service.wait_until_removed(_END_SECONDS)

    @property
    def sandbox(self) -> Any:
        """Object of the service's SDK for the sandbox; ``None`` without one."""
        sandbox = self._kernel.sandbox
        return sandbox.created.sdk_object if isinstance(sandbox, WebGateway) else None

    def _sandbox_name(self) -> str:
        sandbox = self._kernel.sandbox
        return "" if sandbox is None else f"hosted sandbox {sandbox.id}"

    def _log_error(self, line: str) -> None:
        self._log(line, LogLevel.ERROR)
