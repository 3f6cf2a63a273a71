"""Docker's engine as a description: where it is, and how to connect to it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ...errors import ConfigurationError
from ...text.redaction import without_passwords
from ..container_options import ContainerOptions
from ..engine_protocol import Note, no_note
from .docker_provisioner import DockerProvisioner
from .engine_address import EngineAddress

__all__ = ["DockerEngine"]

_SCHEMES = ("unix://", "tcp://", "ssh://", "npipe://", "http://", "https://")
_TLS_FILES = ("ca.pem", "cert.pem", "key.pem")


@dataclass(frozen=True, repr=False)
class DockerEngine:
    """Docker's engine, or a compatible one, at an address.

    Args:
        host: Address as in ``DOCKER_HOST``, such as ``"unix:///run/user/1000/docker.sock"``,
            ``"tcp://10.0.0.5:2376"`` or ``"ssh://user@machine"``; ``None``: the one in
            ``DOCKER_HOST``, or the local one.
        tls: Folder with ``ca.pem``, ``cert.pem`` and ``key.pem``, which authenticate the engine and
            this process; ``False``: no TLS, whatever the environment says; ``None``:
            ``DOCKER_TLS_VERIFY`` and ``DOCKER_CERT_PATH``.

    Raises:
        ConfigurationError: not an address, or a folder without these files.

    Example:
        >>> engine = DockerEngine(host="tcp://10.0.0.5:2376", tls="certificates")  # doctest: +SKIP
        >>> with DockerExecutor(engine=DockerEngine()) as executor:
        ...     executor("6 * 7").output
        42
    """

    host: str | None = None
    tls: str | os.PathLike[str] | Literal[False] | None = None

    def __post_init__(self) -> None:
        if self.host is not None and (
            not isinstance(self.host, str)
            or not any(self.host.startswith(s) and self.host != s for s in _SCHEMES)
        ):
            shown = without_passwords(self.host) if isinstance(self.host, str) else self.host
            raise ConfigurationError(
                f"DockerEngine: host={shown!r} is not an engine's address: pass one that begins "
                f"with {', '.join(_SCHEMES)}, or None for the one in DOCKER_HOST"
            )
        if self.tls is None or self.tls is False:
            return
        if not isinstance(self.tls, (str, os.PathLike)):
            raise ConfigurationError(
                f"DockerEngine: tls={self.tls!r}: pass a folder with {', '.join(_TLS_FILES)}, "
                "False for no TLS, or None for the environment's settings"
            )
        missing = [name for name in _TLS_FILES if not Path(self.tls, name).is_file()]
        if missing:
            raise ConfigurationError(
                f"DockerEngine: tls={os.fspath(self.tls)!r}: {', '.join(missing)} not found in "
                f"that folder, which needs {', '.join(_TLS_FILES)}"
            )
        # Paths of every type name the same folder; equal engines have to compare equal.
        object.__setattr__(self, "tls", os.fspath(self.tls))

    def __repr__(self) -> str:
        host = None if self.host is None else without_passwords(self.host)
        return f"DockerEngine(host={host!r}, tls={self.tls!r})"

    @property
    def name(self) -> str:
        """Name for messages."""
        return "docker"

    @property
    def refused_options(self) -> Mapping[str, str]:
        """No option: all are Docker's."""
        return {}

    def network_remedy(self, options: ContainerOptions, owner: str) -> str:
        """Return the advice that gives code a network; empty if it has one.

        Args:
            options: Options of the container.
            owner: Name of the class that has the options, for the message.
        """
        return options.network_remedy(owner)

    @property
    def address(self) -> EngineAddress:
        """The address that :meth:`connect` connects to now."""
        environment = EngineAddress.of()
        url = environment.url if self.host is None else self.host
        setting = environment.setting if self.host is None else "host= of DockerEngine"
        if self.tls is None:
            folder, verify = environment.tls_folder, environment.tls_verify
        else:
            folder, verify = (os.fspath(self.tls), "1") if self.tls else (None, None)
        return EngineAddress(url, folder, verify, setting)

    def connect(
        self,
        options: ContainerOptions,
        *,
        note: Note = no_note,  # noqa: ARG002 - other engines have notes
    ) -> DockerProvisioner:
        """Connect to the engine.

        Args:
            options: Options of the containers.
            note: Function called with a line for the user's log.

        Raises:
            EngineUnavailableError: the engine does not answer.
            ConfigurationError: a requested port could not be reached from here.
        """
        return DockerProvisioner(options, address=self.address)
