"""Child side: confines the process, and connects its worker to the host."""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from ..codec import decode, encode
from ..errors import ProtocolError
from ..guest.frames import Body, Frame, FrameReader, Kind, frame_parts, from_host, packed
from ..guest.guest_worker import Worker
from ..guest.spin_wait import SpinWait
from .confinement import Confinement
from .confinement_report import Bounds, Report
from .output_log import LOG_HEADER, LOG_SIZE, LOG_TEXT, STOPPED_RUN

__all__ = ["Link", "main", "rehearse"]

#: Seconds between two frames of printed text. Unsent text is in the log, which the host reads.
_FLUSH_SECONDS = 0.05
_REHEARSED_PROGRAM = (
    "import math\nprint([math.sqrt(n + 1) for n in range(3)])\nx = {}\n(x, 'text', 2.5)"
)
_REHEARSED_SETUP: dict[str, Any] = {
    "imports": [],
    "limits": {},
    "memory": None,
    "max_value_bytes": 1 << 20,
}


def main(
    data_number: int,
    log_number: int,
    confinement: Confinement,
    bounds: Bounds,
    parent: socket.socket,
    worker_class: Callable[..., Worker] = Worker,
) -> None:
    """Confine this process, report that, and serve the host until it closes the connection.

    Args:
        data_number: descriptor of the connection to the host.
        log_number: descriptor of the output log.
        confinement: begun in this process.
        bounds: the limits of this process.
        parent: connection to the fork server, which enforces some of them; closed when the host
            knows that this process is ready.
        worker_class: of the worker.
    """
    # Open until the process exits; the finalisers of mmap and socket never run.
    log = mmap.mmap(log_number, LOG_SIZE)
    os.close(log_number)
    link = Link(socket.socket(fileno=data_number), log)
    worker = _ready_worker(link, lambda: confinement.complete(bounds, parent), worker_class)
    parent.close()
    worker.serve()


def _ready_worker(
    link: Link, confine: Callable[[], Report], worker_class: Callable[..., Worker] = Worker
) -> Worker:
    setup = link.receive()
    if setup is None or setup.kind is not Kind.SETUP:
        raise ProtocolError("the first frame is SETUP")
    options: Any = decode(setup.body)
    report = confine()
    worker = worker_class(link, options)
    signal.signal(signal.SIGINT, worker.stop_if_asked)
    link.send(Kind.READY, 0, encode(report.as_data()))
    return worker


def rehearse(enough: Callable[[], bool] = lambda: False) -> None:
    """Serve a host that has one program, without confinement.

    The first use of anything costs more than the later ones; a forked process pays for each page of
    memory that it is the first to write to.

    Args:
        enough: asked before the start and before the program; ``True`` ends the rehearsal.
    """
    if enough():
        return
    handler = signal.getsignal(signal.SIGINT)
    host, guest = socket.socketpair()
    with host, guest, mmap.mmap(-1, LOG_SIZE) as log:
        host.sendall(packed(Kind.SETUP, 0, encode(_REHEARSED_SETUP)))
        try:
            worker = _ready_worker(Link(guest, log), Report)
            if not enough():
                # A text of this process: what was compiled before the fork is not compiled again.
                program = _REHEARSED_PROGRAM.format(os.getpid()).encode()
                host.sendall(packed(Kind.RUN, 1, program))
                host.shutdown(socket.SHUT_WR)
                worker.serve()
        finally:
            signal.signal(signal.SIGINT, handler)


class Link:
    """Child side of the connection; one writer at a time."""

    def __init__(self, data: socket.socket, log: mmap.mmap) -> None:
        self._socket = data
        self._reader = FrameReader(from_host())
        self._spin = SpinWait()
        self._lock = threading.RLock()
        self._log = log
        self._logged = 0
        self._sent = 0
        self._flushed = time.monotonic()
        self.run = 0
        #: Context manager that defers an interruption while a frame is written.
        self.shield: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext

    @property
    def stop_asked(self) -> bool:
        """Return whether the host has asked the current run to stop."""
        (run,) = STOPPED_RUN.unpack_from(self._log, LOG_HEADER.size)
        return bool(run == self.run)

    def receive(self) -> Frame | None:
        """Return the next frame; ``None`` if the host has closed the connection."""
        frame = self._reader.next()
        while frame is None:
            size = self._spin.wait(self._received_now)
            if size is None:
                with self._reader.space as space:
                    size = self._socket.recv_into(space)
            if not size:
                return None
            frame = self._reader.filled(size)
        return frame

    def _received_now(self) -> int | None:
        with self._reader.space as space, contextlib.suppress(BlockingIOError):
            return self._socket.recv_into(space, 0, socket.MSG_DONTWAIT)
        return None

    def send(self, kind: Kind, run: int, body: Body = b"") -> None:
        """Send a frame, after the text printed before it."""
        with self._lock:
            if self._logged:
                self.flush()
            self._flushed = time.monotonic()
            for part in frame_parts(kind, run, body):
                self._socket.sendall(part)

    def write(self, text: str) -> None:
        """Write printed text to shared memory, so that it survives the child."""
        data = text.encode("utf-8", "surrogatepass")
        room = LOG_SIZE - LOG_TEXT
        with self._lock:
            for start in range(0, len(data), room):
                part = data[start : start + room]
                if self._logged + len(part) > room:
                    self.flush()
                begin = LOG_TEXT + self._logged
                self._log[begin : begin + len(part)] = part
                self._logged += len(part)
                LOG_HEADER.pack_into(self._log, 0, self._sent, self._logged)
            if time.monotonic() - self._flushed > _FLUSH_SECONDS:
                self.flush()

    def flush(self) -> None:
        """Send the text in the log."""
        with self._lock, self.shield():
            self._flushed = time.monotonic()
            if self._logged:
                data = self._log[LOG_TEXT : LOG_TEXT + self._logged]
                self._socket.sendall(packed(Kind.OUTPUT, self.run, data))
                self._logged = 0
                # Clear the length first: the new number with the old length would repeat the text.
                LOG_HEADER.pack_into(self._log, 0, self._sent, 0)
                self._sent = (self._sent + 1) & 0xFFFFFFFF
                LOG_HEADER.pack_into(self._log, 0, self._sent, 0)
