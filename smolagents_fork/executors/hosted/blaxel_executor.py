"""Executor in a Blaxel sandbox."""

from __future__ import annotations

import contextlib
import functools
import uuid
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from ...deadline import Deadline
from ...errors import ExecutorStartError
from ...options import accept
from ...options.option import option, same_as, taking
from ...sandboxes.resource_limits import parse_size, size
from .gateway_executor import GatewayArguments, GatewayExecutor
from .gateway_sandbox import CreatedSandbox

__all__ = ["BlaxelExecutor"]

_PORT = 8888
_MEGABYTE = 1 << 20


def megabytes_of(name: str, value: object) -> int:
    """Return a size in the service's unit; upstream's numbers have it already.

    Args:
        name: of the option, for the message.
        value: text such as ``"4g"``, bytes, or megabytes below one mebibyte.

    Raises:
        ConfigurationError: it is not a size.
    """
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _MEGABYTE:
        return value
    return max(1, (parse_size(size(name, value)) or 0) // _MEGABYTE)


@dataclass(frozen=True)
class BlaxelArguments(GatewayArguments):
    """Arguments of the constructor; the first eight are upstream's, in upstream's order."""

    by_position: ClassVar[tuple[str, ...]] = (
        *GatewayArguments.by_position,
        "sandbox_name",
        "image",
        "memory",
        "ttl",
        "region",
    )

    sandbox_name: str | None = option(
        None, "name of the sandbox; `None`: one that nobody has", accept.text_or_none
    )
    image: str = option(
        "blaxel/jupyter-notebook", "image with a Jupyter gateway on port 8888", accept.text
    )
    memory: int | str = option(
        "4g", "memory of the sandbox; a number below 1 MiB is megabytes", megabytes_of
    )
    ttl: str | None = option(None, "life of the sandbox, as Blaxel has it", accept.text_or_none)
    region: str | None = option(None, "region of the sandbox", accept.text_or_none)
    _: KW_ONLY
    startup_timeout_seconds: float = same_as(
        GatewayArguments, "startup_timeout_seconds", default=120.0
    )


class BlaxelExecutor(GatewayExecutor):
    """Runs an agent's code in a Blaxel sandbox; takes what upstream's ``BlaxelExecutor`` takes.

    Args:
        *arguments: Upstream's eight: ``additional_imports``, ``logger``, ``allow_pickle``,
            ``sandbox_name``, ``image``, ``memory``, ``ttl``, ``region``.
        **keywords: Further options, and these eight by keyword; :class:`BlaxelArguments` has all.
    """

    options: BlaxelArguments
    extra = "blaxel"

    @taking(BlaxelArguments)
    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        options = BlaxelArguments.of(type(self).__name__, arguments, keywords)
        super().__init__(options, options.image, functools.partial(_create, options))

    @property
    def sandbox_name(self) -> str | None:
        """Name of the sandbox; ``None`` without one."""
        sandbox = self._kernel.sandbox
        return None if sandbox is None else sandbox.id


def _create(options: BlaxelArguments, deadline: Deadline) -> CreatedSandbox:
    from blaxel.core import SandboxInstance, settings
    from blaxel.core.client.api.compute import create_sandbox
    from blaxel.core.client.models import Sandbox

    name = options.sandbox_name or f"smolagent-executor-{uuid.uuid4().hex[:8]}"

    def end() -> None:
        _delete_sandbox(name, options.startup_timeout_seconds)

    try:
        with _client(deadline) as client:
            created = create_sandbox.sync(client=client, body=_configuration(name, options))
        if not isinstance(created, Sandbox):
            raise ExecutorStartError(
                f"Blaxel did not create the sandbox: {getattr(created, 'message', created)}"
            )
    except BaseException:
        # It may have been created although its answer did not come.
        with contextlib.suppress(Exception):
            end()
        raise
    url = f"{created.metadata.url}/port/{_PORT}"
    return CreatedSandbox(name, url, lambda: settings.headers, end, SandboxInstance(created))


def _configuration(name: str, options: BlaxelArguments) -> Any:
    runtime: dict[str, Any] = {
        "image": options.image,
        "memory": options.memory,
        "ports": [{"target": _PORT}],
    }
    spec: dict[str, Any] = {"runtime": runtime}
    if options.ttl:
        runtime["ttl"] = options.ttl
    if options.region:
        spec["region"] = options.region
    return {"metadata": {"name": name}, "spec": spec}


def _delete_sandbox(name: str, seconds: float) -> None:
    from blaxel.core.client.api.compute import delete_sandbox

    with _client(Deadline(seconds)) as client:
        delete_sandbox.sync(client=client, sandbox_name=name)


def _client(deadline: Deadline) -> Any:
    """Return the SDK's client with a time limit, which it does not have itself."""
    import attrs
    import httpx
    from blaxel.core.client import client

    return attrs.evolve(client, timeout=httpx.Timeout(deadline.at_most(1e6)))
