"""Executor in a Blaxel sandbox."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from ...deadline import Deadline
from ...errors import ExecutorStartError
from ...sandboxes.resource_limits import check_size, parse_size
from ...upstream import BlaxelExecutor as UpstreamBlaxelExecutor
from ...upstream import RemotePythonExecutor
from .cells import Cell
from .hosted_executor import HostedExecutor
from .kernel_gateway import KernelGateway

__all__ = ["BlaxelExecutor"]

_PORT = 8888
_MEGABYTE = 1 << 20


class BlaxelExecutor(HostedExecutor, UpstreamBlaxelExecutor):  # type: ignore[misc]  # no types
    """Upstream's ``BlaxelExecutor`` with deadlines, images, and errors that have the output.

    Args:
        additional_imports: import names or requirements; ``pip`` installs what provides them.
        logger: upstream's ``AgentLogger``.
        allow_pickle: as upstream; unsafe with code that is not trusted.
        timeout_seconds: longest run of one call, in seconds.
        **options: ``sandbox_name``, ``image``, ``ttl``, ``region`` as upstream, ``memory`` as text
            such as ``"4g"`` (a small number is megabytes, as upstream), and
            ``startup_timeout_seconds``, the longest wait for the service at the start and the end.
    """

    def _begin(
        self,
        additional_imports: Sequence[str],
        logger: Any,
        allow_pickle: bool,
        *,
        sandbox_name: str | None = None,
        image: str = "blaxel/jupyter-notebook",
        memory: int | str = "4g",
        ttl: str | None = None,
        region: str | None = None,
        startup_timeout_seconds: float = 120.0,
    ) -> None:
        self.memory = megabytes_of(memory)
        # Not upstream's constructor: that one logs the API key when the kernel does not start.
        RemotePythonExecutor.__init__(
            self, additional_imports=additional_imports, logger=logger, allow_pickle=allow_pickle
        )
        self.sandbox_name = sandbox_name or f"smolagent-executor-{uuid.uuid4().hex[:8]}"
        self.image, self.region, self.port = image, region, _PORT
        self._start_seconds = startup_timeout_seconds
        runtime: dict[str, Any] = {
            "image": image,
            "memory": self.memory,
            "ports": [{"target": _PORT}],
        }
        spec: dict[str, Any] = {"runtime": runtime}
        if ttl:
            runtime["ttl"] = ttl
        if region:
            spec["region"] = region
        deadline = Deadline(startup_timeout_seconds)
        address = self._create({"metadata": {"name": self.sandbox_name}, "spec": spec}, deadline)
        from blaxel.core import settings

        self._gateway = KernelGateway(f"{address}/port/{_PORT}", settings.headers, "Blaxel")
        self._gateway.start(deadline)
        self.installed_packages = self.install_packages(additional_imports)

    def _create(self, config: Any, deadline: Deadline) -> str:
        """Create the sandbox and return its address."""
        from blaxel.core import SandboxInstance
        from blaxel.core.client.api.compute import create_sandbox
        from blaxel.core.client.models import Sandbox

        self._requested = True
        with self._client(deadline) as client:
            made = create_sandbox.sync(client=client, body=config)
        if not isinstance(made, Sandbox):
            raise ExecutorStartError(
                f"Blaxel did not create the sandbox: {getattr(made, 'message', made)}"
            )
        self.sandbox = SandboxInstance(made)
        return str(made.metadata.url)

    def _client(self, deadline: Deadline) -> Any:
        """Return the SDK's client with a time limit, which it does not have itself."""
        import attrs
        import httpx
        from blaxel.core.client import client

        return attrs.evolve(client, timeout=httpx.Timeout(deadline.at_most(1e6)))

    def _run_cell(self, code: str, deadline: Deadline, cell: Cell) -> None:
        self._gateway.run(code, deadline, cell)

    def _end(self) -> None:
        from blaxel.core.client.api.compute import delete_sandbox

        if not getattr(self, "_requested", False):
            return
        self._requested = False
        try:
            with self._client(Deadline(self._start_seconds)) as client:
                delete_sandbox.sync(client=client, sandbox_name=self.sandbox_name)
        except Exception as error:
            self.logger.log_error(f"Blaxel sandbox {self.sandbox_name} was not deleted: {error}")


def megabytes_of(memory: object) -> int:
    """Return a size in the service's unit; upstream's numbers have it already.

    Raises:
        ConfigurationError: it is not a size.
    """
    if isinstance(memory, int) and not isinstance(memory, bool) and 0 < memory < _MEGABYTE:
        return memory
    check_size("memory", memory, optional=False)
    return max(1, (parse_size(memory) or 0) // _MEGABYTE)
