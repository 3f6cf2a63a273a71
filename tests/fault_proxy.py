"""A TCP port in front of a server, whose connections can be cut, frozen, reset and regrouped."""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import threading
import time
from typing import Literal

__all__ = ["FaultProxy"]

Grouping = Literal["as sent", "bytes", "gathered"]

# Pause after which gathered bytes are passed on, and the longest time that they wait.
_PAUSE_SECONDS = 0.006
_LONGEST_SECONDS = 0.2
_RESET = struct.pack("ii", 1, 0)


class FaultProxy:
    """A port that leads to a server. A context manager that closes it and its connections.

    Args:
        target: path of a Unix socket, or host and port.
        grouping: ``bytes`` passes on each byte of the server by itself, ``gathered`` passes on
            what comes within a moment, from either side, in one piece.
        address: that it listens on.

    Attributes:
        accepted: number of connections so far.
        passed_bytes: number of bytes that were passed on, in both directions.
        is_at_limit: whether :meth:`pass_at_most` stops the bytes now.
    """

    def __init__(
        self,
        target: str | tuple[str, int],
        grouping: Grouping = "as sent",
        address: str = "127.0.0.1",
    ) -> None:
        self._target, self._grouping = target, grouping
        self.accepted = self.passed_bytes = 0
        self.is_at_limit = False
        self._most_bytes: int | None = None
        self._listener = socket.create_server((address, 0))
        self.port: int = self._listener.getsockname()[1]
        self._changed = threading.Condition()
        self._frozen = self._refusing = self._silent = self._closed = False
        # Open connections, each with its other side; of those that are cut, nothing is passed on.
        self._peers: dict[socket.socket, socket.socket] = {}
        self._cut: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._begin(self._accept)

    def __enter__(self) -> FaultProxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the port and all connections, as a server does that ends."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        # A shutdown wakes the thread in accept(); close() alone leaves the port open until then.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._end_all()
        for thread in self._threads:
            thread.join(60)

    # -- faults --

    def reset(self, *, refuse: bool = False) -> None:
        """Reset all connections, as a router does that has lost its tables.

        Args:
            refuse: whether new ones are reset, too, until :meth:`heal`.
        """
        self._refusing = refuse
        self._end_all()
        if not refuse:
            self.heal()

    def cut(self, *, silent: bool = True) -> None:
        """Pass nothing on over the present connections, ever, and tell nobody.

        Args:
            silent: whether new ones get no answer either, until :meth:`heal`.
        """
        with self._changed:
            self._silent = silent
            self._cut |= self._peers.keys()

    def freeze(self) -> None:
        """Pass nothing on until :meth:`heal`; then all that was sent."""
        with self._changed:
            self._frozen = True

    def pass_at_most(self, size: int) -> None:
        """Stop in the middle of what is sent, until :meth:`heal`.

        Args:
            size: of :attr:`passed_bytes` from which on nothing is passed on.
        """
        self._most_bytes = size

    def heal(self) -> None:
        """Let new connections work, and those that were frozen."""
        with self._changed:
            self._most_bytes, self.is_at_limit = None, False
            self._frozen = self._refusing = self._silent = False
            self._changed.notify_all()

    def see(self, data: bytes, *, from_client: bool) -> bytes:
        """Return what is passed on in place of bytes that have come; none at an end."""
        return data

    # -- work --

    def _begin(self, function: object, *arguments: object) -> None:
        thread = threading.Thread(target=function, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _end_all(self) -> None:
        with self._changed:
            sockets, self._peers = list(self._peers), {}
            self._cut.clear()
            self._changed.notify_all()
        for sock in sockets:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            if self._refusing or self._closed:
                near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                near.close()
                continue
            try:
                far = self._connect()
            except OSError:
                near.close()
                continue
            for sock in (near, far):
                if sock.family == socket.AF_INET:
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._changed:
                if self._closed:  # meanwhile: nobody would end these
                    near.close()
                    far.close()
                    return
                self._peers |= {near: far, far: near}
                if self._silent:
                    self._cut |= {near, far}
            requests: Grouping = "as sent" if self._grouping == "bytes" else self._grouping
            self._begin(self._copy, near, far, requests, True)
            self._begin(self._copy, far, near, self._grouping, False)

    def _connect(self) -> socket.socket:
        if isinstance(self._target, tuple):
            return socket.create_connection(self._target, timeout=None)
        far = socket.socket(socket.AF_UNIX)
        try:
            far.connect(self._target)
        except BaseException:
            far.close()
            raise
        return far

    def _copy(
        self,
        source: socket.socket,
        target: socket.socket,
        grouping: Grouping,
        from_client: bool,
    ) -> None:
        with contextlib.suppress(OSError, ValueError):  # ValueError: closed by another thread
            data = b"\0"
            while data:
                data = self.see(source.recv(65536), from_client=from_client)
                if grouping == "gathered":
                    data = self._gather(source, data)
                if not self._may_pass(source):
                    return
                if grouping == "bytes":
                    for at in range(len(data)):
                        target.sendall(data[at : at + 1])
                else:
                    target.sendall(data)
                with self._changed:
                    self.passed_bytes += len(data)
            target.shutdown(socket.SHUT_WR)

    def _gather(self, source: socket.socket, data: bytes) -> bytes:
        poll = select.poll()
        poll.register(source, select.POLLIN)
        end = time.monotonic() + _LONGEST_SECONDS
        while data and time.monotonic() < end and poll.poll(_PAUSE_SECONDS * 1000):
            more = source.recv(65536)
            if not more:
                break
            data += more
        return data

    def _may_pass(self, source: socket.socket) -> bool:
        """Wait while the proxy is frozen; return whether bytes of a connection are passed on."""

        def is_decided() -> bool:
            if self._most_bytes is not None and self.passed_bytes >= self._most_bytes:
                self.is_at_limit = True
            frozen = self._frozen or self.is_at_limit or source in self._cut
            return self._closed or source not in self._peers or not frozen

        with self._changed:
            self._changed.wait_for(is_decided)
            return not self._closed and source in self._peers
