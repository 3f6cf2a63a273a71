"""Executor in an E2B sandbox."""

from __future__ import annotations

import functools
import inspect
import secrets
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from ...deadline import Deadline
from ...errors import ExecutorStartError
from ...options.option import about, same_as, taking
from ...options.unknown_names import check_of_executor
from .gateway_executor import GatewayArguments, GatewayExecutor
from .gateway_sandbox import CreatedSandbox

__all__ = ["E2BExecutor"]

# Not that of the template's own Jupyter server, which asks for no token.
_PORT = 8890
_FOLDER = "/home/user"
# The token is in the environment; a server that limits rates would drop output and values.
_SERVER = (
    "command -v jupyter > /dev/null || exit 127; "
    "nohup jupyter server --ServerApp.ip=0.0.0.0 --ServerApp.port={port} "
    "--ServerApp.port_retries=0 --ServerApp.root_dir={folder} --ServerApp.allow_root=True "
    "--ServerApp.allow_remote_access=True --ZMQChannelsWebsocketConnection.limit_rate=False "
    "> /dev/null 2>&1 < /dev/null &"
)
_NOT_FOUND = 127


@dataclass(frozen=True)
class E2BArguments(GatewayArguments):
    """Arguments of the constructor besides those of ``e2b_code_interpreter.Sandbox.create``."""

    _: KW_ONLY
    startup_timeout_seconds: float = same_as(
        GatewayArguments, "startup_timeout_seconds", default=120.0
    )


class E2BExecutor(GatewayExecutor):
    """Runs an agent's code in an E2B sandbox; takes what upstream's ``E2BExecutor`` takes.

    Args:
        *arguments: Upstream's three: ``additional_imports``, ``logger``, ``allow_pickle``.
        **keywords: Those of :class:`E2BArguments`; all others are given to
            ``e2b_code_interpreter.Sandbox.create``, such as ``timeout`` (the sandbox's life, in
            seconds), ``template`` and ``request_timeout``.
    """

    extra = "e2b"

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        known = about(E2BArguments)
        check_of_executor(type(self).__name__, keywords)
        own = {name: value for name, value in keywords.items() if name in known}
        of_service = {name: value for name, value in keywords.items() if name not in known}
        options = E2BArguments.of(type(self).__name__, arguments, own)
        super().__init__(options, "of E2B", functools.partial(_create, of_service))


# Not by the decorator, whose types have no other keywords.
_signature = inspect.signature(taking(E2BArguments)(E2BExecutor.__init__))
E2BExecutor.__init__.__signature__ = _signature.replace(  # type: ignore[attr-defined]
    parameters=[
        *_signature.parameters.values(),
        inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD),
    ]
)


def _create(options: Mapping[str, Any], deadline: Deadline) -> CreatedSandbox:
    from e2b import CommandExitException
    from e2b_code_interpreter import Sandbox  # type: ignore[import-untyped]  # no types

    token = secrets.token_urlsafe(16)
    # Version 1 of the SDK has neither create() nor the token of closed traffic.
    sandbox = getattr(Sandbox, "create", Sandbox)(**options)
    try:
        sandbox.commands.run(
            _SERVER.format(port=_PORT, folder=_FOLDER),
            envs={"JUPYTER_TOKEN": token, "JUPYTER_NO_CONFIG": "1"},
            user="root",
            timeout=deadline.remaining(),
        )
    except BaseException as error:
        sandbox.kill()
        if isinstance(error, CommandExitException) and error.exit_code == _NOT_FOUND:
            raise ExecutorStartError(
                "the E2B sandbox has no jupyter: pass template= with one based on E2B's "
                "code-interpreter template"
            ) from None
        raise
    headers = {"Authorization": f"token {token}"}
    traffic_token = getattr(sandbox, "traffic_access_token", None)
    if traffic_token:
        headers["e2b-traffic-access-token"] = traffic_token
    url = f"https://{sandbox.get_host(_PORT)}"
    return CreatedSandbox(sandbox.sandbox_id, url, lambda: headers, sandbox.kill, sandbox)
