"""The client of all sides: requests to a server on loopback, with or without a proxy.

As a program, ``python client.py PORT [AUTHORITY]``, it is the floor, which has no proxy: it prints
``ready``, and answers a method's name with seconds. In a sandbox its text is run. Standard library
only.
"""

from __future__ import annotations

import http.client
import ssl
import sys
import threading
import time

__all__ = ["Client", "main"]

_REQUESTS = 50
_LARGE_BYTES = 100_000_000
_STREAMS, _STREAM_BYTES = 100, 200_000


class Client:
    """Requests to one server.

    Args:
        port: Port of the server on loopback.
        proxy: Host and port of a proxy; ``None``: the server is reached directly.
        authority: File of the authority of a server that speaks TLS; ``None``: it speaks none.
    """

    def __init__(
        self, port: int, proxy: tuple[str, int] | None = None, authority: str | None = None
    ) -> None:
        self._port = port
        self._proxy = proxy
        self._tls = authority and ssl.create_default_context(cafile=authority)

    def _connect(self) -> http.client.HTTPConnection:
        address = self._proxy or ("localhost" if self._tls else "127.0.0.1", self._port)
        if not self._tls:
            return http.client.HTTPConnection(*address, timeout=60)
        connection = http.client.HTTPSConnection(*address, timeout=60, context=self._tls)
        if self._proxy is not None:
            connection.set_tunnel("localhost", self._port)
        return connection

    def _get(self, connection: http.client.HTTPConnection, size: int) -> None:
        path = f"/{size}"
        # A proxy takes the whole address of a plain request, and the path through a tunnel.
        if self._proxy is not None and not self._tls:
            path = f"http://localhost:{self._port}{path}"
        connection.request("GET", path)
        self._read(connection, size)

    def _read(self, connection: http.client.HTTPConnection, size: int) -> None:
        with connection.getresponse() as answer:
            remaining = size
            while data := answer.read(1 << 18):
                remaining -= len(data)
        if remaining:
            raise ValueError(f"{remaining} of {size} bytes are missing")

    def new(self) -> float:
        """Return the seconds of one request on a new connection."""
        began = time.perf_counter()
        connection = self._connect()
        self._get(connection, 1)
        connection.close()
        return time.perf_counter() - began

    def kept(self) -> float:
        """Return the seconds of one request on a kept connection."""
        connection = self._connect()
        self._get(connection, 1)
        began = time.perf_counter()
        for _ in range(_REQUESTS):
            self._get(connection, 1)
        seconds = (time.perf_counter() - began) / _REQUESTS
        connection.close()
        return seconds

    def stream(self) -> float:
        """Return the seconds of 100 MB on one connection, through a tunnel of the proxy."""
        connection = self._connect()
        if self._proxy is not None and not self._tls:
            connection.set_tunnel("localhost", self._port)
        connection.connect()
        began = time.perf_counter()
        connection.request("GET", f"/{_LARGE_BYTES}")
        self._read(connection, _LARGE_BYTES)
        seconds = time.perf_counter() - began
        connection.close()
        return seconds

    def streams(self) -> float:
        """Return the seconds of 100 connections at once, each with 200 KB."""
        errors: list[Exception] = []

        def get() -> None:
            try:
                connection = self._connect()
                self._get(connection, _STREAM_BYTES)
                connection.close()
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=get) for _ in range(_STREAMS)]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return time.perf_counter() - began


def main() -> None:
    """Answer until the input ends."""
    client = Client(int(sys.argv[1]), None, *sys.argv[2:])
    print("ready", flush=True)
    for line in sys.stdin:
        print(getattr(client, line.strip())(), flush=True)


if __name__ == "__main__":
    main()
