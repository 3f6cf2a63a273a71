"""The one loop over a guest's stream: a run, a request, and the end of either.

Each turn sends what the guest reads, takes at most one message, and looks at the deadline, at
interruption and at the final answer. So a guest blocks its host no longer than its limits allow,
whatever it sends and whatever it leaves unread.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Literal

from ...bridge import Dispatcher
from ...bridge.exceptions import describe_exception
from ...codec import encode
from ...deadline import Deadline
from ...errors import ExecutorError, ProtocolError
from .guest import Call, End, Guest

__all__ = ["MOST_UNASKED", "Exchange", "NotStopped", "StopReason"]

#: Longest interval between checks of deadlines and interruption, in seconds.
SLICE = 0.05
#: Unrequested messages that a guest may send, such as calls after the end of a run.
MOST_UNASKED = 4096
# Time a program may run on after its final answer, in seconds.
_AFTER_ANSWER_SECONDS = 0.5
_CANCELLED = "the call was cancelled on the host"

#: Why an exchange is to end: its time is over, it was interrupted, no tool may be called any more,
#: the final answer is there, or nobody waits for it.
StopReason = Literal["timeout", "interrupt", "tools", "answer", "end"]


class NotStopped(Exception):
    """The guest did not stop within the grace period."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason)
        self.reason: StopReason = reason


class Exchange:
    """One run or request, from its beginning to its end.

    Args:
        guest: that has begun it, or begins it next.
        deadline: of the exchange; it stops while a tool works.
        grace: time an interrupted guest may take to stop, in seconds.
        interrupted: returns whether :meth:`Session.interrupt` was called.
        calls: serves the calls of a run; ``None`` for a request, which makes none.
    """

    def __init__(
        self,
        guest: Guest,
        deadline: Deadline,
        grace: float,
        interrupted: Callable[[], bool],
        calls: Dispatcher | None = None,
    ) -> None:
        self._guest = guest
        self._deadline = deadline
        self._grace = grace
        self._interrupted = interrupted
        self._calls = calls
        #: Why the exchange is to end; ``None`` while it may go on.
        self.reason: StopReason | None = None
        self._stop = Deadline(None)
        self._is_stopping = False
        self._late_calls = 0

    @property
    def _limit(self) -> Deadline:
        return self._deadline if self.reason is None else self._stop

    def finish(self) -> End:
        """Take turns until the guest reports the end.

        Raises:
            NotStopped: it did not, within the grace period.
            SandboxDiedError: the guest has ended.
            ProtocolError: it violates the protocol.
        """
        while True:
            event = self._guest.turn(self._limit.at_most(SLICE))
            if isinstance(event, End):
                if event.is_final_answer and not (self._calls and self._calls.has_final_answer):
                    raise ProtocolError("a FINAL frame without a final answer")
                return event
            if event is not None:
                self._answer(event)
            elif self._is_stopping:
                # Again: a program may catch an interruption, or drop it in a finaliser.
                self._guest.interrupt()
            self._look()

    def abandon(self) -> bool:
        """Interrupt without using the result; return whether the guest has stopped in time."""
        if self._calls is not None:
            self._calls.end_run("end")
        self._end_because("end", self._grace, interrupt=True)
        with contextlib.suppress(NotStopped, ExecutorError):
            self.finish()
            return True
        return False

    def _look(self) -> None:
        """Look at the deadline and at interruption."""
        if self.reason is None:
            reason: StopReason = "interrupt" if self._interrupted() else "timeout"
            if reason == "interrupt" or self._deadline.expired():
                if self._calls is not None:
                    self._calls.end_run(reason)
                self._end_because(reason, self._grace, interrupt=True)
        elif self._stop.expired():
            if self._is_stopping:
                raise NotStopped(self.reason)
            self._end_because(self.reason, self._grace, interrupt=True)

    def _end_because(self, reason: StopReason, seconds: float, *, interrupt: bool) -> None:
        self.reason, self._stop, self._is_stopping = reason, Deadline(seconds), interrupt
        if interrupt:
            self._guest.interrupt()

    def _answer(self, call: Call) -> None:
        if self._calls is None:
            raise ProtocolError("it called a tool outside a run")
        self._late_calls += self.reason is not None
        if self._late_calls > MOST_UNASKED:
            raise ProtocolError(f"more than {MOST_UNASKED} calls after the end of a run")
        try:
            reply = self._calls.handle(call.request, pause=self._deadline.paused)
        except ProtocolError:
            raise
        except BaseException:
            # Ctrl-C in a tool. The program waits for an answer and can only be stopped after one.
            error = describe_exception(RuntimeError(_CANCELLED))
            call.reply(encode({"call": None, "error": error}), self._limit)
            raise
        call.reply(reply, self._limit)
        if self.reason is not None:
            return
        if self._calls.has_final_answer:
            self._end_because("answer", _AFTER_ANSWER_SECONDS, interrupt=False)
        elif self._calls.limit is not None:
            self._end_because("tools", self._grace, interrupt=True)
