"""Sockets to web addresses, as ``requests`` would reach them, and to Unix sockets."""

from __future__ import annotations

import http.client
import os
import socket
import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from ..deadline import Deadline
from ..system.closing import close_on_error
from .http_exchange import time_left

if TYPE_CHECKING:
    import requests

__all__ = ["connect", "connect_to", "connect_to_path", "tls_context"]


def connect_to(url: str, session: requests.Session, deadline: Deadline) -> socket.socket:
    """Return a socket to the server of an address, by the settings of a session.

    Args:
        url: the address.
        session: that would make requests there; its settings and the environment's count.
        deadline: of the connection.

    Raises:
        OSError: there is no connection.
        http.client.HTTPException: the proxy refuses it.
    """
    from requests.utils import select_proxy

    settings = session.merge_environment_settings(url, {}, True, None, None)
    proxy = select_proxy(url, settings["proxies"]) or ""
    context = None
    if urlsplit(url).scheme == "https":
        context = tls_context(settings["verify"], settings["cert"])
    return connect(url, proxy=proxy, context=context, deadline=deadline)


def connect(
    url: str,
    *,
    proxy: str,
    context: ssl.SSLContext | None,
    deadline: Deadline,
    server_name: str = "",
) -> socket.socket:
    """Return a socket to the server of an address.

    Args:
        url: the address.
        proxy: Address of a proxy, perhaps with an account; empty for none.
        context: Settings of TLS; ``None`` for none.
        deadline: of the connection.
        server_name: name that the server's certificate has; empty for that of the address.

    Raises:
        OSError: there is no connection.
        http.client.HTTPException: the proxy refuses it.
    """
    sock = _connect_by_proxy(url, proxy, deadline)
    if context is None:
        return sock
    with close_on_error(sock):
        sock.settimeout(time_left(deadline))
        return context.wrap_socket(sock, server_hostname=server_name or urlsplit(url).hostname)


def connect_to_path(path: str, seconds: float | None) -> socket.socket:
    """Connect to a Unix socket, which is closed when that fails.

    Args:
        path: its path.
        seconds: limit of each wait for it.

    Raises:
        OSError: nothing listens there, it does not answer, or this user may not.
    """
    sock = socket.socket(socket.AF_UNIX)
    with close_on_error(sock):
        sock.settimeout(seconds)
        sock.connect(path)
    return sock


def _connect_by_proxy(url: str, proxy: str, deadline: Deadline) -> socket.socket:
    from requests.utils import get_auth_from_url
    from urllib3.util import make_headers

    base = urlsplit(url)
    if proxy and "//" not in proxy:
        proxy = f"http://{proxy}"
    first = urlsplit(proxy or url)
    connection: Any = http.client.HTTPConnection(
        str(first.hostname), _port(first), timeout=time_left(deadline)
    )
    if proxy:
        account = ":".join(get_auth_from_url(first.geturl()))
        headers = make_headers(proxy_basic_auth=account) if account != ":" else {}
        connection.set_tunnel(base.hostname, _port(base), headers)
    with close_on_error(connection):
        connection.connect()
    sock: socket.socket = connection.sock
    return sock


def _port(address: SplitResult) -> int:
    return address.port or (443 if address.scheme == "https" else 80)


def tls_context(verify: Any, cert: Any) -> ssl.SSLContext:
    """Return the settings that requests would connect with.

    Args:
        verify: the path of authorities; true for those of requests; otherwise none is asked.
        cert: path of a certificate with its key, or of both.
    """
    from requests.utils import DEFAULT_CA_BUNDLE_PATH

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        path = DEFAULT_CA_BUNDLE_PATH if verify is True else verify
        context.load_verify_locations(
            **({"capath": path} if os.path.isdir(path) else {"cafile": path})
        )
    if cert:
        context.load_cert_chain(*((cert,) if isinstance(cert, str) else cert))
    return context
