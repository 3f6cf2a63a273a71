"""Packages asked for after the start of a sandbox: installed into it, and into its successors."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from ...distributions.requirements import requirements_for
from ...errors import ConfigurationError, ExecutorError
from ...jupyter.kernel.bootstrap import packages_request
from ...sandboxes.pip_settings import ca_bytes, index_settings, secret_settings
from ..session.guest import Ask, Request, Task

__all__ = ["PackageSettings", "Packages"]

# Time the kernel may take to answer after pip's own limit.
_GRACE_SECONDS = 15.0


@dataclass(frozen=True)
class PackageSettings:
    """Settings of installations.

    Attributes:
        timeout_seconds: limit of one installation.
        limit: the limit, for messages.
        folder: folder in the sandbox that the packages go to, with this process's settings of pip;
            empty for the kernel's own environment, with its own settings.
        network_remedy: how the sandbox gets a network, which pip needs; empty if it has one.
        ca_bundle: PEM file that pip trusts; ``None``: the one that the environment names.
    """

    timeout_seconds: float
    limit: str
    folder: str = ""
    network_remedy: str = ""
    ca_bundle: str | os.PathLike[str] | None = None


class Packages:
    """Packages of one executor besides those of its image.

    Args:
        settings: of installations.
        names: import names whose packages each kernel gets from the start.

    Raises:
        ConfigurationError: an entry is not an import name or a requirement.
    """

    def __init__(self, settings: PackageSettings, names: Sequence[str] = ()) -> None:
        self._settings = settings
        self._installed = list(requirements_for(names))

    def add(self, ask: Ask, names: Sequence[str], must_stay: str = "") -> None:
        """Install the packages that provide the import names ``names`` into the sandbox.

        Args:
            ask: makes a request of the kernel.
            names: import names.
            must_stay: the reason not to replace the sandbox by one that has them.

        Raises:
            ExecutorError: the sandbox has no network, or pip failed.
            ConfigurationError: an index address contains a secret.
        """
        if self._settings.network_remedy:
            raise ExecutorError(
                f"install_packages: {', '.join(names)}: {must_stay}, and there is no network to "
                "install from: name them in additional_authorized_imports (a pool's "
                f"additional_imports), or {self._settings.network_remedy}"
            )
        wanted = [name for name in requirements_for(names) if name not in self._installed]
        if wanted:
            self._install(ask, wanted)
            self._installed += wanted

    def prepare(self, ask: Ask) -> None:
        """Give a new kernel the same packages; pip installs only those missing from its sandbox.

        With a network, the code's own calls of pip install where these are, too.
        """
        settings = self._settings
        if self._installed or (settings.folder and not settings.network_remedy):
            self._install(ask, self._installed)

    def _install(self, ask: Ask, requirements: Sequence[str]) -> None:
        settings = self._settings
        environment: dict[str, str] = {}
        certificates = b""
        if settings.folder:
            environment = _without_secrets(index_settings(), needed=bool(requirements))
            certificates = ca_bytes(settings.ca_bundle)
        code, buffers = packages_request(
            requirements=requirements,
            folder=settings.folder,
            environment=environment,
            ca_bundle=certificates,
            seconds=settings.timeout_seconds,
            limit=settings.limit,
        )
        seconds = settings.timeout_seconds + _GRACE_SECONDS
        ask(Request(Task.CODE, buffers, code, seconds=seconds), "install_packages")


def _without_secrets(settings: dict[str, str], *, needed: bool) -> dict[str, str]:
    """Return those of pip's index settings that the code may read.

    Args:
        settings: by variable.
        needed: whether packages are to be installed with them.

    Raises:
        ConfigurationError: an address that is needed contains a user name or a password.
    """
    secret = secret_settings(settings)
    for variable in secret:
        if needed:
            raise ConfigurationError(
                f"install_packages: {variable} contains a user name or a password, which the code "
                "in the sandbox could read: name the packages in additional_authorized_imports, "
                "for which only the build of the image uses it"
            )
    return {name: value for name, value in settings.items() if name not in secret}
