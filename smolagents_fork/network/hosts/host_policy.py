"""The list of hosts that a sandbox may reach, and its decisions. Nothing is resolved here."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import ConfigurationError
from ...sandboxes.pip_settings import index_addresses
from .address_table import classify_address
from .host_names import HostNameError, IPAddress, parse_address, parse_authority, parse_host

__all__ = ["PACKAGES", "AllowedHost", "HostPolicy", "HostRefusedError", "allowed_hosts_or_none"]

#: Ports of an entry that names none.
_WEB_PORTS = (443, 80)
_PORT_AT_END = re.compile(r":[0-9]*\Z", re.ASCII)
#: Entry that stands for the package index of pip's settings.
PACKAGES = "packages"
# Characters of the list that a refusal quotes.
_MOST_QUOTED = 300


class HostRefusedError(Exception):
    """A connection that the list does not allow; the message is shown to the model and its user."""


@dataclass(frozen=True)
class AllowedHost:
    """One entry of ``allowed_hosts=``, with options that text cannot express.

    Args:
        host: Name, ``*.`` and a domain for all names below it, or IP address; perhaps with
            ``:port``. Without a port: 443 and 80.
        private: Whether the host may have an address of this machine or its network.
        plain: Whether the program may use protocols other than TLS through CONNECT.

    Raises:
        ConfigurationError: not a host, or an address that is reachable with ``private=True`` only.

    Example:
        >>> AllowedHost("db.internal:5432", private=True, plain=True).covers("db.internal", 5432)
        True
        >>> AllowedHost("*.example.org").covers("example.org", 443)
        False
    """

    host: str
    private: bool = False
    plain: bool = False

    def __post_init__(self) -> None:
        for option in ("private", "plain"):
            if not isinstance(getattr(self, option), bool):
                raise self._invalid(f"{option} is True or False")
        if not isinstance(self.host, str):
            raise self._invalid("pass text, such as 'api.github.com:443'")
        try:
            address = self.address
        except HostNameError as error:
            raise self._invalid(str(error)) from None
        if self.is_suffix and address is not None:
            raise self._invalid("an address has no subdomains")
        if address is not None:
            what, opening = classify_address(address)
            if opening == "never":
                raise self._invalid(f"{what} addresses cannot be connected to")
            if opening != "public" and not self.private:
                raise self._invalid(f"{what}: pass AllowedHost({self.host!r}, private=True)")

    # Always those of the text: a saved entry has no others.
    @functools.cached_property
    def _parts(self) -> tuple[str, int]:
        return _parse_entry(self.host.removeprefix("*."))

    @property
    def name(self) -> str:
        """The name or address in its one spelling, without ``*.``."""
        return self._parts[0]

    @property
    def ports(self) -> tuple[int, ...]:
        """Ports that the entry is about."""
        return (self._parts[1],) if self._parts[1] else _WEB_PORTS

    @functools.cached_property
    def address(self) -> IPAddress | None:
        """Address that the entry is; ``None`` for a name."""
        return parse_address(self.name)

    @property
    def is_suffix(self) -> bool:
        """Tell whether the entry is about the names below a domain."""
        return self.host.startswith("*.")

    def covers(self, host: str, port: int | None = None) -> bool:
        """Tell whether the entry is about a host.

        Args:
            host: Host in its one spelling.
            port: Port of the connection; ``None`` for any.
        """
        named = host.endswith(f".{self.name}") if self.is_suffix else host == self.name
        return named and (port is None or port in self.ports)

    def permits(self, address: IPAddress) -> bool:
        """Tell whether the host may have an address.

        Args:
            address: Address that the host resolves to, or that it is.
        """
        _, opening = classify_address(address)
        if opening == "literal":
            return self.private and address == self.address
        return opening == "public" or (opening == "private" and self.private)

    def _invalid(self, reason: str) -> ConfigurationError:
        return ConfigurationError(f"allowed_hosts: {self.host!r}: {reason}")


def _parse_entry(text: str) -> tuple[str, int]:
    """Return the host of an entry, and its port; 0 for none."""
    if parse_address(text) is not None:
        return parse_host(text), 0
    if not text.isascii():
        import idna  # rarely needed, and large

        port = _PORT_AT_END.search(text)
        name = text[: port.start()] if port else text
        try:
            text = idna.encode(name, uts46=True).decode("ascii") + (port[0] if port else "")
        except idna.IDNAError as error:
            raise HostNameError(f"{name!r} is not a host name: {error}") from None
    return parse_authority(text, 0)


class HostPolicy:
    """The decisions about one sandbox's connections.

    Args:
        entries: Entries of ``allowed_hosts=``.
        owner: Class of the executor, for messages.

    Example:
        >>> policy = HostPolicy([AllowedHost("api.github.com")], "DockerExecutor")
        >>> policy.find("api.github.com", 443)
        (AllowedHost(host='api.github.com', private=False, plain=False),)
        >>> policy.find("evil.example", 443)
        Traceback (most recent call last):
        ...
        smolagents_fork.network.hosts.host_policy.HostRefusedError: host 'evil.example' is not in \
