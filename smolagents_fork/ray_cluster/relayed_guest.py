"""Host side of a guest on another machine, whose frames a relay passes on."""

from __future__ import annotations

import contextlib
import socket
from typing import Any

from ..codec import decode
from ..deadline import Deadline
from ..errors import DecodeError, ProtocolError, SandboxDiedError
from ..guest.frame_stream import FrameStream
from ..guest.frames import Frame, Kind, of_relay
from ..guest.guest_process import GuestProcess
from ..system.forks import forget, keep_open
from .remote_sandbox import RemoteSandbox

__all__ = ["RelayedGuest"]

_LARGEST_PID = (1 << 31) - 1


class RelayedGuest(GuestProcess):
    """A guest on another machine, whose frames come through a stream; see :class:`GuestProcess`.

    Args:
        pid: its process number there; not trusted.
        stream: Stream to its relay; closed with this object.
    """

    late_seconds = 1.0

    def __init__(
        self, sandbox: RemoteSandbox, pid: Any, stream: socket.socket, kinds: dict[Kind, int]
    ) -> None:
        if type(pid) is not int or not 0 < pid <= _LARGEST_PID:  # messages quote it
            stream.close()
            raise ProtocolError(f"{sandbox}: a child has a process number")
        self.pid = pid
        self._sandbox = sandbox
        self._connection = stream
        super().__init__(FrameStream(stream, {**kinds, **of_relay()}))
        self._closed = False
        self._killed = False
        self._death: SandboxDiedError | None = None
        # A frame that was read while the child was asked whether it has ended.
        self._early: Frame | None = None
        keep_open((stream,))

    def turn(self, seconds: float) -> Frame | None:
        """Send what the relay reads, and return a frame that is complete."""
        if self._early is not None:
            early, self._early = self._early, None
            return early
        try:
            frame = self._stream.turn(seconds)
        except OSError as error:
            raise self.death() from error
        if frame is not None and frame.kind is Kind.ENDED:
            raise self._read_ending(frame.body)
        return frame

    def _read_ending(self, body: bytes | bytearray) -> SandboxDiedError | ProtocolError:
        try:
            ending = decode(bytes(body), path="frame")
        except DecodeError as error:
            raise ProtocolError(f"a frame of a relay that cannot be read: {error}") from error
        if type(ending) is not list or [type(part) for part in ending] != [str, str]:
            raise ProtocolError(f"{self._sandbox}: an ENDED frame has a cause and a message")
        cause, message = ending
        text = f"{self._sandbox}: {message}"
        if cause == "protocol":
            self._death = SandboxDiedError(text, cause="connection")
            return ProtocolError(text)
        self._death = SandboxDiedError(text, cause=cause)
        return self._death

    @property
    def ended(self) -> bool:
        """True if the child is known to have ended."""
        # An idle child sends nothing; what is there is its end, or late output before it.
        if self._death is None and not self._closed and self._early is None:
            with contextlib.suppress(SandboxDiedError, ProtocolError):
                self._early = self.turn(0)
        return self._death is not None or self._closed or bool(self._sandbox.lost)

    def death(self) -> SandboxDiedError:
        """Return the error that describes the end; a child still running is killed."""
        if self._death is None and not self._closed:
            # Its relay says why, unless its node is lost.
            end = Deadline(2.0)
            with contextlib.suppress(OSError, ProtocolError):
                while self._death is None and not end.expired():
                    frame = self._stream.turn(end.at_most(0.1))
                    if frame is not None and frame.kind is Kind.ENDED:
                        self._read_ending(frame.body)
        if self._death is None:
            reason = "" if self._killed else self._sandbox.why_lost()
            if not reason:
                reason = f"the connection to its process {self.pid} has ended"
            # Without a last word of the relay, nobody knows how far the code has run.
            cause = "connection" if self._killed else "node"
            self._death = SandboxDiedError(f"{self._sandbox}: {reason}", cause=cause)
            self.kill()
        return self._death

    def record_call(self, seconds: float) -> None:
        """Record the time of a run; see :meth:`RemoteSandbox.record_call`."""
        self._sandbox.record_call(seconds)

    def interrupt(self, run: int) -> None:
        """Stop the program of ``run``; from any thread."""
        self.put(Kind.INTERRUPT, run)

    def kill(self) -> None:
        """Kill the child; from any thread."""
        self._killed = True
        self.put(Kind.KILL, 0)

    def close(self) -> None:
        """Kill the child and release all resources. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self.kill()
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()
        forget((self._connection,))
