"""Ways to the engine that cut what it says elsewhere than it did: at every byte, or nowhere."""

from __future__ import annotations

import contextlib
import select
import socket
import time

from docker_proxy import Proxy

# How long the engine has to say nothing until what it said is passed on, and at most how long what
# it said waits.
_PAUSE_SECONDS = 0.006
_LONGEST_SECONDS = 0.2


class Splitting(Proxy):
    """Passes on what the engine says one byte at a time."""

    def _copy(self, source: socket.socket, target: socket.socket, asking: bool) -> None:
        if asking:
            super()._copy(source, target, asking)
            return
        with contextlib.suppress(OSError):
            target.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while data := source.recv(65536):
                for at in range(len(data)):
                    target.send(data[at : at + 1])
            target.shutdown(socket.SHUT_WR)


class Gathering(Proxy):
    """Holds what either side says until it says no more for a moment; its end comes along."""

    def _copy(self, source: socket.socket, target: socket.socket, asking: bool) -> None:
        with contextlib.suppress(OSError):
            poll = select.poll()
            poll.register(source, select.POLLIN)
            data = b"the first"
            while data:
                gathered, data = b"", source.recv(65536)
                end = time.monotonic() + _LONGEST_SECONDS
                while data:
                    gathered += data
                    if time.monotonic() > end or not poll.poll(_PAUSE_SECONDS * 1000):
                        break
                    data = source.recv(65536)
                target.sendall(gathered)
            target.shutdown(socket.SHUT_WR)
