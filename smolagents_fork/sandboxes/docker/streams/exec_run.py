"""Running a program beside the kernel: over an attached stream, or, without one, for its output."""

from __future__ import annotations

import contextlib
import queue
import select
import threading
import time
from typing import Any

from ....errors import ExecutorError
from ..engine import mapped_errors
from .exec_stream import STDERR, AttachedConnection, ExecStream, frames

__all__ = ["TooMuchOutput", "exit_code", "run_attached", "run_detached"]

# Most of standard error that is kept.
_MAX_STDERR = 8192
# How long the engine may take to hear that a program has ended whose output has.
_EXIT_SECONDS = 15.0


class TooMuchOutput(ExecutorError):
    """A program wrote more than was to be taken."""


def run_attached(stream: ExecStream, *, stdin: bytes, timeout: float, max_bytes: int) -> bytes:
    """Give a started program its input and return its output; closes the stream.

    Args:
        stream: to the program.
        stdin: what it reads; not every connection can tell it where that ends.
        timeout: seconds it may take.
        max_bytes: most bytes of standard output to take.

    Raises:
        ExecutorError: it took too long.
        TooMuchOutput: it wrote more.
    """
    end = time.monotonic() + timeout
    output = bytearray()
    try:
        # One that ends without reading everything says why in its own words.
        with contextlib.suppress(OSError):
            _write_all(stream, stdin, end)
        stream.end_input()
        while True:
            try:
                piece = stream.recv(1 << 20)
            except BlockingIOError:
                _wait(stream, select.POLLIN, end)
                continue
            except OSError as error:
                raise ExecutorError(
                    f"the stream to a program in the container broke: {error}"
                ) from error
            if not piece:
                if stream.cut_short:
                    raise ExecutorError(
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
    api: Any, container_id: str, argv: list[str], *, timeout: float, max_bytes: int
) -> tuple[int, bytes, bytes]:
    """Run a program that reads nothing, where the engine's connection cannot carry both ways.

    Args:
        api: docker-py's low-level client.
        container_id: where.
        argv: program and arguments; no shell.
        timeout: seconds it may take.
        max_bytes: most bytes of standard output to take.

    Returns:
        exit code, standard output, the end of standard error.

    Raises:
        ExecutorError: it took too long.
        TooMuchOutput: it wrote more.
    """
    with mapped_errors("running a program in the container", container=container_id[:12]):
        exec_id = api.exec_create(container_id, argv)["Id"]
        handed_over = api.exec_start(exec_id, socket=True)
    # Such a connection can only be waited for without a limit, so a thread does that: it ends with
    # the program.
    arrived: queue.Queue[tuple[int, bytes] | Exception | None] = queue.Queue(64)
    given_up = threading.Event()

    def read() -> None:
        last: Exception | None = None
        try:
            for piece in frames(handed_over):
                if given_up.is_set():
                    return
                arrived.put(piece)
        except Exception as error:
            last = error
        finally:
            AttachedConnection(handed_over).close()
        arrived.put(last)

    threading.Thread(target=read, name="smolagents-fork-exec", daemon=True).start()
    try:
        output, words = _taken(arrived, timeout, max_bytes)
    finally:
        given_up.set()
        while not arrived.empty():  # the reader may wait for room
            arrived.get_nowait()
    return exit_code(api, container_id, exec_id), output, words


def _taken(arrived: queue.Queue[Any], timeout: float, max_bytes: int) -> tuple[bytes, bytes]:
    end = time.monotonic() + timeout
    output, words = bytearray(), b""
    while True:
        try:
            piece = arrived.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            raise ExecutorError(_too_long(timeout)) from None
        if piece is None:
            return bytes(output), words
        if isinstance(piece, Exception):
            raise ExecutorError(f"the engine's answer broke off: {piece}") from piece
        number, data = piece
        if number == STDERR:
            words = (words + data)[-_MAX_STDERR:]
        else:
            output += data
        if len(output) > max_bytes:
            raise TooMuchOutput(f"it wrote more than {max_bytes} bytes")


def exit_code(api: Any, container_id: str, exec_id: str) -> int:
    """Return the exit code of a program whose output has ended.

    The engine hears of that end apart from the output's, and mostly later: asked at once it may say
    that the program runs and has no exit code.

    Raises:
        ExecutorError: it is not known to have ended after a while, so its output is not all of it.
    """
    end = time.monotonic() + _EXIT_SECONDS
    pause = 0.002
    while True:
        with mapped_errors("asking for an exit code", container=container_id[:12]):
            told = api.exec_inspect(exec_id)
        if told["ExitCode"] is not None and not told.get("Running"):
            return int(told["ExitCode"])
        if time.monotonic() > end:
            raise ExecutorError(
                "the stream to a program in the container has ended, and the engine does not say "
                f"in {_EXIT_SECONDS:g} s that the program has"
            )
        time.sleep(pause)
        pause = min(2 * pause, 0.1)


def _write_all(stream: ExecStream, data: bytes, end: float) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[stream.send(bytes(view[:1_048_576])) :]
        except BlockingIOError:
            _wait(stream, select.POLLOUT, end)


def _wait(stream: ExecStream, event: int, end: float) -> None:
    left = end - time.monotonic()
    poll = select.poll()
    poll.register(stream.fileno(), event)
    if left <= 0 or not poll.poll(left * 1000 + 1):
        raise ExecutorError(_too_long(None))


def _too_long(timeout: float | None) -> str:
    given = "" if timeout is None else f" ({timeout:.0f} s)"
    return f"a program in the container took longer than it was given{given}"
