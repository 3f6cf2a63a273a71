"""Child side: confines the process, and connects its worker to the host."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import tempfile
from typing import Any

from ..codec import decode, encode
from ..errors import ProtocolError
from ..guest.frames import READ_BYTES, Kind
from ..guest.guest_worker import Link, Worker
from .confinement import Confinement
from .confinement_report import STOPPED_RUN, Bounds
from .restrictions import file_attributes
from .sandbox_paths import Layout

__all__ = ["main", "socket_link"]


def main(
    data: socket.socket,
    stops: socket.socket,
    parent: socket.socket,
    layout: Layout,
) -> None:
    """Confine this process, report that, and serve the host until it closes the connection.

    The first two frames are SETUP: the limits of this process, and the options of the worker.

    Args:
        data: connection to the host.
        stops: connection on which it names the runs that it wants to stop; takes the listener for
            its proxy.
        parent: connection to the fork server, which enforces some of the limits; closed when the
            host knows that this process is ready.
        layout: of all children of the fork server.
    """
    link = socket_link(data, stops)
    bounds: Bounds = _setup(link, Bounds)
    os.setsid()
    _prepare_environment(bounds)
    options = _setup(link)
    report = Confinement(layout, bounds).take_all(parent, stops)
    stops.shutdown(socket.SHUT_WR)  # a program has nothing to send there
    worker = Worker(link, options)
    signal.signal(signal.SIGINT, worker.stop_if_asked)
    link.send(Kind.READY, 0, encode(report.as_data()))
    parent.close()
    worker.serve()


def _setup(link: Link, *classes: type) -> Any:
    """Return the content of a SETUP frame; end this process if the host has ended."""
    frame = link.receive()
    if frame is None:
        os._exit(0)
    if frame.kind is not Kind.SETUP:
        raise ProtocolError("the first two frames must be SETUP")
    return decode(frame.body, classes=classes)


def _prepare_environment(bounds: Bounds) -> None:
    work, temporary = bounds.work_folder, bounds.temporary_folder
    for folder in (work, temporary):
        with contextlib.suppress(FileExistsError):  # the child before it has made it
            os.mkdir(folder, 0o700)
    os.chdir(work)
    os.environ.update(bounds.variables, HOME=work, TMPDIR=temporary)
    file_attributes.use_folders(work, temporary)
    tempfile.tempdir = None


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
