"""Executor in a Modal sandbox."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...deadline import Deadline
from ...errors import ExecutorStartError
from ...upstream import ModalExecutor as UpstreamModalExecutor
from ...upstream import RemotePythonExecutor
from .cells import Cell
from .hosted_executor import HostedExecutor
from .kernel_gateway import KernelGateway

__all__ = ["ModalExecutor"]

# Longest wait for the end of a sandbox, in seconds.
_END_SECONDS = 30.0


class ModalExecutor(HostedExecutor, UpstreamModalExecutor):  # type: ignore[misc]  # no types
    """Upstream's ``ModalExecutor`` with deadlines, images, and errors that have the output.

    Args:
        additional_imports: import names or requirements; ``pip`` installs what provides them.
        logger: upstream's ``AgentLogger``.
        allow_pickle: as upstream; unsafe with code that is not trusted.
        timeout_seconds: longest run of one call, in seconds.
        **options: ``app_name``, ``port`` and ``create_kwargs`` as upstream, and
            ``startup_timeout_seconds``, the longest wait for the start, in which Modal may build
            the image.
    """

    def _begin(
        self,
        additional_imports: Sequence[str],
        logger: Any,
        allow_pickle: bool,
        *,
        app_name: str = "smolagent-executor",
        port: int = 8888,
        create_kwargs: Mapping[str, Any] | None = None,
        startup_timeout_seconds: float = 600.0,
    ) -> None:
        # Not upstream's constructor: that one asks a server that answers with errors for ever.
        RemotePythonExecutor.__init__(
            self, additional_imports=additional_imports, logger=logger, allow_pickle=allow_pickle
        )
        self.port = port
        token = secrets.token_urlsafe(16)
        deadline = Deadline(startup_timeout_seconds)
        given = dict(create_kwargs or {})

        def create() -> Any:
            import modal

            defaults: dict[str, Any] = {"timeout": 300}
            if "image" not in given:
                defaults["image"] = modal.Image.debian_slim().uv_pip_install(
                    "jupyter_kernel_gateway", "ipykernel"
                )
            if "app" not in given:
                defaults["app"] = modal.App.lookup(app_name, create_if_missing=True)
            return modal.Sandbox.create(
                "jupyter",
                "kernelgateway",
                "--KernelGatewayApp.ip=0.0.0.0",
                f"--KernelGatewayApp.port={port}",
                **{
                    **defaults,
                    **given,
                    "encrypted_ports": [*given.get("encrypted_ports", ()), port],
                    "secrets": [
                        *given.get("secrets", ()),
                        modal.Secret.from_dict({"KG_AUTH_TOKEN": token}),
                    ],
                },
            )

        self.sandbox = _in_time("start", create, deadline, lambda sandbox: sandbox.terminate())
        tunnel = _in_time("tunnel", self.sandbox.tunnels, deadline)[port]
        headers = {"Authorization": f"token {token}"}
        self._gateway = KernelGateway(tunnel.url, headers, "Modal")
        self._gateway.start(deadline)
        self.installed_packages = self.install_packages(additional_imports)

    def _run_cell(self, code: str, deadline: Deadline, cell: Cell) -> None:
        self._gateway.run(code, deadline, cell)

    def _end(self) -> None:
        sandbox = getattr(self, "sandbox", None)
        if sandbox is None:
            return
        self.sandbox = None
        try:
            _in_time("end", sandbox.terminate, Deadline(_END_SECONDS))
        except Exception as error:
            self.logger.log_error(f"Modal sandbox was not ended: {error}")


def _in_time(
    what: str,
    call: Callable[[], Any],
    deadline: Deadline,
    undo: Callable[[Any], object] = lambda _result: None,
) -> Any:
    """Return the result of ``call``, which has no time limit of its own.

    Args:
        what: is being done, for the message.
        call: runs in a thread.
        deadline: of the wait.
        undo: gets a result that comes too late.

    Raises:
        ExecutorStartError: the deadline expired.
    """
    lock = threading.Lock()
    finished = threading.Event()
    outcome: list[Any] = []
    abandoned = False

    def work() -> None:
        error: BaseException | None = None
        result: Any = None
        try:
            result = call()
        except BaseException as raised:
            error = raised
        with lock:
            outcome[:] = [result, error]
            late = abandoned
        finished.set()
        if late and error is None:
            with contextlib.suppress(Exception):
                undo(result)

    threading.Thread(target=work, name=f"smolagents-fork-modal-{what}", daemon=True).start()
    finished.wait(deadline.remaining())
    with lock:
        if not outcome:
            abandoned = True
            raise ExecutorStartError(
                f"Modal: {what} of the sandbox timed out after {deadline.seconds} seconds"
            )
    result, error = outcome
    if error is not None:
        raise error
    return result
