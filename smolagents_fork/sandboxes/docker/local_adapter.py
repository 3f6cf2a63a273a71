"""Connections of docker-py to a local engine's socket, closed where they fail.

docker-py leaves the socket of a failed connection to the garbage collector, whose ResourceWarning
then names any code.
"""

from __future__ import annotations

from typing import Any

from docker.transport import UnixHTTPAdapter
from urllib3 import HTTPConnectionPool
from urllib3.connection import HTTPConnection

from ...stream.web_connection import connect_to_path

__all__ = ["LocalAdapter"]


class _Connection(HTTPConnection):
    def __init__(self, *args: Any, unix_socket: str, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self._path = unix_socket

    def connect(self) -> None:
        self.sock = connect_to_path(self._path, self.timeout)


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class LocalAdapter(UnixHTTPAdapter):
    """docker-py's adapter for a local socket, with these connections."""

    def get_connection(self, url: Any, proxies: Any = None) -> Any:  # noqa: ARG002 - docker-py's
        """Return the connections for an address; requests calls this."""
        with self.pools.lock:
            pool = self.pools.get(url)
            if pool is None:
                pool = _Pool(
                    "localhost",
                    timeout=self.timeout,
                    maxsize=self.max_pool_size,
                    unix_socket=self.socket_path,
                )
                self.pools[url] = pool
        return pool
