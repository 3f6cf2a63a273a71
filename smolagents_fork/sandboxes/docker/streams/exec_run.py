"""Execution of a program in a container, over an attached stream or without input."""

from __future__ import annotations

import contextlib
import queue
import select
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....deadline import Deadline
from ....errors import ExecutorError
from ...stream_errors import StreamLost, TooMuchOutput
from ..engine import mapped_errors
from .exec_stream import STDERR, AttachedConnection, ExecStream, frames, start_exec
from .hijacking import carries_streams

if TYPE_CHECKING:
    from docker.api.client import APIClient

__all__ = ["exit_code", "run_attached", "run_detached", "run_lines"]

# Bytes of standard error that are kept.
_MAX_STDERR = 8192
# Runs a program, without input, when the host has written a byte. docker-py's client may read the
# first output with the head of the answer, and lose it: here there is none before.
_AFTER_HEAD = """
import os,sys
os.read(0,1)
os.dup2(os.open(os.devnull,os.O_RDONLY),0)
os.execvp(sys.argv[1],sys.argv[1:])
"""
# Pause between two looks whether a silent stream has been cut.
_LOOK_SECONDS = 1.0
# Time the engine may take to notice the end of a program after the end of its output.
_EXIT_SECONDS = 15.0


def run_attached(
    stream: ExecStream,
    *,
    stdin: Iterable[bytes],
    timeout: float,
    max_bytes: int,
    is_lost: Callable[[], bool] = lambda: False,
) -> bytes:
    """Give a started program its input and return its output; closes the stream.

    Args:
        stream: to the program.
        stdin: pieces of its input, whose end not every connection can signal.
        timeout: seconds it may take.
        max_bytes: largest standard output allowed.
        is_lost: returns whether the stream may have been cut; called once a second.

    Raises:
        ExecutorError: it took too long.
        StreamLost: its stream broke, or was cut.
        TooMuchOutput: it wrote more.
    """
    wait = _Wait(time.monotonic() + timeout, is_lost)
    output = bytearray()
    try:
        # A program that ends without reading all of its input reports the reason itself.
        with contextlib.suppress(OSError):
            _write_all(stream, stdin, wait)
        stream.end_input()
        while True:
            try:
                piece = stream.recv(1 << 20)
            except BlockingIOError:
                wait(stream, select.POLLIN)
                continue
            except OSError as error:
                raise StreamLost(
                    f"the stream to a program in the container broke: {error}"
                ) from None
            if not piece:
                if stream.cut_short:
                    raise StreamLost(
                        f"the stream to a program in the container ended after {len(output)} "
                        "bytes, within a frame"
                    )
                return bytes(output)
            output += piece
            if len(output) > max_bytes:
                raise TooMuchOutput(f"it wrote more than {max_bytes} bytes")
    finally:
        stream.close()


def run_detached(
    api: APIClient, container_id: str, argv: list[str], *, timeout: float, max_bytes: int
) -> tuple[int, bytes, bytes]:
    """Run a program without input, for connections that cannot carry both directions.

    Args:
        api: docker-py's low-level client.
        container_id: of the container.
        argv: program and arguments, without a shell.
        timeout: seconds it may take.
        max_bytes: largest standard output allowed.

    Returns:
        exit code, standard output, the end of standard error.

    Raises:
        ExecutorError: it took too long, or its stream broke.
        TooMuchOutput: it wrote more.
    """
    output, stderr = bytearray(), b""
    program = _ExecProgram(api, container_id, argv)
    with contextlib.closing(program.output(Deadline(timeout))) as pieces:
        for number, data in pieces:
            if number == STDERR:
                stderr = (stderr + data)[-_MAX_STDERR:]
            else:
                output += data
            if len(output) > max_bytes:
                raise TooMuchOutput(f"it wrote more than {max_bytes} bytes")
    return program.exit_code(), bytes(output), stderr


def run_lines(
    api: APIClient,
    container_id: str,
    argv: list[str],
    *,
    environment: Mapping[str, str],
    deadline: Deadline,
    line: Callable[[str], None],
) -> int:
    """Run a program without input, and pass its output on while it runs; return its exit code.

    Args:
        api: docker-py's low-level client.
        container_id: of the container.
        argv: program and arguments, without a shell.
        environment: variables of the program.
        deadline: of the program, which runs on when it has passed.
        line: takes each line of both outputs that is not blank.

    Raises:
        ExecutorError: it took too long, or the stream broke.
    """
    program = _ExecProgram(api, container_id, argv, environment)
    pending = {1: b"", STDERR: b""}
    with contextlib.closing(program.output(deadline)) as pieces:
        for number, data in pieces:
            *lines, pending[number] = (pending.get(number, b"") + data).split(b"\n")
            for text in lines:
                _pass_on(text, line)
    for text in pending.values():
        _pass_on(text, line)
    return program.exit_code()


