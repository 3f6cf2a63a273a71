"""Addresses by what is behind them: the public network, this machine, or its neighbours."""

from __future__ import annotations

import ipaddress
from typing import Literal, TypeAlias

from .host_names import IPAddress

__all__ = ["Opening", "classify_address"]

#: What opens an address: nothing needed; an entry with ``private=True``; an entry with it that is
#: this very address; or no entry.
Opening: TypeAlias = Literal["public", "private", "literal", "never"]

# First match decides. IANA's registries of special-purpose addresses (RFC 6890), and forms of
# IPv6 that lead to an IPv4 address.
_TABLE: tuple[tuple[str, str, Opening], ...] = (
    ("0.0.0.0/8", "unspecified", "never"),
    ("127.0.0.0/8", "loopback", "private"),
    ("169.254.0.0/16", "link-local, where clouds keep credentials", "literal"),
    ("100.100.100.200/32", "metadata of a cloud", "literal"),
    ("168.63.129.16/32", "metadata of a cloud", "literal"),
    ("192.0.0.192/32", "metadata of a cloud", "literal"),
    ("10.0.0.0/8", "private", "private"),
    ("172.16.0.0/12", "private", "private"),
    ("192.168.0.0/16", "private", "private"),
    ("100.64.0.0/10", "private, behind a carrier's NAT", "private"),
    ("198.18.0.0/15", "private, for benchmarks", "private"),
    ("192.0.0.0/24", "reserved", "never"),
    ("192.88.99.0/24", "reserved, for 6to4 relays", "never"),
    ("224.0.0.0/4", "multicast", "never"),
    ("240.0.0.0/4", "reserved", "never"),
    ("::/128", "unspecified", "never"),
    ("::1/128", "loopback", "private"),
    ("::ffff:0:0/96", "IPv4-mapped", "private"),
    ("::/96", "IPv4-compatible", "never"),
    ("::ffff:0:0:0/96", "IPv4-translated", "never"),
    ("64:ff9b::/96", "NAT64", "private"),
    ("64:ff9b:1::/48", "NAT64", "private"),
    ("2001::/32", "IPv4 behind Teredo", "never"),
    ("2002::/16", "IPv4 behind 6to4", "never"),
    ("fd00:ec2::/32", "metadata of a cloud", "literal"),
    ("fe80::/10", "link-local", "literal"),
    ("fec0::/10", "private", "private"),
    ("fc00::/7", "private", "private"),
    ("ff00::/8", "multicast", "never"),
)
_NETWORKS = tuple((ipaddress.ip_network(text), what, opening) for text, what, opening in _TABLE)
# Their last 32 bits are an IPv4 address, which the connection goes to.
_TRANSLATED = frozenset({"IPv4-mapped", "NAT64"})
_BY_STRICTNESS: tuple[Opening, ...] = ("public", "private", "literal", "never")


def classify_address(address: IPAddress) -> tuple[str, Opening]:
    """Return what is behind an address, and what opens it.

    Args:
        address: Address without a zone.

    Example:
        >>> classify_address(ipaddress.ip_address("127.0.0.1"))
        ('loopback', 'private')
        >>> classify_address(ipaddress.ip_address("1.1.1.1"))
        ('public', 'public')
    """
    for network, what, opening in _NETWORKS:
        if address.version != network.version or address not in network:
            continue
        if what not in _TRANSLATED:
            return what, opening
        behind, needed = classify_address(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        return f"{what}, {behind}", max(opening, needed, key=_BY_STRICTNESS.index)
    # Blocks that Python knows to be outside the public network, such as those for examples: where
    # one is used all the same, it is an installation's own.
    return ("public", "public") if address.is_global else ("not public", "private")
