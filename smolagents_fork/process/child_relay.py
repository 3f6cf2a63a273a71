"""Relay of a child's frames to a host on another machine."""

from __future__ import annotations

import contextlib
import socket

from ..codec import encode
from ..deadline import Deadline
from ..errors import ForkError, ProtocolError, SandboxDiedError
from ..guest.frame_stream import FrameStream
from ..guest.frames import Kind, to_relay
from .child import Child

__all__ = ["ChildRelay"]

_SLICE = 0.05
# Time the host may take to read what is sent to it, in seconds; more at a breakpoint.
_SEND_SECONDS = 3600.0
# Frames of the host that are read before the child has the first of them.
_MOST_WAITING = 16
# Frames of the child that are passed on before the host is read again.
_FRAMES_AT_ONCE = 64


class ChildRelay:
    """Relays frames between a child and a stream, in one thread.

    Interrupts are read at any time, also while a long frame waits for its reader.

    Args:
        child: its frames are checked here as on one machine.
        stream: Stream to the host.
    """

    def __init__(self, child: Child, stream: socket.socket) -> None:
        self._child = child
        self._host = FrameStream(stream, to_relay())
        child.watch(stream)
        # Frames that were put since the child had read all.
        self._put = 0

    def run(self) -> None:
        """Relay until one of the two ends."""
        reading = Deadline(_SEND_SECONDS)
        try:
            with contextlib.suppress(OSError):
                while not reading.expired():
                    self._from_host()
                    if self._host.unsent:
                        continue  # the child waits, and not its text in this process
                    reading = Deadline(_SEND_SECONDS)
                    self._from_child()
        except (SandboxDiedError, ProtocolError) as error:
            self._end(error)

    def _from_host(self) -> None:
        """Pass on what the host has sent; interrupts are obeyed at once.

        Raises:
            OSError: the host is gone.
        """
        if not self._child.unsent:
            self._put = 0
        while self._put < _MOST_WAITING:
            frame = self._host.turn(0)
            if frame is None:
                if self._host.idle or self._host.unsent:
                    return
            elif frame.kind is Kind.INTERRUPT:
                self._child.interrupt(frame.run)
            elif frame.kind is Kind.KILL:
                self._child.kill()
            else:
                self._child.put(frame.kind, frame.run, frame.body)
                self._put += 1

    def _from_child(self) -> None:
        """Pass on what the child has sent and printed; not without end, for the host's sake."""
        seconds = _SLICE
        for _ in range(_FRAMES_AT_ONCE):
            frame = self._child.turn(seconds)
            seconds = 0
            if frame is None:
                if self._child.idle:
                    return
            elif frame.kind is Kind.OUTPUT:
                self._put_text(self._child.text_of(frame), frame.run)
            else:
                self._host.put(frame.kind, frame.run, frame.body)

    def _end(self, error: ForkError) -> None:
        self._child.kill()
        self._child.death()
        self._put_text(self._child.remaining_text())
        self._host.put(Kind.ENDED, 0, _last_word(error))
        reading = Deadline(_SEND_SECONDS)
        with contextlib.suppress(OSError, ProtocolError):
            while self._host.unsent and not reading.expired():
                self._host.turn(_SLICE)

    def _put_text(self, text: str, run: int = 0) -> None:
        body = text.encode("utf-8", "surrogatepass")
        for start in range(0, len(body), 1 << 15):
            self._host.put(Kind.OUTPUT, run, body[start : start + (1 << 15)])


def _last_word(error: ForkError) -> bytes:
    cause = error.cause if isinstance(error, SandboxDiedError) else "protocol"
    return encode([cause, str(error)])
