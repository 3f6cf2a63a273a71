"""A floor's program in a process or container of its own, asked for one figure at a time."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from smolagents_fork.errors import ForkError

__all__ = ["Channel", "Companion", "FloorError", "local_companion"]

#: Seconds that a start or one answer may take.
ANSWER_SECONDS = 120.0


class FloorError(ForkError):
    """A floor's program did not start or did not answer; there is nothing to compare with."""


class Channel(Protocol):
    """Input and output of a program, as of a socket."""

    def send(self, data: bytes, /) -> int:
        """Send a few bytes, which fit into any buffer."""

    def recv(self, size: int, /) -> bytes:
        """Wait for bytes; none at the end."""

    def settimeout(self, seconds: float | None, /) -> None:
        """Set the time that one of the two may take."""

    def close(self) -> None:
        """End both directions."""


class Companion:
    """A program that prints ``ready``, and then a number for each line of input.

    Args:
        name: for errors.
        channel: to it.
        process: to wait for at the end, if it is a child of this process.

    Raises:
        FloorError: it did not say that it is ready.
    """

    def __init__(
        self, name: str, channel: Channel, process: subprocess.Popen[bytes] | None = None
    ) -> None:
        self._name, self._channel, self._process = name, channel, process
        self._unread = b""
        channel.settimeout(ANSWER_SECONDS)
        try:
            if (line := self._line()) != "ready":
                raise FloorError(f"{name} printed {line!r} and not 'ready'")
        except BaseException:
            self.close()
            raise

    def ask(self, question: str = "") -> float:
        """Return the number that the program prints for a line.

        Raises:
            FloorError: it printed something else, or nothing.
        """
        self._channel.send(question.encode() + b"\n")
        line = self._line()
        try:
            return float(line)
        except ValueError:
            raise FloorError(f"{self._name} answered {line!r} and not a number") from None

    def _line(self) -> str:
        while b"\n" not in self._unread:
            try:
                piece = self._channel.recv(65536)
            except TimeoutError:
                raise FloorError(f"{self._name} did not answer in {ANSWER_SECONDS:.0f} s") from None
            if not piece:
                rest = getattr(self._channel, "stderr", b"").decode(errors="replace")
                raise FloorError(f"{self._name} ended: {rest}")
            self._unread += piece
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode(errors="replace").strip()

    def close(self) -> None:
        """End the program: by the end of its input, or by a signal after ten seconds."""
        self._channel.close()
        if self._process is not None:
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(10)

    def __enter__(self) -> Companion:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def local_companion(
    command: Sequence[str | Path], environment: Mapping[str, str] | None = None
) -> Companion:
    """Start a companion as a child of this process.

    Args:
        command: program and arguments.
        environment: of the process; ``None``: this one's.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            env=None if environment is None else dict(environment),
        )
    return Companion(" ".join(str(part) for part in command[:3]), ours, process)
