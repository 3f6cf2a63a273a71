"""Guest that speaks in frames: a confined process, or a machine of WebAssembly."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ...call_output import CallOutput
from ...codec import decode, encode
from ...deadline import Deadline
from ...displays import is_picture
from ...errors import DecodeError, ProtocolError, SandboxDiedError
from ...guest.frames import Frame, Kind, body_size
from ...guest.guest_process import GuestProcess
from ...text.texts import encodable
from ..session.exchange import MOST_UNASKED
from ..session.guest import Ask, Call, End, Failure, Request, Task
from .guest_options import GuestOptions

__all__ = ["FrameGuest", "GuestLauncher", "display_bundle"]

# Beginning of the numbers of requests; runs have the numbers below.
_REQUESTS = 1 << 31
# Bytes of answers that a program may leave unread when it calls again.
_MOST_UNREAD = 1 << 20
#: Frames that a thread of the program may send after its run.
_LATE = (Kind.OUTPUT, Kind.DISPLAY, Kind.TEXT)
# Time until an interruption is repeated, in seconds.
_INTERRUPT_PAUSE_SECONDS = 0.05
# Frame of each request, and of its answer.
_FRAMES = {
    Task.SETUP: (Kind.SETUP, Kind.READY),
    Task.TOOLS: (Kind.TOOLS, Kind.ACCEPTED),
    Task.VARIABLES: (Kind.VARIABLES, Kind.ACCEPTED),
    Task.READ_STATE: (Kind.READ_STATE, Kind.STATE),
    Task.FILE: (Kind.FILE, Kind.CONTENT),
}


class GuestLauncher(ABC):
    """Starts the guests of one executor; a :class:`.session.guest.GuestSource`."""

    def __init__(self, options: GuestOptions, imports: Sequence[str]) -> None:
        self._options = options
        self._imports = imports

    def start(self, _stop: Callable[[], bool]) -> FrameGuest:
        """Start a guest, whose turns never wait for it to read."""
        return FrameGuest(self.start_process(), self._options.max_value_bytes)

    def set_up(self, ask: Ask) -> None:
        """Give a new guest its settings, and check its report.

        Raises:
            ExecutorStartError: what the guest says is not enough.
        """
        setup = {
            "imports": list(self._imports),
            "max_value_bytes": self._options.max_value_bytes,
        }
        report = ask(Request(Task.SETUP, [encode(setup)]), "start")
        self.accept(decode(report, path="report"))

    @abstractmethod
    def start_process(self) -> GuestProcess:
        """Start the process of a guest, which waits for its SETUP frame."""

    @abstractmethod
    def accept(self, report: Any) -> None:
        """Check the content of the READY frame.

        Raises:
            ExecutorStartError: what the guest says is not enough.
            ProtocolError: it is not a report.
        """

    @abstractmethod
    def close(self) -> None:
        """Remove what guests leave on the disk. Idempotent."""


class FrameGuest:
    """A guest that speaks in frames; a :class:`.session.guest.Guest`."""

    noun: ClassVar[str] = "process"

    def __init__(self, process: GuestProcess, max_value_bytes: int) -> None:
        self.process = process
        self._max_value_bytes = max_value_bytes
        #: Number of the last run, and of the last request.
        self.last_run = 0
        self._last_request = _REQUESTS
        # Of what goes on now: its number, frames that end it, bytes sent for it.
        self._number = 0
        self._ends: tuple[Kind, ...] = ()
        self._size = 0
        self._was_read = False
        self._unasked = 0
        # Takes the output of the last run, which a thread may continue.
        self._output: CallOutput | None = None
        self._in_run = False
        self._next_interrupt = 0.0

    @property
    def recorder(self) -> object:
        """Object that may keep figures of calls."""
        return self.process

    def run(self, code: str, output: CallOutput, _deadline: Deadline) -> None:
        """Begin a run; see :class:`.session.guest.Guest`."""
        self.last_run += 1
        self._output = output
        ends = (Kind.DONE, Kind.FINAL, Kind.FAILED)
        self._begin(Kind.RUN, self.last_run, code.encode(), ends)

    def ask(self, request: Request, _deadline: Deadline) -> None:
        """Begin a request; see :class:`.session.guest.Guest`."""
        kind, answer = _FRAMES[request.task]
        number = 0
        if request.task is not Task.SETUP:
            self._last_request = number = _REQUESTS | (self._last_request + 1)
        body = request.bodies[0] if request.bodies else b""
        self._begin(kind, number, body, (answer, Kind.FAILED))

    def _begin(self, kind: Kind, number: int, body: Any, ends: tuple[Kind, ...]) -> None:
        self._number, self._ends, self._size = number, ends, body_size(body)
        self._was_read, self._unasked = False, 0
        self._in_run, self._next_interrupt = kind is Kind.RUN, 0.0
        self.process.put(kind, number, body)

    def turn(self, seconds: float) -> Call | End | None:
        """Take at most one frame; see :class:`.session.guest.Guest`.

        Raises:
            ProtocolError: an invalid frame, or too many unrequested ones.
        """
        if not self._ends:
            # Ctrl-C came when the end had been taken: no other frame would follow.
            return End(lambda: None)
        frame = self.process.turn(seconds)
        self._was_read = self._was_read or not self.process.unsent
        if frame is None:
            return None
        if frame.kind in _LATE:
            self._show(frame)
            return None
        if frame.run != self._number:
            raise ProtocolError(f"a {frame.kind.name} frame of run {frame.run}")
        if not self._was_read:
            # What is sent to it would wait without limit.
            raise ProtocolError("it answered before it had read the request")
        if frame.kind is Kind.CALL and self._in_run:
            if self.process.unsent > _MOST_UNREAD:
                raise ProtocolError(f"a call with {self.process.unsent} bytes of answers unread")
            return Call(frame.body, self._reply)
        if frame.kind not in self._ends:
            end = "a run" if self._in_run else "a request"
            raise ProtocolError(f"a {frame.kind.name} frame where {end} ends")
        self._in_run, self._ends = False, ()
        if frame.kind is Kind.FAILED:
            return End(lambda: None, _failure(frame.body))
        return End(lambda: self._read(frame), is_final_answer=frame.kind is Kind.FINAL)

    def _show(self, frame: Frame) -> None:
        """Take output and displays, of a run or of a thread that has outlived it."""
        is_asked = self._in_run and (frame.kind is Kind.OUTPUT or frame.run == self._number)
        if self._output is None:
            pass
        elif frame.kind is Kind.OUTPUT:
            self._output.write(self.process.text_of(frame))
        elif is_asked and frame.kind is Kind.TEXT:
            self._output.value_text = frame.body.decode("utf-8", "replace")
        elif is_asked and self._output.shown.has_room():
            self._output.shown.add(display_bundle(frame.body, self._max_value_bytes))
        self._unasked += not is_asked
        if self._unasked > MOST_UNASKED:
            raise ProtocolError(f"more than {MOST_UNASKED} unrequested frames")

    def _reply(self, answer: bytes, _deadline: Deadline) -> None:
        self.process.put(Kind.REPLY, self._number, answer)

    def _read(self, frame: Frame) -> Any:
        if frame.kind is not Kind.DONE:
            return frame.body
        return decode(frame.body, path="output", max_bytes=self._max_value_bytes)

    @property
    def unread(self) -> str:
        """Part of the request that the guest has not read, for messages; empty if it has."""
        unsent = self.process.unsent
        return f"it read only {max(0, self._size - unsent)} of {self._size} bytes" if unsent else ""

    def interrupt(self) -> None:
        """Stop the program; a repetition is sent after a pause."""
        now = time.monotonic()
        if self._in_run and now >= self._next_interrupt:
            self._next_interrupt = now + _INTERRUPT_PAUSE_SECONDS
            self.process.interrupt(self._number)

    def is_alive(self) -> bool:
        """Tell whether the process is not known to have ended."""
        return not self.process.ended

    def kill(self) -> None:
        """Kill the process; any thread may call this."""
        self.process.kill()

    def death(self) -> SandboxDiedError:
        """Return the error that describes the end; a process still running is killed."""
        return self.process.death()

    def close(self) -> None:
        """Kill the process and release all resources; take the last output of a run. Idempotent."""
        if self._in_run and self._output is not None:
            self._in_run = False
            self.process.kill()
            self.process.death()
            self._output.write(self.process.remaining_text())
        self.process.close()


def _failure(body: bytes | bytearray) -> Failure:
    """Return what a FAILED frame says."""
    try:
        data = decode(body, path="failure")
    except DecodeError as error:
        raise ProtocolError(f"a FAILED frame that cannot be read: {error}") from None
    if type(data) is not dict or {type(data.get("kind")), type(data.get("message"))} != {str}:
        raise ProtocolError("a FAILED frame has a kind and a message")
    return Failure(data["kind"], encodable(data["message"]))


def display_bundle(body: bytes | bytearray, max_value_bytes: int) -> dict[str, Any]:
    """Return the MIME bundle of a DISPLAY frame: texts, bytes and pictures."""
    try:
        bundle = decode(body, path="display", max_bytes=max_value_bytes)
    except DecodeError as error:
        raise ProtocolError(f"a DISPLAY frame that cannot be read: {error}") from None
    if type(bundle) is not dict or not all(
        type(mime_type) is str and (type(form) in (str, bytes) or is_picture(form))
        for mime_type, form in bundle.items()
    ):
        raise ProtocolError("a DISPLAY frame has MIME types with text, bytes or a picture")
    return bundle
