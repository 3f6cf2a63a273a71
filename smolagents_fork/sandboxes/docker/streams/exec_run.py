"""Execution of a program in a container, over an attached stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ....deadline import Deadline
from ...containers.attached_program import read_pieces
from ...containers.stream_errors import StreamLost
from ..engine import mapped_errors
from .exec_stream import exec_stream

if TYPE_CHECKING:
    from docker.api.client import APIClient

__all__ = ["exit_code", "run_lines"]

# Time the engine may take to notice the end of a program after the end of its output.
_EXIT_SECONDS = 15.0


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
        line: takes each line of its standard output that is not blank.

    Raises:
        ExecutorError: it took too long, or the stream broke.
    """
    with mapped_errors("running a program in the container", container=container_id[:12]):
        exec_id = str(api.exec_create(container_id, argv, environment=dict(environment))["Id"])
        stream = exec_stream(api, exec_id, api.timeout)
    rest = b""
    for data in read_pieces(stream, deadline=deadline):
        *lines, rest = (rest + data).split(b"\n")
        for text in lines:
            _pass_on(text, line)
    _pass_on(rest, line)
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
