"""Execution of a program in a pod."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterable

from ....deadline import Deadline
from ....errors import ExecutorError
from ...containers.attached_program import read_all
from ...containers.stream_errors import StreamLost
from .channel_socket import ChannelSocket

__all__ = ["run_program", "short_command"]

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
        stdin: pieces of its input, whose length the program knows: no end is sent.
        deadline: of the program.
        max_bytes: most that it may write.
        is_lost: returns whether the stream may have been cut; called once a second.

    Raises:
        ExecutorError: it took too long, or could not be run.
        StreamLost: the stream broke, or was cut.
        TooMuchOutput: it wrote more.
    """
    output = read_all(sock, stdin, deadline=deadline, max_bytes=max_bytes, is_lost=is_lost)
    status = sock.status
    if status is None:
        raise StreamLost(
            f"the stream to a program in the pod ended after {len(output)} bytes without "
            f"its status: {sock.end_reason}"
        )
    if status.exit_code is None:
        raise ExecutorError(f"a program in the pod could not be run: {status.message}")
    return status.exit_code, output, sock.errors
