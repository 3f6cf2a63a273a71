"""Environment variables that name a proxy to the clients of a sandbox."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["PROXY_PORT", "TRUST_VARIABLES", "proxy_environment"]

#: Port of the proxy in every sandbox; each has a loopback of its own.
PROXY_PORT = 3128
#: Variables that name a file of certificates to clients.
TRUST_VARIABLES = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
)
# Hosts that are the sandbox itself.
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def proxy_environment(port: int, hosts: Iterable[str] = ()) -> dict[str, str]:
    """Return the variables that ``requests``, ``urllib``, ``httpx``, ``curl`` and others read.

    Args:
        port: Port of the proxy on the sandbox's own loopback.
        hosts: Names that clients ask the proxy for, also those of loopback.

    Example:
        >>> proxy_environment(3128)["https_proxy"]
        'http://127.0.0.1:3128'
        >>> proxy_environment(3128, ["localhost"])["NO_PROXY"]
        '127.0.0.1,::1'
    """
    # Clients compare the end of a name.
    ends = tuple(hosts)
    direct = [name for name in _LOOPBACK if not any(host.endswith(name) for host in ends)]
    address = f"http://127.0.0.1:{port}"
    values = {
        # aiohttp has a name of its own for WebSockets.
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "WSS_PROXY", "ALL_PROXY"), address),
        "NO_PROXY": ",".join(direct),
    }
    return {**values, **{name.lower(): value for name, value in values.items()}}
