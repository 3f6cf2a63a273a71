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
from typing import Any

from ..errors import SandboxDiedError
from ..forks import forget, keep_open
from ..guest.frame_stream import FrameStream
from ..guest.frames import Body, Frame, Kind
from ..guest.guest_process import StreamedGuest, exit_text, remaining_text
from .output_log import LOG_HEADER, LOG_SIZE, LOG_TEXT, STOPPED_RUN
from .processor_clock import ProcessorClock

__all__ = ["Child"]

_EXIT = struct.Struct("!i")
_SENT = struct.Struct("=I")  # number of times the log was sent: the first half of its header
_KEPT_STDERR = 8 * 1024


class Child(StreamedGuest):
    """Host side of a child: frames in and out under deadlines, and its exit.

    Only one thread at a time may call the methods other than :meth:`interrupt` and :meth:`kill`.

    Args:
        data: the connection for frames.
        status: the connection to the fork server, for signals and the exit code.
        output: the child's standard error.
        log: its printed text, in memory that it shares.
        kinds: frames that are accepted from it.
        cpu_seconds: processor time of one run; ``None`` for no limit.
    """

    def __init__(
        self,
        data: socket.socket,
        status: socket.socket,
        output: int,
        log: int,
        kinds: dict[Kind, int],
        cpu_seconds: float | None = None,
    ) -> None:
        self.pid = 0
        self._processor = ProcessorClock(cpu_seconds)
        self.exit_code: int | None = None
        self._data = data
        self._status = status
        self._output: int | None = output
        # Read, not mapped: the child may truncate the file, and reading a mapping past its end
        # kills the process.
        self._log = log
        super().__init__(FrameStream(data, kinds, self._notice))
        self._stream.watch(status.fileno())
        self._stream.watch(output)
        # Other threads may query, stop and close the child. The lock serialises them, because the
        # descriptor of a closed socket may be reused.
        self._status_lock = threading.RLock()
        self._exit = b""
        self._stderr = b""
        self._output_frames = 0
        self._seen = 0
        self._closed = False
        status.setblocking(False)
        self._status_poll = select.poll()
        self._status_poll.register(status, select.POLLIN)
        keep_open((data, status))
        os.set_blocking(output, False)

    def put(self, kind: Kind, run: int, body: Body = b"") -> None:
        """Have the next turns send a frame; see :class:`GuestProcess`."""
        if kind is Kind.RUN:
            self._processor.begin(self.pid)
        super().put(kind, run, body)

    def turn(self, seconds: float) -> Frame | None:
        """Send what the child reads, and return a frame that is complete.

        Raises:
            SandboxDiedError: the child has ended, or was killed at its limit of processor time.
            ProtocolError: the child sent an invalid or unexpected frame.
        """
        if self._processor.is_over(time.monotonic()):
            self.kill()
            raise SandboxDiedError(
                f"process {self.pid} used more processor time than {self._processor} and was "
                "killed; raise that parameter, or do less in one call",
                cause="exit",
            )
        try:
            frame = self._stream.turn(seconds)
            if frame is None and self._stream.idle and self.ended:
                # The last frames may have arrived between the two checks, hence the second turn.
                # Now nobody can write any more, unless the program passed its connection on.
                frame = self._stream.turn(0)
                if frame is None and self._stream.idle:
                    raise self.death()
        except OSError:
            raise self.death() from None
        return frame

    def watch(self, other: socket.socket) -> None:
        """End the wait of a turn when another socket has something to read, too."""
        self._stream.watch(other.fileno())

    def _notice(self, number: int) -> None:
        if number == self._output:
            self._read_output()

    def _read_output(self) -> None:
        if self._output is None:
            return
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._output, 1 << 16)
            self._stderr = (self._stderr + data)[-_KEPT_STDERR:]
            if not data:
                self._stream.unwatch(self._output)
                os.close(self._output)
                self._output = None

    def _read_status(self) -> None:
        with self._status_lock, contextlib.suppress(OSError):
            # Asked before every call: a poll costs less than the error of a read without data.
            while self.exit_code is None and (self._closed or self._status_poll.poll(0)):
                data = self._status.recv(_EXIT.size - len(self._exit))
                self._exit += data
                if len(self._exit) == _EXIT.size:
                    self.exit_code = _EXIT.unpack(self._exit)[0]
                elif not data:
                    self.exit_code = -signal.SIGKILL

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
        text = self._stderr.decode("utf-8", "replace").strip()
        return SandboxDiedError(
            f"process {self.pid} {exit_text(self.exit_code)}" + (f": {text}" if text else ""),
            cause="signal" if self.exit_code < 0 else "exit",
        )

    def _wait_for_end(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self.ended and (left := end - time.monotonic()) > 0:
            _ready([self._status], select.POLLIN, left)

    def text_of(self, frame: Frame) -> str:
        """Return the text of an OUTPUT frame that was not read from the log before."""
        self._output_frames = (self._output_frames + 1) & 0xFFFFFFFF
        new, self._seen = frame.body[self._seen :], 0
        return self._decoder.decode(new)

    def text_in_log(self) -> str:
        """Return printed text that has not been sent and was not read before."""
        if self._closed:
            return ""  # the descriptor may have been reused
        # The child may have written anything here; it can only corrupt its own output.
        header = os.pread(self._log, LOG_HEADER.size, 0)
        if len(header) < LOG_HEADER.size:
            return ""
        sent, length = LOG_HEADER.unpack(header)
        if sent != self._output_frames:
            return ""  # a frame with this text is on its way
        length = min(length, LOG_SIZE - LOG_TEXT)
        new = os.pread(self._log, max(0, length - self._seen), LOG_TEXT + self._seen)
        if os.pread(self._log, LOG_HEADER.size, 0)[: _SENT.size] != header[: _SENT.size]:
            return ""  # sent meanwhile: the text just read may be later text
        self._seen = max(self._seen, length)
        return self._decoder.decode(new)

    def remaining_text(self) -> str:
        """Return all remaining text of a child that has ended, or is about to end."""
        return remaining_text(self, self._decoder)

    def interrupt(self, run: int) -> None:
        """Stop the program of ``run``; any thread may call this, any number of times.

        The child compares the number with that of its current run. The signal only triggers the
        comparison, so a late signal stops no other run.
        """
        with self._status_lock, contextlib.suppress(OSError):
            if not self._closed:  # else the log's descriptor may have been reused
                os.pwrite(self._log, STOPPED_RUN.pack(run & 0xFFFFFFFF), LOG_HEADER.size)
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
            for end in (self._data, self._status):
                end.close()
            forget((self._data, self._status))
        if self._output is not None:
            os.close(self._output)
            self._output = None
        os.close(self._log)


def _ready(ends: list[Any], event: int, seconds: float) -> list[Any]:
    """Wait until one of ``ends``, sockets and descriptors, is ready; return all ready ones.

    ``select()`` does not support descriptors above 1023, of which a server may have many.
    """
    poll = select.poll()
    numbers = {end if isinstance(end, int) else end.fileno(): end for end in ends}
    if -1 in numbers:  # closed by another thread: using it raises the error
        return [numbers[-1]]
    for number in numbers:
        poll.register(number, event)
    return [numbers[number] for number, _ in poll.poll(math.ceil(seconds * 1000))]
