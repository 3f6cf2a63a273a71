"""One run in a guest: watched until it ends, stopped when it does not."""

from __future__ import annotations

import contextlib
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
from .guest_answers import display_bundle, failure, program_error
from .guest_options import GuestOptions

__all__ = ["LATE", "LOST", "SLICE", "GuestRun", "Outcome"]

#: Longest interval between checks of deadlines and interrupts, in seconds.
SLICE = 0.05
# Time a program may run on after its final answer, in seconds.
_AFTER_ANSWER = 0.1
#: Frames that a thread of the program may send after its run.
LATE = (Kind.OUTPUT, Kind.DISPLAY)
_CANCELLED = "the call was cancelled on the host"
#: End of messages about a child that has ended.
LOST = "; its state is lost, the next call starts in a new process"


@dataclass(frozen=True)
class Outcome:
    """Outcome of a run, and its time without that of tools."""

    output: Any
    is_final_answer: bool
    seconds: float


class _Stop:
    """Reason to stop a run, and the deadline for its end."""

    def __init__(self, reason: str, grace: float) -> None:
        self.reason = reason  # "timeout", "interrupt" or "answer"
        self.deadline = Deadline(grace)


class GuestRun:
    """One run of code in ``child``.

    Args:
        child: ready for it.
        number: of the run, which its frames carry.
        options: of the executor.
        dispatcher: answers the program's calls.
        sink: takes the output.
        show: takes the MIME bundle of each display, unchecked.
        interrupted: set from another thread to end the run.
    """

    def __init__(
        self,
        child: GuestProcess,
        number: int,
        options: GuestOptions,
        dispatcher: Dispatcher,
        sink: Callable[[str], None],
        show: Callable[[Any], None],
        interrupted: threading.Event,
    ) -> None:
        self._child = child
        self._number = number
        self._options = options
        self._dispatcher = dispatcher
        self._sink = sink
        self._show = show
        self._interrupted = interrupted
        #: Whether the child was killed because it did not stop.
        self.killed = False

    def watched(self, code: str, deadline: Deadline) -> Outcome:
        """Run ``code`` until it ends or the deadline passes.

        Raises:
            InterpreterError: the program was refused, failed, or met a limit of the interpreter.
            SandboxTimeoutError: it ran past ``deadline``; ``killed`` says whether the child ended.
            SandboxDiedError: the child ended; says how.
            ProtocolError: the child violated the protocol.
        """
        text = code.encode("utf-8", "surrogatepass")
        self._child.send(Kind.RUN, self._number, text, Deadline(30.0 + len(text) / 1e6))
        stop: _Stop | None = None
        while True:
            if stop is None:
                stop = self._reason_to_stop(deadline)
            elif stop.deadline.expired():
                if stop.reason == "answer":
                    stop = _Stop("answered", self._options.interrupt_grace_seconds)
                    self._child.interrupt(self._number)
                    continue
                raise self._kill(stop)
            wait = deadline.at_most(SLICE) if stop is None else stop.deadline.at_most(SLICE)
            frame = self._child.receive(wait)
            if frame is None:
                self._sink(self._child.text_in_log())
                if stop is not None and stop.reason != "answer":
                    # Again: Python drops an exception of a signal's handler in a finaliser.
                    self._child.interrupt(self._number)
                continue
            if frame.run != self._number and frame.kind not in LATE:
                raise ProtocolError(f"a {frame.kind.name} frame of run {frame.run}")
            if frame.kind is Kind.OUTPUT:
                self._sink(self._child.text_of(frame))
            elif frame.kind is Kind.DISPLAY:
                if frame.run == self._number:
                    self._show(display_bundle(frame.body, self._options.max_value_bytes))
            elif frame.kind is Kind.CALL:
                with (
                    deadline.paused(),
                    stop.deadline.paused() if stop else contextlib.nullcontext(),
                ):
                    reply = self._reply(frame)
                self._child.send(Kind.REPLY, self._number, reply, Deadline(30.0 + len(reply) / 1e6))
                if self._dispatcher.has_final_answer and stop is None:
                    stop = _Stop("answer", _AFTER_ANSWER)
            else:
                return self._outcome(frame, stop, deadline)

    def _reply(self, frame: Frame) -> bytes:
        try:
            return self._dispatcher.handle(frame.body)
        except ProtocolError:
            raise
        except BaseException:
            # Ctrl-C in a tool. The program waits for an answer and can only be stopped after one.
            with contextlib.suppress(ExecutorError):
                body = encode({"call": None, "error": ["RuntimeError", [_CANCELLED], _CANCELLED]})
                self._child.interrupt(self._number)
                self._child.send(Kind.REPLY, self._number, body, Deadline(1.0))
            raise

    def _reason_to_stop(self, deadline: Deadline) -> _Stop | None:
        interrupted = self._interrupted.is_set()
        if not interrupted and not deadline.expired():
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
        self._sink(self._child.remaining_text())
        self.killed = True
        grace = (
            f"did not stop within interrupt_grace_seconds={self._options.interrupt_grace_seconds}"
        )
        if stop.reason == "interrupt":
            return SandboxTimeoutError(f"code was interrupted, {grace} and was killed{LOST}")
        return SandboxTimeoutError(
            f"code ran past timeout_seconds={self._options.timeout_seconds}, {grace} and was "
            f"killed{LOST}"
        )

    def _outcome(self, frame: Frame, stop: _Stop | None, deadline: Deadline) -> Outcome:
        if self._dispatcher.has_final_answer:
            # The final answer counts, whatever the program did afterwards.
            return Outcome(self._dispatcher.final_answer, True, deadline.elapsed())
        if frame.kind is Kind.DONE:
            value = decode(frame.body, path="output", max_bytes=self._options.max_value_bytes)
            BODIES.give(frame.body)
            return Outcome(value, False, deadline.elapsed())
        if frame.kind is not Kind.FAILED:
            raise ProtocolError(f"a {frame.kind.name} frame where a run ends")
        kind, message = failure(frame.body)
        if stop is not None and kind == "TimeLimitExceededError":
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
        end = Deadline(self._options.interrupt_grace_seconds)
        with contextlib.suppress(ExecutorError):
            while not end.expired():
                frame = self._child.receive(end.at_most(SLICE))
                if frame is None:
                    continue
                if frame.kind is Kind.OUTPUT:
                    self._child.text_of(frame)  # dropped, but the limit of output counts it
                elif frame.run == self._number and frame.kind not in (Kind.CALL, Kind.DISPLAY):
                    return True
        return False
