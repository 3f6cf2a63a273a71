"""The one loop over a guest's stream: a run, a request and an end are questions to it.

Each turn sends what the guest reads, takes at most one frame, and lets the question look at its
deadline and at interruptions. So a guest holds its host no longer than the question allows,
whatever it sends and whatever it leaves unread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

from ...deadline import Deadline
from ...errors import ConfigurationError, ExecutorError, ProtocolError
from ...guest.frames import Frame, Kind
from ...guest.guest_process import GuestProcess
from .guest_answers import failure

__all__ = ["EARLY", "LATE", "SLICE", "Answer", "Question", "converse"]

#: Longest interval between checks of deadlines and interrupts, in seconds.
SLICE = 0.05
#: Frames that a guest may send in one conversation and nobody asked for: late output of a thread,
#: late displays, calls after the end.
MOST_UNASKED = 4096

#: What a guest may not do: what is sent to it would wait without limit.
EARLY = "it answers before it has read the request"
#: Frames that a thread of the program may send after its run.
LATE = (Kind.OUTPUT, Kind.DISPLAY)

_Result = TypeVar("_Result", covariant=True)


class Question(Protocol[_Result]):
    """Condition that ends a conversation."""

    def patience(self) -> float:
        """Return the seconds that the next turn may wait.

        Raises:
            ExecutorError: the time is over.
        """

    def expects(self, frame: Frame) -> bool:
        """Tell whether a frame belongs to the answer; too many others end the guest."""

    def take(self, frame: Frame | None) -> _Result | None:
        """Use a frame, or none; return the answer when it is complete."""


def converse(
    guest: GuestProcess, question: Question[_Result], sink: Callable[[str], None]
) -> _Result:
    """Take turns with a guest until a question is answered.

    Args:
        guest: with the frames to send put.
        question: is asked between two turns.
        sink: takes the guest's output, as it comes.

    Raises:
        SandboxDiedError: the guest has ended.
        ProtocolError: it sent an invalid frame, or too many that nobody asked for.
        ExecutorError: raised by the question.
    """
    unasked = 0
    while True:
        frame = guest.turn(question.patience())
        if frame is not None:
            if frame.kind is Kind.OUTPUT:
                sink(guest.text_of(frame))
            if not question.expects(frame):
                unasked += 1
                if unasked > MOST_UNASKED:
                    raise ProtocolError(f"more than {MOST_UNASKED} frames that nobody asked for")
        answer = question.take(frame)
        if answer is not None:
            return answer


class Answer:
    """The answer to a request outside of runs.

    Args:
        guest: that is asked.
        kind: of the answer's frame.
        number: of the request, which the answer repeats.
        left: numbers of requests without an answer, this one too; one that is answered is taken
            out.
        deadline: for the guest to read the request and to answer.
        action: method that asks, for messages.
        size: of the request's body, in bytes.
        interrupted: set from another thread when nobody waits for the answer any more.
        grace: time of an interrupted request, in seconds.
        meanwhile: called once when the guest has read the request.
    """

    def __init__(
        self,
        guest: GuestProcess,
        kind: Kind,
        number: int,
        left: set[int],
        deadline: Deadline,
        action: str,
        size: int,
        interrupted: threading.Event,
        grace: float,
        meanwhile: Callable[[], None] | None = None,
    ) -> None:
        self._guest = guest
        self._kind = kind
        self._number = number
        self._left = left
        self._deadline = deadline
        self._action = action
        self._size = size
        self._interrupted = interrupted
        self._grace = grace
        self._end: Deadline | None = None
        self._meanwhile = meanwhile

    def patience(self) -> float:
        """Return the seconds that the next turn may wait; see :class:`Question`."""
        if self._end is None and self._interrupted.is_set():
            self._end = Deadline(self._grace)
        for deadline, reason in ((self._deadline, ""), (self._end, "interrupted: ")):
            if deadline is not None and deadline.expired():
                raise ProtocolError(f"{reason}{self._missing(deadline)}")
        return (self._end or self._deadline).at_most(SLICE)

    def _missing(self, deadline: Deadline) -> str:
        unsent = self._guest.unsent
        if unsent:
            read = max(0, self._size - unsent)
            return f"it read only {read} of {self._size} bytes in {deadline.seconds} s"
        return f"no answer within {deadline.seconds} s"

    def expects(self, frame: Frame) -> bool:
        """Tell whether a frame is the answer."""
        return frame.run == self._number and frame.kind not in LATE

    def take(self, frame: Frame | None) -> Frame | None:
        """Return the answer; see :class:`Question`.

        Raises:
            ExecutorError: a FAILED frame answers a request for a file.
            ConfigurationError: one answers another request.
            ProtocolError: the guest answers otherwise.
        """
        if self._meanwhile is not None and not self._guest.unsent:
            work, self._meanwhile = self._meanwhile, None
            work()
        if frame is None or frame.kind in LATE:
            return None
        if frame.run == self._number and self._guest.unsent:
            raise ProtocolError(EARLY)
        if frame.run in self._left:
            self._left.remove(frame.run)
            if frame.run != self._number:
                return None
        if frame.run == self._number and frame.kind is self._kind:
            return frame
        if frame.run == self._number and frame.kind is Kind.FAILED:
            message = failure(frame.body)[1]
            if self._kind is Kind.CONTENT:
                raise ExecutorError(message)
            raise ConfigurationError(f"{self._action}: {message}")
        raise ProtocolError(f"a {frame.kind.name} frame instead of an answer")
