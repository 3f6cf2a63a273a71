"""Host side of the process around a guest."""

from __future__ import annotations

import codecs
import contextlib
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping

from ..deadline import Deadline
from ..errors import ProtocolError, SandboxDiedError
from .frame_stream import FrameStream
from .frames import Body, Frame, Kind

__all__ = ["GuestProcess", "exit_text"]

# Limit of reading what a process that has ended has left.
_MOST_SECONDS = 10.0
# Signal -> usual cause.
_CAUSES = {
    "SIGKILL": "by the kernel when out of memory, or by another process",
    "SIGSEGV": "a crash in native code, or a stack overflow",
    "SIGXCPU": "over its processor time",
}


class GuestProcess(ABC):
    """Frames in and out, turn by turn, and the end of the process.

    Only one thread at a time may call the methods other than :meth:`interrupt` and :meth:`kill`.
    """

    pid: int
    #: Seconds that the last frames of an ended process may be on their way.
    late_seconds = 0.0

    def __init__(self, stream: FrameStream) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def put(self, kind: Kind, run: int, body: Body = b"") -> None:
        """Have the next turns send a frame, whose body must not change meanwhile."""
        self._stream.put(kind, run, body)

    @property
    def unsent(self) -> int:
        """Number of bytes that the process has not read yet."""
        return self._stream.unsent

    @abstractmethod
    def turn(self, seconds: float) -> Frame | None:
        """Send what the process reads, and return a frame that is complete.

        Args:
            seconds: Seconds to wait at most when there is nothing to send or read.

        Raises:
            SandboxDiedError: the process has ended.
            ProtocolError: the process sent an invalid or unexpected frame.
        """

    @property
    def idle(self) -> bool:
        """True if the last turn neither sent nor read anything."""
        return self._stream.idle

    @property
    @abstractmethod
    def ended(self) -> bool:
        """True if the process is known to have ended."""

    @abstractmethod
    def death(self) -> SandboxDiedError:
        """Return the error that describes the end; a process still running is killed."""

    def text_of(self, frame: Frame) -> str:
        """Return the text of an OUTPUT frame."""
        return self._decoder.decode(frame.body)

    def remaining_text(self) -> str:
        """Return all remaining text of a process that has ended, or is about to end."""
        parts = []
        limit = Deadline(self.late_seconds + _MOST_SECONDS)
        end = time.monotonic() + self.late_seconds
        with contextlib.suppress(SandboxDiedError, ProtocolError):
            while not limit.expired():
                frame = self.turn(max(0.0, end - time.monotonic()))
                if frame is None and self.idle and time.monotonic() >= end:
                    break
                if frame is not None and frame.kind is Kind.OUTPUT:
                    parts.append(self.text_of(frame))
        parts.append(self._decoder.decode(b"", True))
        return "".join(parts)

    @abstractmethod
    def interrupt(self, run: int) -> None:
        """Stop the program of ``run``; any thread may call this, any number of times."""

    @abstractmethod
    def kill(self) -> None:
        """Kill the process; any thread may call this."""

    @abstractmethod
    def close(self) -> None:
        """Kill the process and release all resources. Idempotent."""


def exit_text(code: int, causes: Mapping[str, str] | None = None) -> str:
    """Describe how a process ended.

    Args:
        code: exit code; negative: the signal's number.
        causes: name of a signal -> cause, beside the usual ones.
    """
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    cause = {**_CAUSES, **(causes or {})}.get(name)
    return f"was ended by {name} ({cause})" if cause else f"was ended by {name}"
