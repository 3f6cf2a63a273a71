"""Execution of a program in a container, over an attached stream."""

from __future__ import annotations

import contextlib
import selectors
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from ....deadline import Deadline
from ....errors import ExecutorError
from ...stream_errors import StreamLost, TooMuchOutput
from ..engine import mapped_errors
from .engine_frames import STDERR, STDOUT
from .exec_stream import ExecStream, exec_stream

if TYPE_CHECKING:
    from docker.api.client import APIClient

_Part = TypeVar("_Part")

__all__ = ["exit_code", "run_attached", "run_lines"]

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
        stdin: pieces of its input, whose length the program must know: not every connection can
            signal an end.
        timeout: seconds it may take.
        max_bytes: largest standard output allowed.
        is_lost: returns whether the stream may have been cut; called once a second.

    Raises:
        ExecutorError: it took too long.
        StreamLost: its stream broke, or was cut.
        TooMuchOutput: it wrote more.
    """
    wait = _Wait(Deadline(timeout), is_lost)
    output = bytearray()
    try:
        # A program that ends without reading all of its input reports the reason itself.
        with contextlib.suppress(OSError):
            _write_all(stream, stdin, wait)
        while piece := _read(stream, lambda: stream.recv(1 << 20), wait):
            output += piece
            if len(output) > max_bytes:
                raise TooMuchOutput(f"it wrote more than {max_bytes} bytes")
        return bytes(output)
    finally:
        stream.close()


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
    with mapped_errors("running a program in the container", container=container_id[:12]):
        exec_id = str(api.exec_create(container_id, argv, environment=dict(environment))["Id"])
        stream = exec_stream(api, exec_id, api.timeout)
    wait = _Wait(deadline)
    pending = {STDOUT: b"", STDERR: b""}
    with contextlib.closing(stream):
        while (parts := _read(stream, stream.read_frames, wait)) is not None:
            for number, data in parts:
                *lines, pending[number] = (pending.get(number, b"") + data).split(b"\n")
                for text in lines:
                    _pass_on(text, line)
    for text in pending.values():
        _pass_on(text, line)
    return exit_code(api, container_id, exec_id)


def _pass_on(text: bytes, line: Callable[[str], None]) -> None:
    written = text.decode("utf-8", "replace").rstrip()
    if written:
        line(written)


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
        deadline: Deadline of all waits.
        is_lost: returns whether the stream may have been cut.
    """

    deadline: Deadline
    is_lost: Callable[[], bool] = lambda: False

    def __call__(self, stream: ExecStream, event: int) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(stream, event)
            while not self.deadline.expired():
                if selector.select(self.deadline.at_most(_LOOK_SECONDS)):
                    return
                if self.is_lost():
                    raise StreamLost("the connection to the engine was cut while a program ran")
        raise ExecutorError(
            "a program in the container took longer than it was given "
            f"({self.deadline.seconds:.0f} s)"
        )


def _read(stream: ExecStream, read: Callable[[], _Part], wait: _Wait) -> _Part:
    """Read once, when something has arrived.

    Raises:
        StreamLost: the stream broke, or ended within a frame.
    """
    while True:
        try:
            part = read()
        except BlockingIOError:
            wait(stream, selectors.EVENT_READ)
            continue
        except OSError as error:
            raise StreamLost(f"the stream to a program in the container broke: {error}") from None
        if part in (None, b"") and stream.is_within_frame:
            raise StreamLost("the stream to a program in the container ended within a frame")
        return part


def _write_all(stream: ExecStream, pieces: Iterable[bytes], wait: _Wait) -> None:
    for piece in pieces:
        view = memoryview(piece)
        while view:
            try:
                view = view[stream.send(bytes(view[:1_048_576])) :]
            except BlockingIOError:
                wait(stream, selectors.EVENT_WRITE)
