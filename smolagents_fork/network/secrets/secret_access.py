"""All that the proxy needs for the secrets of one executor."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping

from ...stream.web_connection import tls_context
from .authority import ALPN, Authority
from .secret import Secret
from .secret_table import SecretTable

__all__ = ["SecretAccess"]


class SecretAccess:
    """Placeholders, certificates for the sandbox, and trust in the hosts.

    Args:
        secrets: Secrets by the names of their variables.
        count: Takes the number of decompressed bytes; raises if there are too many.
    """

    def __init__(self, secrets: Mapping[str, Secret], count: Callable[[int], None]) -> None:
        import requests

        self.table = SecretTable(secrets, count)
        authority = Authority(entry for secret in secrets.values() for entry in secret.hosts)
        #: Certificate that the sandbox trusts, in PEM.
        self.certificate = authority.certificate
        self.server_context: Callable[[str], ssl.SSLContext] = authority.server_context
        with requests.Session() as session:
            settings = session.merge_environment_settings("https://localhost", {}, None, None, None)
        #: Settings of connections to the hosts, whose certificates count as for ``requests``.
        self.client_context = tls_context(settings["verify"], None)
        self.client_context.set_alpn_protocols(ALPN)
