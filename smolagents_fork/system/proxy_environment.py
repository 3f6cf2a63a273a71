"""Environment variables that name a proxy to the clients of a sandbox."""

from __future__ import annotations

__all__ = ["PROXY_PORT", "proxy_environment"]

#: Port of the proxy in every sandbox; each has a loopback of its own.
PROXY_PORT = 3128


def proxy_environment(port: int) -> dict[str, str]:
    """Return the variables that ``requests``, ``urllib``, ``httpx``, ``curl`` and others read.

    Args:
        port: Port of the proxy on the sandbox's own loopback.

    Example:
        >>> proxy_environment(3128)["https_proxy"]
        'http://127.0.0.1:3128'
    """
    address = f"http://127.0.0.1:{port}"
    values = {
        # aiohttp has a name of its own for WebSockets.
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "WSS_PROXY", "ALL_PROXY"), address),
        "NO_PROXY": "localhost,127.0.0.1,::1",
    }
    return {**values, **{name.lower(): value for name, value in values.items()}}
