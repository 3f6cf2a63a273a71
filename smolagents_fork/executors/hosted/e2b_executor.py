"""Executor in an E2B sandbox."""

from __future__ import annotations

from typing import Any

from ...deadline import Deadline
from ...errors import ExecutorError, SandboxDiedError, SandboxTimeoutError
from ...upstream import E2BExecutor as UpstreamE2BExecutor
from .cells import Cell, CellError
from .hosted_executor import HostedExecutor

__all__ = ["E2BExecutor"]

# MIME type of each form of a result, by the SDK's name; the best first.
_MIME_TYPES = {
    "png": "image/png",
    "jpeg": "image/jpeg",
    "svg": "image/svg+xml",
    "html": "text/html",
    "json": "application/json",
    "latex": "text/latex",
    "markdown": "text/markdown",
    "text": "text/plain",
    "javascript": "application/javascript",
    "pdf": "application/pdf",
}
# How much earlier than asked the SDK's clock may end a request.
_EARLY_SECONDS = 0.1
# Names of errors by which the service says that the kernel, with all state, has ended.
_KERNEL_ENDED = frozenset({"ContextRestarting", "UnexpectedEndOfExecution"})


class E2BExecutor(HostedExecutor, UpstreamE2BExecutor):  # type: ignore[misc]  # no types upstream
    """Upstream's ``E2BExecutor`` with deadlines, standard error, and a checked ``pip install``.

    Args:
        additional_imports: import names or requirements; ``pip`` installs what provides them.
        logger: upstream's ``AgentLogger``.
        allow_pickle: as upstream; unsafe with code that is not trusted.
        timeout_seconds: longest run of one call, in seconds.
        **options: Options of ``e2b_code_interpreter.Sandbox.create``, such as ``timeout`` (the
            sandbox's life, in seconds) and ``request_timeout``.
    """

    def _run_cell(self, code: str, deadline: Deadline, cell: Cell) -> None:
        import e2b
        import httpx

        def show(result: Any) -> None:
            forms = {
                mime: getattr(result, name)
                for name, mime in _MIME_TYPES.items()
                if getattr(result, name) is not None
            }
            if result.is_main_result:
                cell.result = forms
            else:
                cell.shown.add(forms)

        def write(message: Any) -> None:
            cell.write(message.line)

        try:
            execution = self.sandbox.run_code(
                code,
                on_stdout=write,
                on_stderr=write,
                on_result=show,
                timeout=deadline.remaining(),
            )
        except e2b.TimeoutException as error:
            if deadline.at_most(_EARLY_SECONDS) < _EARLY_SECONDS:
                raise SandboxTimeoutError(
                    f"code ran past timeout_seconds={deadline.seconds}; the service interrupts it, "
                    "and its state may be kept"
                ) from None
            raise SandboxDiedError(f"the E2B sandbox has ended: {error}") from None
        except e2b.NotFoundException as error:
            raise SandboxDiedError(f"the E2B sandbox has ended: {error}") from None
        except (e2b.SandboxException, httpx.HTTPError, OSError, ValueError) as error:
            raise ExecutorError(
                f"E2B did not run the code: {type(error).__name__}: {error}"
            ) from None
        if execution.error is not None:
            name, value = execution.error.name, execution.error.value
            if name in _KERNEL_ENDED:
                raise SandboxDiedError(
                    f"the kernel in the E2B sandbox has ended ({name}: {value}); variables and "
                    "tools are lost"
                )
            cell.error = CellError(name, value, execution.error.traceback)
