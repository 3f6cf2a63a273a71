"""Child side: confines the process, and connects its worker to the host."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Callable
from typing import Any

from ..codec import decode, encode
from ..errors import ProtocolError
from ..guest.frames import READ_BYTES, Kind
from ..guest.guest_worker import Link, Worker
from .confinement import Confinement
from .confinement_report import STOPPED_RUN, Bounds

__all__ = ["main", "socket_link"]


def main(
    data: socket.socket,
    stops: socket.socket,
    confinement: Confinement,
    bounds: Bounds,
    parent: socket.socket,
    worker_class: Callable[..., Worker] = Worker,
) -> None:
    """Confine this process, report that, and serve the host until it closes the connection.

    Args:
        data: connection to the host.
        stops: connection on which it names the runs that it wants to stop.
        confinement: begun in this process.
        bounds: the limits of this process.
        parent: connection to the fork server, which enforces some of them; closed when the host
            knows that this process is ready.
        worker_class: Class of the worker.
    """
    link = socket_link(data, stops)
    setup = link.receive()
    if setup is None or setup.kind is not Kind.SETUP:
        raise ProtocolError("the first frame is SETUP")
    options: Any = decode(setup.body)
    report = confinement.complete(bounds, parent)
    worker = worker_class(link, options)
    signal.signal(signal.SIGINT, worker.stop_if_asked)
    link.send(Kind.READY, 0, encode(report.as_data()))
    parent.close()
    worker.serve()


def socket_link(data: socket.socket, stops: socket.socket) -> Link:
    """Connect a worker to its host.

    Args:
        data: connection for frames.
        stops: connection on which the host names a run that it wants to stop, before its signal.
    """
    last = 0

    def stopped_run() -> int:
        nonlocal last
        with contextlib.suppress(BlockingIOError):
            while numbers := stops.recv(READ_BYTES, socket.MSG_DONTWAIT):
                # The handler of a signal may have read a later one meanwhile.
                last = max(last, *(number for (number,) in STOPPED_RUN.iter_unpack(numbers)))
        return last

    return Link(data.recv, data.sendall, stopped_run)
