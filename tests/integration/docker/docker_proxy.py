"""A TCP port in front of the engine's own socket, which can be counted and cut."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Callable
from typing import Any

_REQUEST = re.compile(rb"(?:^|(?<=\n))([A-Z]{3,7}) (/\S+) HTTP/1\.1\r\n")


class Proxy:
    """A TCP port that leads to the engine's socket, and can be cut and opened again.

    Attributes:
        accepted: connections so far.
        closed_by_client: how many of them the client has closed.
        requests: method and path of every request, as far as they could be told.
    """

    def __init__(self, target: str) -> None:
        self.target = target
        self.accepted = 0
        self.closed_by_client = 0
        self.requests: list[str] = []
        self.refusing = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.open: list[socket.socket] = []
        self.lock = threading.Lock()
        self.closed = False
        self.threads: list[threading.Thread] = []
        self._begin(self._accept)

    def _begin(self, function: Callable[..., None], *arguments: Any) -> None:
        self.threads.append(threading.Thread(target=function, args=arguments, daemon=True))
        self.threads[-1].start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            if self.refusing:
                near.close()
                continue
            with self.lock:
                if self.closed:
                    near.close()
                    return
                far = socket.socket(socket.AF_UNIX)
                self.open += [near, far]
                try:
                    far.connect(self.target)
                except OSError:
                    near.close()
                    continue
                for a, b in ((near, far), (far, near)):
                    self._begin(self._copy, a, b, a is near)

    def _copy(self, source: socket.socket, target: socket.socket, asking: bool) -> None:
        try:
            while data := source.recv(65536):
                if asking:
                    self.requests += [b" ".join(x).decode() for x in _REQUEST.findall(data)]
                target.sendall(data)
            with self.lock:
                self.closed_by_client += asking
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def asked(self, words: str) -> list[str]:
        """Requests whose method and path match the regular expression ``words``."""
        return [request for request in self.requests if re.search(words, request)]

    def lose(self) -> None:
        """End all present connections; new ones are accepted."""
        with self.lock:
            for sock in self.open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        # shutdown wakes the thread in accept(); close() alone leaves the port open until it wakes.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            self.closed = True
            for sock in self.open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
                sock.close()
        for thread in self.threads:
            thread.join(60)
