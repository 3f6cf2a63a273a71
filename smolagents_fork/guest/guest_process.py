"""The process around a guest, as its host sees it."""

from __future__ import annotations

from typing import Protocol

from ..deadline import Deadline
from ..errors import SandboxDiedError
from .frames import Frame, Kind

__all__ = ["GuestProcess"]


class GuestProcess(Protocol):
    """Frames in and out under deadlines, and the end of the process.

    Every method but :meth:`interrupt` and :meth:`kill` belongs to one thread at a time.
    """

    pid: int

    def send(self, kind: Kind, run: int, body: bytes, deadline: Deadline) -> None:
        """Send a frame.

        Raises:
            SandboxDiedError: the process is gone.
            ProtocolError: it has not taken the frame by the deadline.
        """

    def receive(self, seconds: float) -> Frame | None:
        """The next frame, or none after ``seconds`` without a whole one.

        Raises:
            SandboxDiedError: the process is gone.
            ProtocolError: what came is not a frame that may come here.
        """

    @property
    def ended(self) -> bool:
        """Tell whether the process is known to be gone."""

    def death(self) -> SandboxDiedError:
        """The error that says how the process ended; one that has not is killed."""

    def text_of(self, frame: Frame) -> str:
        """The text of an OUTPUT frame that was not seen before."""

    def text_in_log(self) -> str:
        """Printed text that no frame has brought yet and that the host can see."""

    def remaining_text(self) -> str:
        """All text that is left of a process that has ended, or is about to."""

    def interrupt(self, run: int) -> None:
        """Have the program of ``run`` stopped; from any thread, as often as one likes."""

    def kill(self) -> None:
        """Have the process killed; from any thread."""

    def close(self) -> None:
        """Kill the process and let go of everything. Idempotent."""
