"""Addresses in messages and logs, without the passwords that they contain."""

from __future__ import annotations

import re

__all__ = ["without_passwords"]

_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]{0,30}://"
# One address ends where the next begins, as in a list or in a parameter.
_ADDRESS = re.compile(rf"(?P<scheme>{_SCHEME})(?P<rest>(?:(?!{_SCHEME})[^\s'\"<>])+)")
_END_OF_HOST = re.compile(r"[/?#]")
_PORT = re.compile(r"\d*(?:[/?#]|\Z)")


def without_passwords(text: str) -> str:
    """Return ``text`` with stars in place of the password of each address.

    A password may have any characters, ``@`` and ``/`` too. The user's name stays, unless it is all
    that an address of HTTP has before its host: then it is a token.

    Example:
        >>> without_passwords("tcp://user:p@ss@engine:2376, https://token@index/simple")
        'tcp://user:***@engine:2376, https://***@index/simple'
    """
    return _ADDRESS.sub(_hidden, text)


def _hidden(address: re.Match[str]) -> str:
    scheme, rest = address["scheme"], address["rest"]
    end = _end_of_user(rest)
    if end < 0:
        return address[0]
    name, _, password = rest[:end].partition(":")
    if password:
        name = f"{name}:***"
    elif scheme.lower().endswith(("http://", "https://")):
        name = "***"
    return f"{scheme}{name}{rest[end:]}"


def _end_of_user(rest: str) -> int:
    """Return the position of the ``@`` between user and host; -1 without a user."""
    end = _END_OF_HOST.split(rest, maxsplit=1)[0].rfind("@")
    name, colon, after = rest.partition(":")
    if end < 0 and colon and not _END_OF_HOST.search(name) and name[:1] != "[":
        # Not a host with its port, so a password with a slash.
        return -1 if _PORT.match(after) else rest.rfind("@")
    return end
