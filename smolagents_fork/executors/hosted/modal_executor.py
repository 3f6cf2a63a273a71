"""Executor in a Modal sandbox."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from ...deadline import Deadline, within
from ...errors import ExecutorStartError
from ...options import accept
from ...options.option import option, same_as, taking
from .gateway_executor import GatewayArguments, GatewayExecutor
from .gateway_sandbox import CreatedSandbox

__all__ = ["ModalExecutor"]


@dataclass(frozen=True)
class ModalArguments(GatewayArguments):
    """Arguments of the constructor; the first six are upstream's, in upstream's order."""

    by_position: ClassVar[tuple[str, ...]] = (
        *GatewayArguments.by_position,
        "app_name",
        "port",
        "create_kwargs",
    )

    app_name: str = option("smolagent-executor", "app that the sandbox belongs to", accept.text)
    port: int = option(8888, "port of the kernel gateway in the sandbox", accept.count)
    create_kwargs: Mapping[str, Any] | None = option(
        None, "further arguments of `modal.Sandbox.create`", accept.mapping
    )
    _: KW_ONLY
    startup_timeout_seconds: float = same_as(
        GatewayArguments,
        "startup_timeout_seconds",
        default=600.0,
        says="time limit for the start of a sandbox, in which Modal may build the image",
    )


class ModalExecutor(GatewayExecutor):
    """Runs an agent's code in a Modal sandbox; takes what upstream's ``ModalExecutor`` takes.

    Args:
        *arguments: Upstream's six: ``additional_imports``, ``logger``, ``allow_pickle``,
            ``app_name``, ``port``, ``create_kwargs``.
        **keywords: Further options, and these six by keyword; :class:`ModalArguments` has all.
    """

    options: ModalArguments
    extra = "modal"

    @taking(ModalArguments)
    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        options = ModalArguments.of(type(self).__name__, arguments, keywords)
        self.port = options.port
        super().__init__(options, "of Modal", functools.partial(_create, options))


def _create(options: ModalArguments, deadline: Deadline) -> CreatedSandbox:
    token = secrets.token_urlsafe(16)
    sandbox = _within(
        deadline, "start", lambda: _request_sandbox(options, token), lambda late: late.terminate()
    )
    try:
        tunnel = _within(deadline, "tunnel", sandbox.tunnels)[options.port]
    except BaseException:
        sandbox.terminate()
        raise
    headers = {"Authorization": f"token {token}"}
    name = str(sandbox.object_id)
    return CreatedSandbox(name, tunnel.url, lambda: headers, sandbox.terminate, sandbox)


def _request_sandbox(options: ModalArguments, token: str) -> Any:
    import modal

    arguments = dict(options.create_kwargs or {})
    defaults: dict[str, Any] = {"timeout": 300}
    if "image" not in arguments:
        defaults["image"] = modal.Image.debian_slim().uv_pip_install(
            "jupyter_kernel_gateway", "ipykernel"
        )
    if "app" not in arguments:
        defaults["app"] = modal.App.lookup(options.app_name, create_if_missing=True)
    return modal.Sandbox.create(
        "jupyter",
        "kernelgateway",
        "--KernelGatewayApp.ip=0.0.0.0",
        f"--KernelGatewayApp.port={options.port}",
        # A server that limits rates would drop output and values.
        "--ZMQChannelsWebsocketConnection.limit_rate=False",
        **{
            **defaults,
            **arguments,
            "encrypted_ports": [*arguments.get("encrypted_ports", ()), options.port],
            "secrets": [
                *arguments.get("secrets", ()),
                modal.Secret.from_dict({"KG_AUTH_TOKEN": token}),
            ],
        },
    )


def _within(
    deadline: Deadline,
    step: str,
    work: Callable[[], Any],
    undo: Callable[[Any], object] = lambda _result: None,
) -> Any:
    """Return the result of a call of the SDK, which has no time limit of its own."""
    late = ExecutorStartError(
        f"Modal: {step} of the sandbox timed out after startup_timeout_seconds={deadline.seconds}"
    )
    return within(deadline.at_most(1e6), work, late, undo)