allowed_hosts=['api.github.com'] of this DockerExecutor
    """

    def __init__(self, entries: Iterable[AllowedHost], owner: str) -> None:
        self._entries = tuple(entries)
        self._owner = owner

    @property
    def names(self) -> tuple[str, ...]:
        """Names, addresses and domains in the list."""
        return tuple(entry.name for entry in self._entries)

    @property
    def described(self) -> str:
        """The list, as messages quote it."""
        text = str([entry.host for entry in self._entries])
        shown = text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}...]"
        return f"allowed_hosts={shown} of this {self._owner}"

    def find(self, host: str, port: int) -> tuple[AllowedHost, ...]:
        """Return the entries that allow connections to a host.

        Args:
            host: Host in its one spelling.
            port: Port of the connection.

        Raises:
            HostRefusedError: there is none.
        """
        entries = tuple(entry for entry in self._entries if entry.covers(host, port))
        if entries:
            return entries
        others = [entry for entry in self._entries if entry.covers(host)]
        if others:
            is_private = any(entry.private for entry in others)
            raise HostRefusedError(
                f"port {port} of host {host!r} is not in {self.described}: "
                f"the entry would be {_quote_entry(host, port, private=is_private)}"
            )
        raise HostRefusedError(f"host {host!r} is not in {self.described}")

    def select(
        self,
        host: str,
        port: int,
        entries: Sequence[AllowedHost],
        addresses: Sequence[IPAddress],
    ) -> list[IPAddress]:
        """Return those addresses of a host that may be dialled, in their order.

        Args:
            host: Host in its one spelling.
            port: Port of the connection.
            entries: Entries that allow the host, see :meth:`find`.
            addresses: Addresses that the host resolves to, or that it is; one or more.

        Raises:
            HostRefusedError: there is none; names the first and what is behind it.
        """
        permitted = [
            address for address in addresses if any(entry.permits(address) for entry in entries)
        ]
        if permitted:
            return permitted
        what, opening = classify_address(addresses[0])
        remedy = {
            "private": f": the entry would be {_quote_entry(host, port, private=True)}",
            "literal": ", which only an entry for that very address allows",
        }.get(opening, "")
        raise HostRefusedError(
            f"host {host!r} has the address {addresses[0]} ({what}), which is not in "
            f"{self.described}{remedy}"
        )


def _quote_entry(host: str, port: int, *, private: bool) -> str:
    """Return the entry that would allow a connection, as a list of hosts has it."""
    text = repr(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
    return f"AllowedHost({text}, private=True)" if private else text


def allowed_hosts_or_none(name: str, value: Any) -> tuple[AllowedHost, ...] | None:
    """Return the entries of a list of hosts; ``None`` for no network.

    Args:
        name: Name of the option.
        value: Sequence of texts and :class:`AllowedHost`; :data:`PACKAGES`, alone or as an entry,
            is the package index that pip's settings name.

    Raises:
        ConfigurationError: it is not one, is empty, an entry is not a host, or no index is named.
    """
    if value is None:
        return None
    if value == PACKAGES:
        value = [PACKAGES]
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ConfigurationError(f"{name}={value!r}: pass a list, such as [{value!r}], or None")
    entries: list[AllowedHost] = []
    for entry in value:
        if entry == PACKAGES:
            entries += _index_entries(name)
        else:
            entries.append(entry if isinstance(entry, AllowedHost) else AllowedHost(entry))
    if not entries:
        raise ConfigurationError(f"{name}={value!r}: name a host, or pass None for no network")
    return tuple(entries)


def _index_entries(name: str) -> list[AllowedHost]:
    """Return an entry for each package index of pip's settings.

    Raises:
        ConfigurationError: they name none.
    """
    addresses = index_addresses()
    if not addresses:
        raise ConfigurationError(
            f"{name}={PACKAGES!r}: PIP_INDEX_URL names no package index; set it, or list the hosts "
            "of the index and of its files"
        )
    # An index may be in your own network: pip's settings name it.
    return [AllowedHost(address, private=True) for address in addresses]
