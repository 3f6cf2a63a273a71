"""Settings of pip in the environment of this process: the CA bundle and the package index."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from ..errors import ConfigurationError

__all__ = ["CA_VARIABLES", "ca_bytes", "index_addresses", "index_settings", "secret_settings"]

#: Variables that name a file of certificates, in the order in which they count.
CA_VARIABLES = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")
_INDEX_VARIABLES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST")


def ca_bytes(ca_bundle: str | os.PathLike[str] | None) -> bytes:
    """Return the certificates that pip has to trust; empty for pip's own.

    Args:
        ca_bundle: a PEM file; ``None``: the one that the environment names.

    Raises:
        ConfigurationError: ``ca_bundle`` cannot be read.
    """
    if ca_bundle is not None:
        try:
            return Path(ca_bundle).read_bytes()
        except OSError as error:
            raise ConfigurationError(f"ca_bundle={str(ca_bundle)!r}: {error}") from None
    for variable in CA_VARIABLES:
        path = os.environ.get(variable)
        if path:
            with contextlib.suppress(OSError):
                return Path(path).read_bytes()
    return b""


def index_settings() -> dict[str, str]:
    """Return the environment's index settings without local folders, which a builder cannot see."""
    settings = {}
    for variable in _INDEX_VARIABLES:
        value = os.environ.get(variable, "")
        kept = " ".join(part for part in value.split() if not part.startswith("file:"))
        if kept:
            settings[variable] = kept
    return settings


def index_addresses() -> list[str]:
    """Return host and port of each index that :func:`index_settings` names, in their order."""
    settings = index_settings()
    addresses: dict[str, None] = {}
    for variable in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        for text in settings.get(variable, "").split():
            try:
                parts = urlsplit(text)
                port = parts.port or {"http": 80, "https": 443}[parts.scheme]
            except (ValueError, KeyError):
                continue  # not an address of the web; pip says so when it is used
            host = parts.hostname or ""
            addresses[f"[{host}]:{port}" if ":" in host else f"{host}:{port}"] = None
    return list(addresses)


def secret_settings(settings: Mapping[str, str]) -> list[str]:
    """Return the variables with an address that contains a user name or a password.

    Example:
        >>> secret_settings({"PIP_INDEX_URL": "https://user:word@host/simple"})
        ['PIP_INDEX_URL']
    """
    return [
        variable
        for variable, value in settings.items()
        if any(urlsplit(part).username or urlsplit(part).password for part in value.split())
    ]
