"""A child as the host sees it: frames in and out under deadlines, and how it ended."""

from __future__ import annotations

import codecs
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

from ..deadline import Deadline
from ..errors import ProtocolError, SandboxDiedError
from ..guest.frames import Frame, FrameReader, Kind, packed
from .output_log import LOG_HEADER, LOG_SIZE, LOG_TEXT, STOPPED_RUN

__all__ = ["Child"]

_EXIT = struct.Struct("!i")
_SENT = struct.Struct("=I")  # how often the log was sent: the first half of its header
_KEPT_STDERR = 8 * 1024
# What is open, so that garbage collection finds it by its owner only: of an executor in a cycle, as
# every agent's is, it could take the sockets first, which Python tells as what nobody closed.
_open: set[socket.socket] = set()


class Child:
    """A child as the host sees it: frames in and out under deadlines, and its end.

    Every method but :meth:`interrupt` and :meth:`kill` belongs to one thread at a time.
    """

    def __init__(
        self,
        data: socket.socket,
        status: socket.socket,
        output: int,
        log: int,
        kinds: dict[Kind, int],
    ) -> None:
        self.pid = 0
        self.exit_code: int | None = None
        self._data = data
        self._status = status
        self._output: int | None = output
        # Read, not mapped: the child may cut the file short, and a map of what is not there is the
        # end of the process that looks.
        self._log = log
        self._reader = FrameReader(kinds)
        # Others may ask whether the child is alive, stop it, and close it: never beside each other,
        # or the number of a closed socket could be another file's by then.
        self._status_lock = threading.RLock()
        self._exit = b""
        self._stderr = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._output_frames = 0
        self._seen = 0
        self._closed = False
        for end in (data, status):
            _open.add(end)
            end.setblocking(False)
        os.set_blocking(output, False)

    def send(self, kind: Kind, run: int, body: bytes, deadline: Deadline) -> None:
        """Send a frame.

        Raises:
            SandboxDiedError: the child is gone.
            ProtocolError: it has not taken the frame by the deadline.
        """
        rest = memoryview(packed(kind, run, body))
        while rest:
            try:
                rest = rest[self._data.send(rest) :]
            except BlockingIOError:
                left = deadline.remaining()
                ready = _ready([self._data], select.POLLOUT, 1.0 if left is None else left)
                if not ready and deadline.expired():
                    raise ProtocolError(
                        f"the child took {len(body) - len(rest)} of {len(body)} bytes in "
                        f"{deadline.seconds} s and then no more"
                    ) from None
            except OSError as error:
                raise self.death() from error

    def receive(self, seconds: float) -> Frame | None:
        """The next frame, or none after ``seconds`` without a whole one.

        Raises:
            SandboxDiedError: the child is gone.
            ProtocolError: what came is no frame that may come here.
        """
        end = time.monotonic() + seconds
        while True:
            wanted = self._reader.wanted
            try:
                data = self._data.recv(min(wanted, 1 << 20)) if wanted else b""
            except BlockingIOError:
                left = end - time.monotonic()
                if left <= 0 or not self._wait(left):
                    return None
                continue
            except OSError as error:
                raise self.death() from error
            if wanted and not data:
                raise self.death()
            frame = self._reader.feed(data)
            if frame is not None:
                return frame

    def _wait(self, seconds: float) -> bool:
        watched: list[Any] = [self._data, self._status]
        if self._output is not None:
            watched.append(self._output)
        ready = _ready(watched, select.POLLIN, seconds)
        if self._output in ready:
            self._read_output()
        # Its last words may have come between the look at them and the look at its end, hence the
        # second one. Now nobody can write any more, unless the program gave its connection away.
        if (
            self._status in ready
            and self.ended
            and self._data not in ready
            and not _ready([self._data], select.POLLIN, 0)
        ):
            raise self.death()
        return bool(ready)

    def _read_output(self) -> None:
        if self._output is None:
            return
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._output, 1 << 16)
            self._stderr = (self._stderr + data)[-_KEPT_STDERR:]
            if not data:
                os.close(self._output)
                self._output = None

    def _read_status(self) -> None:
        with self._status_lock, contextlib.suppress(OSError):
            while self.exit_code is None:
                data = self._status.recv(_EXIT.size - len(self._exit))
                self._exit += data
                if len(self._exit) == _EXIT.size:
                    self.exit_code = _EXIT.unpack(self._exit)[0]
                elif not data:
                    self.exit_code = -signal.SIGKILL

    @property
    def ended(self) -> bool:
        """Tell whether the child is known to be gone."""
        self._read_status()
        return self.exit_code is not None

    def death(self) -> SandboxDiedError:
        """The error that says how the child ended; one that has not is killed."""
        self._wait_for_end(0.5)
        if self.exit_code is None:
            self.kill()
            self._wait_for_end(2.0)
            return SandboxDiedError(f"process {self.pid} closed its connection and was killed")
        self._read_output()
        words = self._stderr.decode("utf-8", "replace").strip()
        return SandboxDiedError(
            f"process {self.pid} {_end_in_words(self.exit_code)}" + (f": {words}" if words else "")
        )

    def _wait_for_end(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self.ended and (left := end - time.monotonic()) > 0:
            _ready([self._status], select.POLLIN, left)

    def text_of(self, frame: Frame) -> str:
        """The text of an OUTPUT frame that was not seen in the log before."""
        self._output_frames = (self._output_frames + 1) & 0xFFFFFFFF
        new, self._seen = frame.body[self._seen :], 0
        return self._decoder.decode(new)

    def text_in_log(self) -> str:
        """Printed text that has not been sent, as far as it was not seen before."""
        if self._closed:
            return ""  # its number may be another file's by now
        # The child may have written anything here; it can only spoil its own output.
        header = os.pread(self._log, LOG_HEADER.size, 0)
        if len(header) < LOG_HEADER.size:
            return ""
        sent, length = LOG_HEADER.unpack(header)
        if sent != self._output_frames:
            return ""  # it is on its way as a frame
        length = min(length, LOG_SIZE - LOG_TEXT)
        new = os.pread(self._log, max(0, length - self._seen), LOG_TEXT + self._seen)
        if os.pread(self._log, LOG_HEADER.size, 0)[: _SENT.size] != header[: _SENT.size]:
            return ""  # sent meanwhile: what was read may be what was printed after it
        self._seen = max(self._seen, length)
        return self._decoder.decode(new)

    def last_words(self) -> str:
        """All text that is left of a child that has ended, or is about to."""
        parts = []
        with contextlib.suppress(SandboxDiedError, ProtocolError):
            while (frame := self.receive(0)) is not None:
                if frame.kind is Kind.OUTPUT:
                    parts.append(self.text_of(frame))
        parts.append(self.text_in_log())
        parts.append(self._decoder.decode(b"", True))
        return "".join(parts)

    def interrupt(self, run: int) -> None:
        """Have the program of ``run`` stopped; from any thread, as often as one likes.

        The child compares the number with that of the run it is in. The signal only has it look, so
        one that comes late stops no other run.
        """
        with self._status_lock, contextlib.suppress(OSError):
            if not self._closed:  # else the log's number may be another file's by now
                os.pwrite(self._log, STOPPED_RUN.pack(run & 0xFFFFFFFF), LOG_HEADER.size)
                self._status.send(b"I")

    def kill(self) -> None:
        """Have the process killed, and all it started; from any thread."""
        with self._status_lock, contextlib.suppress(OSError):
            self._status.send(b"K")

    def close(self) -> None:
        """Kill the child and let go of everything. Idempotent."""
        with self._status_lock:
            if self._closed:
                return
            self._closed = True
            self.kill()
            if self.exit_code is None:
                self.exit_code = -signal.SIGKILL
            for end in (self._data, self._status):
                end.close()
                _open.discard(end)
        if self._output is not None:
            os.close(self._output)
            self._output = None
        os.close(self._log)


def _ready(ends: list[Any], event: int, seconds: float) -> list[Any]:
    """Those of ``ends``, sockets and descriptors, that are ready; waits for the first of them.

    Not ``select()``: it takes no descriptor above 1023, of which a server may have many.
    """
    poll = select.poll()
    numbers = {end if isinstance(end, int) else end.fileno(): end for end in ends}
    if -1 in numbers:  # closed by another thread: whoever uses it is told so
        return [numbers[-1]]
    for number in numbers:
        poll.register(number, event)
    return [numbers[number] for number, _ in poll.poll(math.ceil(seconds * 1000))]


def _end_in_words(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = {
        "SIGXCPU": " (over its processor time)",
        "SIGKILL": " (by the kernel for want of memory, or by somebody)",
        "SIGSEGV": " (a crash in native code, or a stack overflow)",
    }.get(name, "")
    return f"was ended by {name}{hint}"
