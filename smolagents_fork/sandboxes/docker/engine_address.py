"""Addresses of Docker engines, with the TLS settings that belong to each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...text.redaction import without_passwords

__all__ = ["EngineAddress"]


@dataclass(frozen=True, repr=False)
class EngineAddress:
    """An address of an engine. Several may be in use at the same time.

    Attributes:
        url: as in ``DOCKER_HOST``; empty: docker-py's default, which is the local engine.
        tls_folder: has ``ca.pem``, ``cert.pem`` and ``key.pem``; ``None``: docker-py's default.
        tls_verify: ``DOCKER_TLS_VERIFY``; ``None`` where it is not set.
        setting: the name of the user's setting that the address comes from.
    """

    url: str = ""
    tls_folder: str | None = None
    tls_verify: str | None = None
    setting: str = field(default="DOCKER_HOST", compare=False)

    @classmethod
    def of(cls, environment: Mapping[str, str] = os.environ) -> EngineAddress:
        """Return the address that ``DOCKER_HOST`` and its companions name."""
        return cls(
            environment.get("DOCKER_HOST", ""),
            environment.get("DOCKER_CERT_PATH"),
            environment.get("DOCKER_TLS_VERIFY"),
        )

    @property
    def variables(self) -> dict[str, str]:
        """The address as docker-py reads it from an environment."""
        settings = {
            "DOCKER_HOST": self.url or None,
            "DOCKER_CERT_PATH": self.tls_folder,
            "DOCKER_TLS_VERIFY": self.tls_verify,
        }
        return {name: value for name, value in settings.items() if value is not None}

    def __repr__(self) -> str:
        return f"EngineAddress({without_passwords(self.url)!r})"

    def __str__(self) -> str:
        """Return the address for messages, without a password."""
        return without_passwords(self.url) or "the local engine's socket"
