"""Execution of a program in a pod."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterable

from ....deadline import Deadline
from ....errors import ExecutorError
from ...stream_errors import StreamLost, TooMuchOutput
from .channel_socket import ERRORS, ChannelSocket

__all__ = ["run_program", "short_command"]

_MAX_STDERR = 8192
_MOST_UNSENT = 1 << 20
# Pause between two looks whether a silent stream has been cut.
_LOOK_SECONDS = 1.0
# Longest program that is sent as it is. A command is part of an address, and servers in front of a
# cluster allow 8 KiB for that.
_LONGEST_PROGRAM = 500


def short_command(argv: list[str]) -> list[str]:
    """Return a command with a compressed program, if it runs a long one with Python's ``-c``.

    Args:
        argv: program and arguments.
    """
    if "-c" not in argv or not argv[0].startswith("python"):
        return argv
    place = argv.index("-c") + 1
    program = argv[place]
    if len(program) <= _LONGEST_PROGRAM:
        return argv
    packed = base64.b85encode(zlib.compress(program.encode(), 9)).decode()
    code = f"import base64,zlib;exec(zlib.decompress(base64.b85decode({packed!r})))"
    return [*argv[:place], code, *argv[place + 1 :]]


def run_program(
    sock: ChannelSocket,
    stdin: Iterable[bytes],
    *,
    deadline: Deadline,
    max_bytes: int,
    is_lost: Callable[[], bool] = lambda: False,
) -> tuple[int, bytes, bytes]:
    """Give a started program its input; return exit code, output and the end of its errors.

    Args:
        sock: exec of the program; closed at the end.
        stdin: pieces of its input, whose end version 4 of the protocol cannot signal.
        deadline: of the program.
        max_bytes: most that it may write.
        is_lost: returns whether the stream may have been cut; called once a second.

    Raises:
        ExecutorError: it took too long, or could not be run.
        StreamLost: the stream broke, or was cut.
        TooMuchOutput: it wrote more.
    """
    program = _PodProgram(sock, deadline, max_bytes, is_lost)
    try:
        for piece in stdin:
            if not program.write(piece):
                break
        sock.end_input()
        while program.read():
            program.wait()
    finally:
        sock.close()
    status = sock.status
    if status is None:
        raise StreamLost(
            f"the stream to a program in the pod ended after {len(program.output)} bytes without "
            f"its status: {sock.end_reason}"
        )
    if status.exit_code is None:
        raise ExecutorError(f"a program in the pod could not be run: {status.message}")
    return status.exit_code, bytes(program.output), bytes(program.stderr)


class _PodProgram:
    def __init__(
        self,
        sock: ChannelSocket,
        deadline: Deadline,
        max_bytes: int,
        is_lost: Callable[[], bool],
    ) -> None:
        self._sock, self._deadline, self._max_bytes = sock, deadline, max_bytes
        self._is_lost = is_lost
        self.output = bytearray()
        self.stderr = b""

    def write(self, piece: bytes) -> bool:
        """Send a piece of input; return whether the program takes more."""
        view = memoryview(piece)
        while view:
            self._sock.send(bytes(view[:_MOST_UNSENT]))
            view = view[_MOST_UNSENT:]
            while self._sock.unsent > _MOST_UNSENT:
                # A program that ends without reading all of its input reports the reason itself.
                if not self.read():
                    return False
                self.wait()
        return self.read()

    def read(self) -> bool:
        """Take what has arrived; return whether more may come."""
        found = self._sock.receive()
        if found is None:
            return False
        for channel, data in found:
            if channel == ERRORS:
                self.stderr = (self.stderr + data)[-_MAX_STDERR:]
            else:
                self.output += data
        if len(self.output) > self._max_bytes:
            raise TooMuchOutput(f"it wrote more than {self._max_bytes} bytes")
        return self._sock.status is None

    def wait(self) -> None:
        if self._deadline.expired():
            raise ExecutorError(
                f"a program in the pod took longer than it was given ({self._deadline.seconds:g} s)"
            )
        if self._is_lost():
            raise StreamLost("the connection to the cluster was cut while a program ran")
        self._sock.wait(self._deadline.at_most(_LOOK_SECONDS))