def _pass_on(text: bytes, line: Callable[[str], None]) -> None:
    written = text.decode("utf-8", "replace").rstrip()
    if written:
        line(written)


class _ExecProgram:
    """A program without input that runs in a container.

    Args:
        api: docker-py's low-level client.
        container_id: of the container.
        argv: program and arguments, without a shell.
        environment: variables of the program.
    """

    def __init__(
        self,
        api: APIClient,
        container_id: str,
        argv: list[str],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._api, self._container_id = api, container_id
        with mapped_errors("running a program in the container", container=container_id[:12]):
            self._start(argv, dict(environment or {}))

    def _start(self, argv: list[str], environment: dict[str, str]) -> None:
        api = self._api
        self._connection: Any
        if carries_streams(api):
            created = api.exec_create(self._container_id, argv, environment=environment)
            self._exec_id = str(created["Id"])
            self._connection = start_exec(api, self._exec_id)
            return
        waiting = ["python3", "-I", "-S", "-c", _AFTER_HEAD, *argv]
        created = api.exec_create(self._container_id, waiting, environment=environment, stdin=True)
        self._exec_id = str(created["Id"])
        self._connection = api.exec_start(self._exec_id, socket=True)
        self._connection.send(b"\n")

    def exit_code(self) -> int:
        """Return its exit code; see :func:`exit_code`."""
        return exit_code(self._api, self._container_id, self._exec_id)

    def output(self, deadline: Deadline) -> Generator[tuple[int, bytes], None, None]:
        """Yield number and payload of the pieces of its output.

        Raises:
            ExecutorError: the deadline passed, or the stream broke.
        """
        connection = self._connection
        # Such a connection can only be read without a limit, so a thread does that, which ends with
        # the program.
        arrived: queue.Queue[tuple[int, bytes] | Exception | None] = queue.Queue(64)
        abandoned = threading.Event()

        def read() -> None:
            last: Exception | None = None
            try:
                for piece in frames(connection):
                    if abandoned.is_set():
                        return
                    arrived.put(piece)
            except Exception as error:
                last = error
            finally:
                AttachedConnection(connection).close()
            arrived.put(last)

        threading.Thread(target=read, name="smolagents-fork-exec", daemon=True).start()
        try:
            while (piece := _next(arrived, deadline)) is not None:
                yield piece
        finally:
            abandoned.set()
            while not arrived.empty():  # the reader may be blocked by a full queue
                arrived.get_nowait()


def _next(arrived: queue.Queue[Any], deadline: Deadline) -> tuple[int, bytes] | None:
    try:
        piece = arrived.get(timeout=deadline.at_most(1e6))
    except queue.Empty:
        raise ExecutorError(_too_long(deadline.seconds)) from None
    if isinstance(piece, Exception):
        raise ExecutorError(f"the engine's answer was cut off: {piece}") from piece
    return None if piece is None else (piece[0], piece[1])


def exit_code(api: APIClient, container_id: str, exec_id: str) -> int:
    """Return the exit code of a program whose output has ended.

    The engine notices that end separately from the output's, and mostly later. At first it may
    report that the program runs and has no exit code.

    Raises:
        StreamLost: the engine did not report its end in time, so the output may be incomplete.
    """
    end = time.monotonic() + _EXIT_SECONDS
    pause = 0.002
    while True:
        with mapped_errors("asking for an exit code", container=container_id[:12]):
            report = api.exec_inspect(exec_id)
        if report["ExitCode"] is not None and not report.get("Running"):
            return int(report["ExitCode"])
        if time.monotonic() > end:
            raise StreamLost(
                "the stream to a program in the container has ended, and the engine did not report "
                f"the program's end in {_EXIT_SECONDS:g} s"
            )
        time.sleep(pause)
        pause = min(2 * pause, 0.1)


@dataclass(frozen=True)
class _Wait:
    """Waits for a stream.

    Attributes:
        end: of all waits, on the monotonic clock.
        is_lost: returns whether the stream may have been cut.
    """

    end: float
    is_lost: Callable[[], bool]

    def __call__(self, stream: ExecStream, event: int) -> None:
        poll = select.poll()
        poll.register(stream.fileno(), event)
        while (left := self.end - time.monotonic()) > 0:
            if poll.poll(min(left, _LOOK_SECONDS) * 1000 + 1):
                return
            if self.is_lost():
                raise StreamLost("the connection to the engine was cut while a program ran")
        raise ExecutorError(_too_long(None))


def _write_all(stream: ExecStream, pieces: Iterable[bytes], wait: _Wait) -> None:
    for piece in pieces:
        view = memoryview(piece)
        while view:
            try:
                view = view[stream.send(bytes(view[:1_048_576])) :]
            except BlockingIOError:
                wait(stream, select.POLLOUT)


def _too_long(timeout: float | None) -> str:
    given = "" if timeout is None else f" ({timeout:.0f} s)"
    return f"a program in the container took longer than it was given{given}"
