"""A floor's program in a process of its own, asked for one figure at a time."""

from __future__ import annotations

import select
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from smolagents_fork.errors import ForkError

__all__ = ["FloorError", "FloorProgram"]

#: Seconds that a start or one answer may take.
ANSWER_SECONDS = 600.0


class FloorError(ForkError):
    """A floor's program did not start or did not answer; there is nothing to compare with."""


class FloorProgram:
    """A program that prints ``ready``, and then a line for each line of input, often a number.

    Args:
        command: program and arguments; ``docker exec -i`` for one in a container.
        environment: of the process; ``None``: this one's.
        seconds: Time that a start or one answer may take.

    Raises:
        FloorError: it did not say that it is ready.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        environment: Mapping[str, str] | None = None,
        seconds: float = ANSWER_SECONDS,
    ) -> None:
        self._seconds = seconds
        self._name = " ".join(str(part) for part in command[:4])[:100]
        self._process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=None if environment is None else dict(environment),
            bufsize=0,
        )
        try:
            if (line := self._line()) != "ready":
                raise FloorError(f"{self._name} printed {line!r} and not 'ready'")
        except BaseException:
            self.close()
            raise

    def answer(self, question: str) -> str:
        """Return the line that the program prints for a line.

        Raises:
            FloorError: it printed nothing in time, or has ended.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(question.encode() + b"\n")
        except BrokenPipeError:
            raise FloorError(f"{self._name} has ended") from None
        return self._line()

    def ask(self, question: str = "") -> float:
        """Return the number that the program prints for a line.

        Raises:
            FloorError: it printed something else, or nothing.
        """
        line = self.answer(question)
        try:
            return float(line)
        except ValueError:
            raise FloorError(f"{self._name} answered {line!r} and not a number") from None

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = b""
        while not line.endswith(b"\n"):
            if not select.select([self._process.stdout], [], [], self._seconds)[0]:
                raise FloorError(f"{self._name} did not answer in {self._seconds:.0f} s")
            if not (piece := self._process.stdout.read(65536)):
                raise FloorError(f"{self._name} has ended")
            line += piece
        return line.decode(errors="replace").strip()

    def close(self) -> None:
        """End the program: by the end of its input, or by a signal after ten seconds."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)

    def __enter__(self) -> FloorProgram:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
