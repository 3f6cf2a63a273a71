"""Server side of Kubernetes' exec and attach over a WebSocket, in front of a container."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import threading
from collections.abc import Mapping
from typing import IO, Any

from websocket_frames import frame, read_frame, switching_answer

from smolagents_fork.sandboxes.docker.streams.exec_stream import ExecStream, exit_code
from smolagents_fork.sandboxes.docker.streams.hijacking import hijack

INPUT, OUTPUT, ERRORS, STATUS = range(4)


class ChannelServer:
    """One connection, after its request.

    Args:
        connection: to the client.
        reader: of the connection.
        headers: of the request.
        protocol: version of the channels.
    """

    def __init__(
        self,
        connection: socket.socket,
        reader: IO[bytes],
        headers: Mapping[str, str],
        protocol: str | None,
    ) -> None:
        self._connection, self._reader = connection, reader
        self._sending = threading.Lock()
        request = f"Sec-WebSocket-Key: {headers['Sec-WebSocket-Key']}".encode()
        connection.sendall(switching_answer(request, protocol or ""))

    def _send(self, channel: int, data: bytes, opcode: int = 2) -> None:
        payload = (bytes((channel,)) if opcode == 2 else b"") + data
        with self._sending:
            self._connection.sendall(frame(payload, 0x80 | opcode))

    def _messages(self) -> Any:
        """Yield the client's messages until it closes the connection."""
        opcode = 0
        with contextlib.suppress(EOFError):
            while opcode != 8:
                first, plain = read_frame(self._reader.read)
                opcode = first & 0x0F
                if opcode == 2 and plain:
                    yield plain[0], plain[1:]

    def attach(self, api: Any, container: str) -> None:
        """Pass the client's input to the container's first process."""
        # As API servers do, on the first channel that the client reads.
        self._send(STATUS, b"")
        query = {"stdin": 1, "stdout": 1, "stream": 1}
        sock = hijack(api, f"/containers/{container}/attach", query=query, seconds=api.timeout)
        stream = ExecStream(sock)
        reading = threading.Thread(target=self._pass_on, args=(stream,), daemon=True)
        reading.start()
        with contextlib.suppress(OSError, ValueError):
            for channel, data in self._messages():
                if channel == INPUT:
                    _send_all(stream, data)
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
        reading.join(30)
        stream.close()

    def _pass_on(self, stream: ExecStream) -> None:
        """Pass output on until the container or the connection ends."""
        with contextlib.suppress(Exception):
            while data := _receive(stream):
                self._send(OUTPUT, data)
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def execute(self, api: Any, container: str, command: list[str]) -> None:
        """Run a program and pass its streams on."""
        self._send(OUTPUT, b"")
        made = api.exec_create(container, command, stdin=True)["Id"]
        body, errors = {"Detach": False, "Tty": False}, bytearray()
        sock = hijack(api, f"/exec/{made}/start", body=body, seconds=60.0)
        stream = ExecStream(sock, errors.extend)
        answering = threading.Thread(
            target=self._answer, args=(api, container, made, stream, errors), daemon=True
        )
        answering.start()
        with contextlib.suppress(OSError, ValueError):
            for channel, data in self._messages():
                if channel == INPUT:
                    _send_all(stream, data)
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
        answering.join(30)
        stream.close()

    def _answer(
        self, api: Any, container: str, made: str, stream: ExecStream, errors: bytearray
    ) -> None:
        with contextlib.suppress(Exception):
            while data := _receive(stream):
                self._send(OUTPUT, data)
            if errors:
                self._send(ERRORS, bytes(errors))
            code = exit_code(api, container, made)
            status: dict[str, Any] = {"metadata": {}, "status": "Success"}
            if code:
                status = {
                    "status": "Failure",
                    "message": f"command terminated with non-zero exit code {code}",
                    "reason": "NonZeroExitCode",
                    "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
                }
            self._send(STATUS, json.dumps(status).encode())
            self._send(0, b"", opcode=8)
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)


def _receive(stream: ExecStream) -> bytes:
    while True:
        try:
            return stream.recv(32_768)
        except BlockingIOError:
            select.select([stream.fileno()], [], [], 30)


def _send_all(stream: ExecStream, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[stream.send(bytes(view)) :]
        except BlockingIOError:
            select.select([], [stream.fileno()], [], 30)
