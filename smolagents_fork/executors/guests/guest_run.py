"""One run in a guest: watched until it ends, stopped when it does not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...bridge import Dispatcher
from ...codec import decode, encode
from ...deadline import Deadline
from ...errors import ExecutorError, ProgramInterruptedError, ProtocolError, SandboxTimeoutError
from ...guest.body_memory import BODIES
from ...guest.frames import Frame, Kind
from ...guest.guest_process import GuestProcess
from ...hints import advice
from .conversation import EARLY, LATE, SLICE, converse
from .guest_answers import failure, program_error
from .guest_options import GuestOptions

__all__ = ["LOST", "GuestRun", "RunOutcome"]

# Time a program may run on after its final answer, in seconds.
_AFTER_ANSWER = 0.1
# Bytes of answers that a program may leave unread when it calls again.
_MOST_UNREAD = 1 << 20
_CANCELLED = "the call was cancelled on the host"
#: End of messages about a child that has ended.
LOST = "; its state is lost, the next call starts in a new process"


@dataclass(frozen=True)
class RunOutcome:
    """RunOutcome of a run, and its time without that of tools."""

    output: Any
    is_final_answer: bool
    seconds: float


class _Stop:
    """Reason to stop a run, and the deadline for its end."""

    def __init__(self, reason: str, grace: float) -> None:
        self.reason = reason  # "timeout", "interrupt", "tools" or "answer"
        self.deadline = Deadline(grace)


class GuestRun:
    """One run of code in ``child``; a :class:`.conversation.Question`.

    Args:
        child: ready for it.
        number: of the run, which its frames carry.
        options: of the executor.
        dispatcher: answers the program's calls.
        show: takes the frame of each display, encoded.
        interrupted: set from another thread to end the run.
        left: numbers of requests without an answer; one that is answered is taken out.
        deadline: of the run; it stops while a tool works.
    """

    def __init__(
        self,
        child: GuestProcess,
        number: int,
        options: GuestOptions,
        dispatcher: Dispatcher,
        show: Callable[[Any], None],
        interrupted: threading.Event,
        left: set[int],
        deadline: Deadline,
    ) -> None:
        self._child = child
        self._number = number
        self._options = options
        self._dispatcher = dispatcher
        self._show = show
        self._interrupted = interrupted
        self._left = left
        self._deadline = deadline
        self._stop: _Stop | None = None
        # Whether the child has read the code.
        self._was_read = False
        #: Whether the child was killed because it did not stop.
        self.killed = False

    def watched(self, code: str, sink: Callable[[str], None]) -> RunOutcome:
        """Run ``code`` until it ends or the deadline passes.

        Args:
            code: to run.
            sink: takes the output.

        Raises:
            InterpreterError: the program failed, is not Python, or imports what is not listed.
            SandboxTimeoutError: it ran past the deadline; ``killed`` says whether the child ended.
            SandboxDiedError: the child ended; says how.
            ProtocolError: the child violated the protocol.
        """
        self._child.put(Kind.RUN, self._number, code.encode("utf-8", "surrogatepass"))
        try:
            return converse(self._child, self, sink)
        except SandboxTimeoutError:
            if self.killed:
                sink(self._child.remaining_text())
            raise

    def patience(self) -> float:
        """Return the seconds that the next turn may wait; see :class:`.conversation.Question`."""
        stop = self._stop
        if stop is None:
            stop = self._stop = self._reason_to_stop()
        elif stop.deadline.expired():
            if stop.reason != "answer":
                raise self._kill(stop)
            stop = self._stop = _Stop("answered", self._options.interrupt_grace_seconds)
            self._child.interrupt(self._number)
        return (self._deadline if stop is None else stop.deadline).at_most(SLICE)

    def expects(self, frame: Frame) -> bool:
        """Tell whether a frame belongs to this run, and comes before its end is asked for."""
        if frame.kind is Kind.OUTPUT:
            return True
        return frame.run == self._number and (self._stop is None or frame.kind is not Kind.CALL)

    def take(self, frame: Frame | None) -> RunOutcome | None:
        """Use a frame; return the outcome when the run has ended."""
        self._was_read = self._was_read or not self._child.unsent
        if frame is None:
            if self._stop is not None and self._stop.reason != "answer" and self._child.idle:
                # Again: Python drops an exception of a signal's handler in a finaliser.
                self._child.interrupt(self._number)
            return None
        if frame.kind in LATE:
            if frame.kind is Kind.DISPLAY and frame.run == self._number:
                self._show(frame.body)
        elif frame.run in self._left:
            self._left.remove(frame.run)
        elif frame.run != self._number:
            raise ProtocolError(f"a {frame.kind.name} frame of run {frame.run}")
        elif not self._was_read:
            raise ProtocolError(EARLY)
        elif frame.kind is Kind.CALL:
            self._answer(frame)
        else:
            return self._outcome(frame)
        return None

    def _answer(self, call: Frame) -> None:
        if self._child.unsent > _MOST_UNREAD:
            raise ProtocolError(f"a call with {self._child.unsent} bytes of answers unread")
        try:
            reply = self._dispatcher.handle(call.body, pause=self._deadline.paused)
        except ProtocolError:
            raise
        except BaseException:
            # Ctrl-C in a tool. The program waits for an answer and can only be stopped after one.
            body = encode({"call": None, "error": ["RuntimeError", [_CANCELLED], _CANCELLED]})
            self._child.put(Kind.REPLY, self._number, body)
            raise
        self._child.put(Kind.REPLY, self._number, reply)
        if self._stop is not None:
            return
        if self._dispatcher.has_final_answer:
            self._stop = _Stop("answer", _AFTER_ANSWER)
        elif self._dispatcher.limit is not None:
            self._child.interrupt(self._number)
            self._stop = _Stop("tools", self._options.interrupt_grace_seconds)

    def _reason_to_stop(self) -> _Stop | None:
        interrupted = self._interrupted.is_set()
        if not interrupted and not self._deadline.expired():
            return None
        reason = "interrupt" if interrupted else "timeout"
        self._dispatcher.end_run(reason)
        self._child.interrupt(self._number)
        return _Stop(reason, self._options.interrupt_grace_seconds)

    def _kill(self, stop: _Stop) -> ExecutorError:
        self._child.kill()
        death = self._child.death()
        if stop.reason == "answered":
            return death
        self.killed = True
        grace = (
            f"did not stop within interrupt_grace_seconds={self._options.interrupt_grace_seconds}"
        )
        if stop.reason == "interrupt":
            return SandboxTimeoutError(f"code was interrupted, {grace} and was killed{LOST}")
        if stop.reason == "tools":
            return SandboxTimeoutError(f"{self._dispatcher.limit}; the code {grace} and was killed")
        return SandboxTimeoutError(
            f"code ran past timeout_seconds={self._options.timeout_seconds}, {grace} and was "
            f"killed{LOST}"
        )

    def _outcome(self, frame: Frame) -> RunOutcome:
        stop, seconds = self._stop, self._deadline.elapsed()
        if self._dispatcher.has_final_answer:
            # The final answer counts, whatever the program did afterwards.
            return RunOutcome(self._dispatcher.final_answer, True, seconds)
        if self._dispatcher.limit is not None:
            raise self._dispatcher.limit
        if frame.kind is Kind.DONE:
            value = decode(frame.body, path="output", max_bytes=self._options.max_value_bytes)
            BODIES.give(frame.body)
            return RunOutcome(value, False, seconds)
        if frame.kind is not Kind.FAILED:
            raise ProtocolError(f"a {frame.kind.name} frame where a run ends")
        kind, message = failure(frame.body)
        # Whatever the program has made of its stop.
        if stop is not None and stop.reason in ("interrupt", "timeout"):
            if stop.reason == "interrupt":
                raise ProgramInterruptedError(
                    "the code was interrupted by interrupt(); its state is kept"
                )
            raise SandboxTimeoutError(
                f"code ran past timeout_seconds={self._options.timeout_seconds}; it was stopped "
                "and its state kept"
            )
        options = self._options
        found = advice(message, options.network_remedy, of_module=options.module_advice)
        raise program_error(kind)(message + found)

    def abandon(self) -> bool:
        """Interrupt the program without using its result; return whether it ended in time."""
        self._dispatcher.end_run("end")
        self._child.interrupt(self._number)
        end = _AbandonedRun(
            self._child, self._number, Deadline(self._options.interrupt_grace_seconds)
        )
        try:
            return converse(self._child, end, _drop)
        except ExecutorError:
            return False


def _drop(_text: str) -> None:
    """Take output that nobody reads."""


class _AbandonedRun:
    """The end of a run whose result nobody uses; a :class:`.conversation.Question`."""

    def __init__(self, child: GuestProcess, number: int, deadline: Deadline) -> None:
        self._child = child
        self._number = number
        self._deadline = deadline

    def patience(self) -> float:
        return self._deadline.at_most(SLICE)

    def expects(self, _frame: Frame) -> bool:
        return False

    def take(self, frame: Frame | None) -> bool | None:
        if frame is None:
            if self._child.idle:
                self._child.interrupt(self._number)
        elif frame.run == self._number and frame.kind not in (*LATE, Kind.CALL):
            return True
        return False if self._deadline.expired() else None
