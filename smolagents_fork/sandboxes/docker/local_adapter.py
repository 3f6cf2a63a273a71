"""Connections of docker-py to a local engine's socket, closed where they fail.

docker-py leaves the socket of a failed connection to the garbage collector, whose ResourceWarning
then names any code.
"""

from __future__ import annotations

import socket
from typing import Any

from docker.transport import UnixHTTPAdapter
from docker.transport.unixconn import UnixHTTPConnection, UnixHTTPConnectionPool

__all__ = ["LocalAdapter"]


class _Connection(UnixHTTPConnection):
    def connect(self) -> None:
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.settimeout(self.timeout)
            sock.connect(self.unix_socket)
        except BaseException:
            sock.close()
            raise
        self.sock = sock


class _Pool(UnixHTTPConnectionPool):
    def _new_conn(self) -> Any:
        timeout: Any = self.timeout  # stubs of the two classes disagree
        return _Connection(self.base_url, self.socket_path, timeout)


class LocalAdapter(UnixHTTPAdapter):
    """docker-py's adapter for a local socket, with these connections."""

    def get_connection(self, url: Any, proxies: Any = None) -> _Pool:  # noqa: ARG002 - docker-py's
        """Return the connections for an address; requests calls this."""
        with self.pools.lock:
            pool: _Pool | None = self.pools.get(url)
            if pool is None:
                pool = _Pool(url, self.socket_path, self.timeout, maxsize=self.max_pool_size)
                self.pools[url] = pool
        return pool
