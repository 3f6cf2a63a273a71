"""Secrets that code uses without having them."""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from ...errors import ConfigurationError
from ..hosts.host_policy import AllowedHost

__all__ = ["Secret", "check_reach", "log_visible_keys", "secrets_or_none"]

_logger = logging.getLogger("smolagents_fork")

# Shorter values, and their placeholders, could be found in any text.
_FEWEST_CHARACTERS = 8
# What a field of HTTP can have, without blanks at its ends.
_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_CHANGED = re.compile(r"[A-Za-z0-9]")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Names of variables that have keys.
_KEY = re.compile(r"token|secret|passw|credential|(?:api|access|private)_?key", re.IGNORECASE)


class Secret:
    """A value for ``secrets=``, which is sent to its hosts and never enters the sandbox.

    ``repr`` hides the value, and it cannot be pickled or saved.

    Args:
        value: Token or password: printable ASCII, with at least 8 letters and digits.
        hosts: Hosts that it may be sent to, as in ``allowed_hosts=``.

    Raises:
        ConfigurationError: the value or the hosts are invalid.

    Example:
        >>> Secret("ghp_0123456789abcdef", hosts=["api.github.com"])
        Secret(hosts=['api.github.com'])
    """

    __slots__ = ("_value", "hosts")

    def __init__(self, value: str, hosts: Iterable[str]) -> None:
        # No message has the value, whatever it is.
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise ConfigurationError(
                f"Secret: the value is {type(value).__name__}: pass printable ASCII text without "
                "leading or trailing spaces"
            )
        if len(_CHANGED.findall(value)) < _FEWEST_CHARACTERS:
            raise ConfigurationError(
                f"Secret: the value has fewer than {_FEWEST_CHARACTERS} letters and digits, and "
                "might occur in ordinary text: use a longer one"
            )
        if isinstance(hosts, str) or not isinstance(hosts, Iterable):
            raise ConfigurationError(f"Secret: hosts={hosts!r}: pass a list, such as [{hosts!r}]")
        self._value = value
        #: Hosts that it may be sent to. Their addresses are a matter of ``allowed_hosts=``.
        self.hosts = tuple(
            host if isinstance(host, AllowedHost) else AllowedHost(host, private=True)
            for host in hosts
        )
        if not self.hosts:
            raise ConfigurationError("Secret: hosts=[]: name a host that it may be sent to")

    def reveal(self) -> str:
        """Return the value."""
        return self._value

    def covers(self, host: str, port: int) -> bool:
        """Tell whether the secret may be sent to a host.

        Args:
            host: Host in its one spelling.
            port: Port of the connection.
        """
        return any(entry.covers(host, port) for entry in self.hosts)

    def __repr__(self) -> str:
        return f"Secret(hosts={[entry.host for entry in self.hosts]})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret cannot be pickled or copied: create it again where it is used")


def secrets_or_none(name: str, value: Any) -> dict[str, Secret] | None:
    """Return secrets by the names of their variables; ``None`` for none.

    Args:
        name: Name of the option.
        value: Mapping of names to secrets.

    Raises:
        ConfigurationError: it is not one; the message does not contain a value.
    """
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise ConfigurationError(
            f"{name}: a {type(value).__name__}: pass a mapping of names to Secret"
        )
    for variable, secret in value.items():
        if not isinstance(variable, str) or not _VARIABLE.fullmatch(variable):
            raise ConfigurationError(f"{name}: {variable!r} is not a variable name")
        if not isinstance(secret, Secret):
            raise ConfigurationError(
                f"{name}[{variable!r}]: a {type(secret).__name__}: pass Secret(value, hosts=[...])"
            )
    values = [secret.reveal() for secret in value.values()]
    if any(first in second for first, second in itertools.permutations(values, 2)):
        raise ConfigurationError(f"{name}: the value of one secret contains that of another")
    return dict(value) or None


def check_reach(secrets: Mapping[str, Secret], allowed: Iterable[AllowedHost]) -> None:
    """Refuse secrets for hosts that are not in the list of hosts.

    Args:
        secrets: Secrets by the names of their variables.
        allowed: Entries of ``allowed_hosts=``.

    Raises:
        ConfigurationError: names the host.
    """
    allowed = list(allowed)
    for name, secret in secrets.items():
        for entry in secret.hosts:
            if not any(_includes(whole, entry) for whole in allowed):
                raise ConfigurationError(
                    f"secrets[{name!r}]: host {entry.host!r} is not in "
                    f"allowed_hosts={[whole.host for whole in allowed]}: add it there, too"
                )


def _includes(whole: AllowedHost, part: AllowedHost) -> bool:
    if not set(whole.ports).intersection(part.ports):
        return False
    if not part.is_suffix:
        return whole.covers(part.name)
    return whole.is_suffix and f".{part.name}".endswith(f".{whole.name}")


def log_visible_keys(environment: Mapping[str, Any]) -> None:
    """Log variables that seem to have a key, which the code need not have.

    Args:
        environment: variables that the code gets as they are.

    Example:
        >>> log_visible_keys({"LANG": "C.UTF-8"})
    """
    names = [name for name in environment if _KEY.search(name)]
    if names:
        _logger.warning(
            "environment= has %s, which the code can read: "
            "secrets={name: Secret(value, hosts=[...])} keeps the value out of the sandbox",
            ", ".join(names),
        )
