"""Host side of a child: frames in and out under deadlines, and its exit."""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import socket
import struct
import threading
import time

from ..errors import SandboxDiedError
from ..guest.frame_stream import FrameStream
from ..guest.frames import Body, Frame, Kind
from ..guest.guest_process import GuestProcess, exit_text
from ..system.descriptor_passing import receive_descriptor
from ..system.forks import forget, keep_open
from .confinement_report import STOPPED_RUN

__all__ = ["Child"]

_EXIT = struct.Struct("!i")
# Bytes of output that are read at once: as many as a pipe has.
_PIPE_BYTES = 64 * 1024
_CLOCK_SECONDS = 0.05  # between two looks at a processor clock
# Bytes of output that an error about the end quotes.
_QUOTED = 2000


class Child(GuestProcess):
    """Host side of a child: frames in and out under deadlines, and its exit.

    Only one thread at a time may call the methods other than :meth:`interrupt` and :meth:`kill`.

    Args:
        pid: its process number.
        data: the connection for frames.
        status: the connection to the fork server, for signals and the exit code.
        stops: a connection on which it is told which run to stop.
        output: a pipe from the child's standard output and standard error.
        kinds: frames that are accepted from it.
        cpu_seconds: processor time of one run; ``None`` for no limit.
    """

    def __init__(
        self,
        pid: int,
        data: socket.socket,
        status: socket.socket,
        stops: socket.socket,
        output: int,
        kinds: dict[Kind, int],
        cpu_seconds: float | None = None,
    ) -> None:
        self.pid = pid
        self._processor = _ProcessorClock(cpu_seconds)
        self.exit_code: int | None = None
        self._data = data
        self._status = status
        self._output: int | None = output
        self._stops = stops
        # What was read of the output and not taken, and the frame behind it.
        self._text = b""
        self._behind: Frame | None = None
        self._quoted = b""
        super().__init__(FrameStream(data, kinds))
        self._stream.watch(status.fileno())
        self._stream.watch(output)
        # Other threads may query, stop and close the child. The lock serialises them, because the
        # descriptor of a closed socket may be reused.
        self._status_lock = threading.RLock()
        self._closed = False
        for end in (status, stops):
            end.setblocking(False)
        keep_open((data, status, stops))
        os.set_blocking(output, False)

    def put(self, kind: Kind, run: int, body: Body = b"") -> None:
        """Have the next turns send a frame; see :class:`GuestProcess`."""
        if kind is Kind.RUN:
            self._processor.begin(self.pid)
            self._quoted = b""
        super().put(kind, run, body)

    def turn(self, seconds: float) -> Frame | None:
        """Send what the child reads, and return a frame that is complete, or new output as one.

        Output that was written before a frame precedes it.

        Raises:
            SandboxDiedError: the child has ended, or was killed at its limit of processor time.
            ProtocolError: the child sent an invalid or unexpected frame.
        """
        if self._behind is not None:
            behind, self._behind = self._behind, None
            return behind
        if self._processor.is_over(time.monotonic()):
            self.kill()
            raise SandboxDiedError(
                f"process {self.pid} used more processor time than {self._processor} and was "
                "killed; raise that parameter, or do less in one call",
                cause="exit",
            )
        frame, is_over = None, False
        try:
            frame = self._stream.turn(seconds)
            if frame is None and self._stream.idle and self.ended:
                # The last frames may have arrived between the two checks, hence the second turn.
                # Now nobody can write any more, unless the program passed its connection on.
                frame = self._stream.turn(0)
                is_over = frame is None and self._stream.idle
        except OSError:
            is_over = True
        self._read_output()
        if self._text:
            text, self._text = self._text, b""
            self._behind = frame
            return Frame(Kind.OUTPUT, 0, text)
        if is_over:
            raise self.death()
        return frame

    def watch(self, other: socket.socket) -> None:
        """End the wait of a turn when another socket has something to read, too."""
        self._stream.watch(other.fileno())

    def take_listener(self) -> socket.socket | None:
        """Return the listener of the child's network; ``None`` if it has sent none until READY."""
        number = receive_descriptor(self._stops)
        return None if number is None else socket.socket(fileno=number)

    def _read_output(self) -> None:
        if self._output is None:
            return
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._output, _PIPE_BYTES)
            self._text += data
            self._quoted = (self._quoted + data)[-_QUOTED:]
            if not data:
                self._stream.unwatch(self._output)
                os.close(self._output)
                self._output = None

    def _read_status(self) -> None:
        with self._status_lock, contextlib.suppress(OSError):
            if self.exit_code is None:
                data = self._status.recv(_EXIT.size)
                # Without a status the fork server has ended, and its children with it.
                self.exit_code = _EXIT.unpack(data)[0] if data else -signal.SIGKILL

    @property
    def ended(self) -> bool:
        """True if the child is known to have ended."""
        self._read_status()
        return self.exit_code is not None

    def death(self) -> SandboxDiedError:
        """Return the error that describes the child's exit; a child still running is killed."""
        self._wait_for_end(0.5)
        if self.exit_code is None:
            self.kill()
            self._wait_for_end(2.0)
            return SandboxDiedError(
                f"process {self.pid} closed its connection and was killed", cause="connection"
            )
        self._read_output()
        text = self._quoted.decode("utf-8", "replace").strip()
        return SandboxDiedError(
            f"process {self.pid} {exit_text(self.exit_code)}"
            + (f"; the last of its output: {text}" if text else ""),
            cause="signal" if self.exit_code < 0 else "exit",
        )

    def _wait_for_end(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        # Of its own: two threads cannot wait by one object.
        poll = select.poll()
        with contextlib.suppress(ValueError):  # closed by another thread
            poll.register(self._status, select.POLLIN)
        while not self.ended and (seconds_left := end - time.monotonic()) > 0:
            poll.poll(math.ceil(seconds_left * 1000))

    def interrupt(self, run: int) -> None:
        """Stop the program of ``run``; any thread may call this, any number of times.

        The child compares the number with that of its current run. The signal only triggers the
        comparison, so a late signal stops no other run.
        """
        with self._status_lock, contextlib.suppress(OSError):
            # A child that has not read the last ones is told again, as often as this is called.
            with contextlib.suppress(BlockingIOError):
                self._stops.send(STOPPED_RUN.pack(run))
            self._status.send(b"I")

    def kill(self) -> None:
        """Kill the process and all processes it started; any thread may call this."""
        with self._status_lock, contextlib.suppress(OSError):
            self._status.send(b"K")

    def close(self) -> None:
        """Kill the child and release all resources. Idempotent."""
        with self._status_lock:
            if self._closed:
                return
            self._closed = True
            self.kill()
            if self.exit_code is None:
                self.exit_code = -signal.SIGKILL
            ends = (self._data, self._status, self._stops)
            for end in ends:
                end.close()
            forget(ends)
        if self._output is not None:
            os.close(self._output)
            self._output = None


class _ProcessorClock:
    """Limit of the processor time of one run, which no program can set back or ignore.

    Args:
        seconds: the limit; ``None`` for none, and where the system has no such clock.
    """

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._clock = 0
        self._end: float | None = None
        # Monotonic time of the next look.
        self._next = float("inf")

    def begin(self, pid: int) -> None:
        """Count from now on."""
        if self._seconds is None:
            return
        # clock_getcpuclockid(3): CPUCLOCK_SCHED of the whole process.
        self._clock = ~pid << 3 | 2
        now = self._now()
        if now is not None:
            self._end = now + self._seconds
            self._next = 0.0

    def is_over(self, monotonic: float) -> bool:
        """Return whether the child has used more than the limit since :meth:`begin`.

        Args:
            monotonic: the time now. The clock is read 20 times a second at most.
        """
        if monotonic < self._next or self._end is None:
            return False
        self._next = monotonic + _CLOCK_SECONDS
        now = self._now()
        return now is not None and now > self._end

    def __str__(self) -> str:
        return f"cpu_seconds={self._seconds}"

    def _now(self) -> float | None:
        with contextlib.suppress(OSError):  # the child has ended
            return time.clock_gettime(self._clock)
        return None
