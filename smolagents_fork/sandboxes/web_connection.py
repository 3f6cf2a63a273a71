"""Sockets to web addresses, by the proxy and with the certificates that ``requests`` would use."""

from __future__ import annotations

import http.client
import os
import socket
import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from ..deadline import Deadline

if TYPE_CHECKING:
    import requests

__all__ = ["connect_to", "time_left", "tls_context"]


def time_left(deadline: Deadline) -> float:
    """Return the limit of a socket's next operation; zero would mean one that does not block."""
    return max(0.001, deadline.at_most(1e6))


def connect_to(url: str, session: requests.Session, deadline: Deadline) -> socket.socket:
    """Return a socket to the server of an address, with TLS for ``https``.

    Args:
        url: the address.
        session: that would make requests there; its settings and the environment's count.
        deadline: of the connection.

    Raises:
        OSError: there is no connection.
        http.client.HTTPException: the proxy refuses it.
    """
    base = urlsplit(url)
    settings = session.merge_environment_settings(url, {}, True, None, None)
    sock = _connect_by_proxy(url, settings["proxies"], deadline)
    if base.scheme != "https":
        return sock
    try:
        sock.settimeout(time_left(deadline))
        context = tls_context(settings["verify"], settings["cert"])
        return context.wrap_socket(sock, server_hostname=base.hostname)
    except BaseException:
        sock.close()
        raise


def _connect_by_proxy(url: str, proxies: Any, deadline: Deadline) -> socket.socket:
    from requests.utils import get_auth_from_url, select_proxy
    from urllib3.util import make_headers

    base = urlsplit(url)
    proxy = select_proxy(url, proxies)
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
