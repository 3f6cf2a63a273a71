"""Child side: confines the process, and connects its worker to the host."""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any

from ..codec import decode, encode
from ..errors import ProtocolError
from ..guest.frames import Body, Frame, FrameReader, Kind, frame_parts, from_host, packed
from ..guest.guest_worker import Worker
from .confinement import Confinement
from .confinement_report import Bounds, Report
from .stop_request import REQUEST_SIZE, STOPPED_RUN

__all__ = ["SocketLink", "main", "rehearse"]

_REHEARSED_PROGRAM = "import math\nprint([math.sqrt(n + 1) for n in range(3)])\n({}, 'text', 2.5)"
_REHEARSED_SETUP: dict[str, Any] = {
    "imports": [],
    "memory": None,
    "max_value_bytes": 1 << 20,
}


def main(
    data_number: int,
    request_number: int,
    confinement: Confinement,
    bounds: Bounds,
    parent: socket.socket,
    worker_class: Callable[..., Worker] = Worker,
) -> None:
    """Confine this process, report that, and serve the host until it closes the connection.

    Args:
        data_number: descriptor of the connection to the host.
        request_number: descriptor of the memory for requests to stop.
        confinement: begun in this process.
        bounds: the limits of this process.
        parent: connection to the fork server, which enforces some of them; closed when the host
            knows that this process is ready.
        worker_class: Class of the worker.
    """
    # Open until the process exits; the finalisers of mmap and socket never run.
    request = mmap.mmap(request_number, REQUEST_SIZE)
    os.close(request_number)
    link = SocketLink(socket.socket(fileno=data_number), request)
    worker = _ready_worker(link, lambda: confinement.complete(bounds, parent), worker_class)
    parent.close()
    worker.serve()


def _ready_worker(
    link: SocketLink, confine: Callable[[], Report], worker_class: Callable[..., Worker] = Worker
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


def rehearse() -> None:
    """Serve a host that has one program, without confinement.

    The first use of anything costs more than the later ones, and a forked process inherits it done.
    """
    handler = signal.getsignal(signal.SIGINT)
    host, guest = socket.socketpair()
    with host, guest, mmap.mmap(-1, REQUEST_SIZE) as request:
        host.sendall(packed(Kind.SETUP, 0, encode(_REHEARSED_SETUP)))
        try:
            worker = _ready_worker(SocketLink(guest, request), Report)
            host.sendall(packed(Kind.RUN, 1, _REHEARSED_PROGRAM.encode()))
            host.shutdown(socket.SHUT_WR)
            worker.serve()
        finally:
            signal.signal(signal.SIGINT, handler)


class SocketLink:
    """Child side of the connection; one writer at a time."""

    def __init__(self, data: socket.socket, request: mmap.mmap) -> None:
        self._socket = data
        self._reader = FrameReader(from_host())
        self._lock = threading.RLock()
        self._request = request
        self.run = 0
        #: Context manager that defers an interruption while a frame is written.
        self.shield: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext

    @property
    def stop_asked(self) -> bool:
        """Return whether the host has asked the current run to stop."""
        (run,) = STOPPED_RUN.unpack_from(self._request)
        return bool(run == self.run)

    def receive(self) -> Frame | None:
        """Return the next frame; ``None`` if the host has closed the connection."""
        frame = self._reader.next()
        while frame is None:
            with self._reader.space as space:
                size = self._socket.recv_into(space)
            if not size:
                return None
            frame = self._reader.filled(size)
        return frame

    def send(self, kind: Kind, run: int, body: Body = b"") -> None:
        """Send a frame; text that was printed before it is in the pipe, where the host looks."""
        with self._lock:
            for part in frame_parts(kind, run, body):
                self._socket.sendall(part)
