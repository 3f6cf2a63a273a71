"""Kernel behind a Jupyter gateway at a web address, with a deadline on every wait."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from typing import Any

import requests
import websocket

from ...deadline import Deadline
from ...errors import (
    ExecutorError,
    ExecutorStartError,
    ProtocolError,
    SandboxDiedError,
    SandboxTimeoutError,
)
from ...jupyter.gateway_api import kernel_id_of
from ...jupyter.protocol import KernelGone, KernelRequest, Requests, Sink
from ...jupyter.wire import decode, encode
from .cells import Cell, CellError

__all__ = ["KernelGateway"]

# Longest single request, and longest wait for one message, in seconds.
_REQUEST_SECONDS = 30.0
_POLL_SECONDS = 1.0
# Pause between two questions whether the gateway has started.
_PAUSE_SECONDS = 0.5
# How long an interrupted program may take to end.
_INTERRUPT_SECONDS = 10.0
_NOT_ALLOWED = (401, 403)


class KernelGateway:
    """One kernel of a gateway.

    Args:
        address: Address of the gateway, without a slash at its end.
        headers: sent with every request; they may be secret, so no message quotes them.
        service: name of the service, for messages.
    """

    def __init__(self, address: str, headers: Mapping[str, str], service: str) -> None:
        self._address = address
        self._headers = dict(headers)
        self._service = service
        self._kernel = ""

    def start(self, deadline: Deadline) -> None:
        """Wait until the gateway answers, and start a kernel.

        Raises:
            ExecutorStartError: the gateway refused, or did not start before the deadline.
        """
        last = ""
        while True:
            said = self._try_to_start(deadline)
            if not said:
                return
            if not last or not deadline.expired():
                last = said  # a request that the deadline cut short says less than the one before
            if deadline.remaining() is not None and deadline.at_most(1e9) < _PAUSE_SECONDS:
                raise ExecutorStartError(
                    f"{self._service}: no kernel after "
                    f"startup_timeout_seconds={deadline.seconds}; {last}"
                )
            time.sleep(_PAUSE_SECONDS)

    def _try_to_start(self, deadline: Deadline) -> str:
        """Start a kernel; return why that failed, or an empty text."""
        try:
            answer = self._request("GET", "/api/kernelspecs", deadline)
            if answer.status_code == 200:
                answer = self._request("POST", "/api/kernels", deadline)
                if answer.status_code == 201:
                    self._kernel = kernel_id_of(answer.content)
                    return ""
        except (requests.RequestException, ProtocolError) as error:
            return f"the last answer was {type(error).__name__}: {error}"
        said = f"the last answer was {answer.status_code} {answer.text[:500]}"
        if answer.status_code in _NOT_ALLOWED:
            raise ExecutorStartError(f"{self._service}: no kernel; {said}")
        return said

    def run(self, code: str, deadline: Deadline, cell: Cell) -> None:
        """Run ``code`` and fill ``cell`` as its messages arrive.

        Raises:
            SandboxTimeoutError: the deadline expired; the message says whether state is kept.
            SandboxDiedError: the kernel or the connection has ended.
            ExecutorError: the gateway refused the connection.
        """
        session = Requests(uuid.uuid4().hex, "")
        message = session.execute(code, silent=False)
        request = KernelRequest(message, _sink(cell), session.comm_id)
        connection = self._connect(deadline)
        try:
            connection.send(encode(message, v1=False)[0])
            in_time = _wait(connection, request, deadline)
            ended = in_time or self._interrupt(connection, request)
        except websocket.WebSocketTimeoutException as error:
            raise ExecutorError(f"{self._service} did not take the code: {error}") from None
        except (websocket.WebSocketException, OSError) as error:
            raise SandboxDiedError(
                f"the connection to the {self._service} sandbox ended: {error}"
            ) from None
        except KernelGone as error:
            raise SandboxDiedError(
                f"the kernel in the {self._service} sandbox has ended ({error}); variables and "
                "tools are lost"
            ) from None
        finally:
            connection.shutdown()
        if not in_time:
            raise SandboxTimeoutError(
                f"code ran past timeout_seconds={deadline.seconds}; "
                + ("it was interrupted and its state is kept" if ended else "it may still run")
            )
        if request.error is not None:
            failed = request.error
            cell.error = CellError(failed.name, failed.value, failed.traceback)

    def _connect(self, deadline: Deadline) -> Any:
        address = f"{self._address}/api/kernels/{self._kernel}/channels"
        try:
            return websocket.create_connection(
                "ws" + address.removeprefix("http"),
                header=[f"{name}: {value}" for name, value in self._headers.items()],
                timeout=deadline.at_most(_REQUEST_SECONDS),
            )
        except websocket.WebSocketTimeoutException:
            raise SandboxTimeoutError(
                f"code ran past timeout_seconds={deadline.seconds}; {self._service} did not "
                "accept it"
            ) from None
        except Exception as error:
            # Not every version of the package has an error of its own for an invalid answer.
            # Without what follows the status, which is the answer's headers.
            said = str(error).partition(" -+-+-")[0]
            raise ExecutorError(f"{self._service} did not run the code: {said}") from None

    def _interrupt(self, connection: Any, request: KernelRequest) -> bool:
        """Interrupt the code; return whether it has ended then."""
        deadline = Deadline(_INTERRUPT_SECONDS)
        try:
            self._request("POST", f"/api/kernels/{self._kernel}/interrupt", deadline)
        except requests.RequestException:
            return False
        return _wait(connection, request, deadline)

    def _request(self, method: str, path: str, deadline: Deadline) -> requests.Response:
        return requests.request(
            method,
            self._address + path,
            headers=self._headers,
            timeout=deadline.at_most(_REQUEST_SECONDS) + 0.001,
        )


def _sink(cell: Cell) -> Sink:
    def display(content: dict[str, Any]) -> None:
        forms = content.get("data")
        if not isinstance(forms, dict):
            return
        # Only the value of the last expression has a number.
        if "execution_count" in content:
            cell.result = forms
        else:
            cell.shown.add(forms)

    return Sink(stream=lambda _name, text, _lost: cell.write(text), display=display)


def _wait(connection: Any, request: KernelRequest, deadline: Deadline) -> bool:
    """Feed messages to ``request`` until it is done; return whether that was in time."""
    while not request.done:
        if deadline.expired():
            return False
        connection.settimeout(deadline.at_most(_POLL_SECONDS) + 0.001)
        try:
            opcode, payload = connection.recv_data()
        except websocket.WebSocketTimeoutException:
            continue
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            raise websocket.WebSocketConnectionClosedException("closed by the gateway")
        try:
            message = decode(payload, v1=False, binary=opcode == websocket.ABNF.OPCODE_BINARY)
        except ProtocolError:
            continue
        request.feed(message, 0)
    return True
