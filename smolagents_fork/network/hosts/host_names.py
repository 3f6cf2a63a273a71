"""Names and addresses of hosts in one spelling, which is the one that is compared and dialled."""

from __future__ import annotations

import ipaddress
import re
from typing import TypeAlias

__all__ = ["HostNameError", "IPAddress", "parse_address", "parse_authority", "parse_host"]

IPAddress: TypeAlias = "ipaddress.IPv4Address | ipaddress.IPv6Address"

_LONGEST_NAME = 253
# Underscores are common in names of services. Hyphens at the ends are harmless, and refused.
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
# C libraries read these as IPv4 addresses (inet_aton), whatever else a name may be: a last label
# that is a decimal, octal or hexadecimal number.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_PORT = re.compile(r"[0-9]{1,5}", re.ASCII)
# Of an address of a page, or of a network.
_OTHER_PARTS = re.compile(r"[/?#@\\]")
_HIGHEST_PORT = 65535


class HostNameError(ValueError):
    """A text that does not name a host, or a host and a port."""


def parse_host(text: str) -> str:
    """Return a host in its one spelling: lower case, no trailing dot, addresses compressed.

    Args:
        text: ASCII name, IPv4 address, or IPv6 address with or without brackets.

    Raises:
        HostNameError: the text is neither; says why.

    Example:
        >>> parse_host("API.GitHub.com."), parse_host("[2001:DB8::0:1]")
        ('api.github.com', '2001:db8::1')
    """
    address = parse_address(text)
    if address is not None:
        return str(address)
    name = text.lower().removesuffix(".")
    labels = name.split(".")
    if not text.isascii() or not all(_LABEL.fullmatch(label) for label in labels):
        raise HostNameError(f"{text!r} is not a host name")
    if len(name) > _LONGEST_NAME:
        raise HostNameError(f"a host name of {len(name)} characters; {_LONGEST_NAME} are allowed")
    if _NUMBER.fullmatch(labels[-1]):
        raise HostNameError(
            f"{text!r} is an address in an unusual form: write it with four numbers"
        )
    return name


def parse_address(text: str) -> IPAddress | None:
    """Return an IP address; ``None`` if the text is not one in its usual form.

    Args:
        text: IPv4 address, or IPv6 address with or without brackets, without a zone.

    Example:
        >>> parse_address("127.0.0.1"), parse_address("127.1"), parse_address("fe80::1%eth0")
        (IPv4Address('127.0.0.1'), None, None)
    """
    bare = text[1:-1] if text[:1] == "[" and text[-1:] == "]" else text
    if "%" in bare or not bare.isascii() or (bare != text and ":" not in bare):
        return None
    try:
        return ipaddress.ip_address(bare)
    except ValueError:
        return None


def parse_authority(text: str, default_port: int | None = None) -> tuple[str, int]:
    """Return host and port of an authority, as the target of CONNECT or the Host field has it.

    Args:
        text: Text ``host:port``, with an IPv6 address in brackets.
        default_port: Port of a text without one; ``None``: a port is required.

    Raises:
        HostNameError: a part is missing or not valid; user names are refused, too.

    Example:
        >>> parse_authority("Example.org:443"), parse_authority("[::1]", 80)
        (('example.org', 443), ('::1', 80))
    """
    if _OTHER_PARTS.search(text):
        raise HostNameError(f"{text!r} has more than a host and a port, as in 'example.org:443'")
    host, colon, port = text.rpartition(":")
    if not colon or text[-1:] == "]":
        host, port = text, ""
        if default_port is None:
            raise HostNameError(f"{text!r} has no port")
    elif not _PORT.fullmatch(port) or not 0 < int(port) <= _HIGHEST_PORT:
        raise HostNameError(f"{text!r} does not have a port between 1 and {_HIGHEST_PORT}")
    if ":" in host and host[:1] != "[":
        raise HostNameError(f"{text!r}: an IPv6 address is written in brackets")
    return parse_host(host), int(port) if port else default_port or 0
