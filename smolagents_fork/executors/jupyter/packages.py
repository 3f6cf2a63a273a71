"""Packages requested after the start of a sandbox: installed into it, and into its successors."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ...codec import encode
from ...distributions.requirements import requirements_for
from ...errors import ConfigurationError, ExecutorError
from ...sandboxes.pip_settings import ca_bytes, index_settings, secret_settings
from ..session.guest import Ask, Request, Task

__all__ = ["Packages"]

# Time the kernel may take to answer after pip's own limit.
_GRACE_SECONDS = 15.0


class Packages:
    """Packages of one executor besides those of its image.

    Args:
        seconds: Limit of one installation.
        limit: the limit, for messages.
        names: import names whose packages each kernel gets from the start.
        folder: Folder in the sandbox that the packages go to, with this process's settings of pip;
            empty for the kernel's own environment, with its own settings.
        network_remedy: how the sandbox gets a network, which pip needs; empty if it has one.
        ca_bundle: PEM file that pip trusts; ``None``: the one that the environment names.

    Raises:
        ConfigurationError: an entry is not an import name or a requirement.
    """

    def __init__(
        self,
        seconds: float,
        limit: str,
        names: Sequence[str] = (),
        *,
        folder: str = "",
        network_remedy: str = "",
        ca_bundle: str | os.PathLike[str] | None = None,
    ) -> None:
        self._seconds, self._limit = seconds, limit
        self._folder, self._network_remedy = folder, network_remedy
        self._ca_bundle = ca_bundle
        self._installed = list(requirements_for(names))

    def add(self, ask: Ask, names: Sequence[str], must_stay: str = "") -> None:
        """Install the packages that provide the import names ``names`` into the sandbox.

        Args:
            must_stay: the reason not to replace the sandbox by one that has them.

        Raises:
            ExecutorError: the sandbox has no network, or pip failed.
            ConfigurationError: an index address contains a secret.
        """
        if self._network_remedy:
            raise ExecutorError(
                f"install_packages: {', '.join(names)}: {must_stay}, and there is no network to "
                "install from: name them in additional_authorized_imports (a pool's "
                f"additional_imports), or {self._network_remedy}"
            )
        requirements = [name for name in requirements_for(names) if name not in self._installed]
        if requirements:
            self._install(ask, requirements)
            self._installed += requirements

    def prepare(self, ask: Ask) -> None:
        """Give a new kernel the same packages; pip installs only those missing from its sandbox.

        With a network, the code's own calls of pip install where these are, too.
        """
        if self._installed or (self._folder and not self._network_remedy):
            self._install(ask, self._installed)

    def _install(self, ask: Ask, requirements: Sequence[str]) -> None:
        environment: dict[str, str] = {}
        certificates = b""
        if self._folder:
            environment = _without_secrets(index_settings(), needed=bool(requirements))
            certificates = ca_bytes(self._ca_bundle)
        settings = {
            "requirements": list(requirements),
            "folder": self._folder,
            "environment": environment,
            "seconds": self._seconds,
            "limit": self._limit,
        }
        bodies = [encode(settings), certificates]
        seconds = self._seconds + _GRACE_SECONDS
        ask(Request(Task.PACKAGES, bodies, seconds=seconds), "install_packages")


def _without_secrets(settings: dict[str, str], *, needed: bool) -> dict[str, str]:
    """Return those of pip's index settings that the code may read.

    Args:
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
