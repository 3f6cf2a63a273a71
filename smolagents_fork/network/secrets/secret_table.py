"""Placeholders of secrets, and their values in the requests that may have them."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import re
import secrets
import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from ..hosts.host_policy import HostRefusedError
from ..request_head import Fields, ProxyRequest
from .replacement import GzipBody, PlainBody
from .secret import Secret

__all__ = ["SecretFilter", "SecretRefusedError", "SecretTable", "make_placeholder"]

_BASIC = re.compile(rb"(basic[ \t]+)(\S+)", re.IGNORECASE)
# The name of a kind of token, such as "ghp_", which clients look at. Enough is left behind it.
_KIND = re.compile(r"[a-z]{2,6}[_-](?=.{20})", re.DOTALL)
_ALPHABETS = (string.ascii_lowercase, string.ascii_uppercase, string.digits)
# Fields that ask for a response in which a value is not noticed: in part, or in another coding.
_UNREADABLE = frozenset((b"range", b"if-range", b"accept-encoding"))


class SecretRefusedError(HostRefusedError):
    """A placeholder in a request that may not have it.

    Args:
        name: Name of the secret.
        message: Message for the model and its user.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


def make_placeholder(value: str) -> str:
    """Return a random text of the shape of a value: letters for letters, digits for digits.

    A short prefix that names the kind of a token is kept.

    Example:
        >>> placeholder = make_placeholder("ghp_0123456789abcdefghij")
        >>> placeholder[:4], len(placeholder), placeholder[4:14].isdigit()
        ('ghp_', 24, True)
    """
    match = _KIND.match(value)
    prefix = match[0] if match else ""
    return prefix + "".join(
        next((secrets.choice(letters) for letters in _ALPHABETS if character in letters), character)
        for character in value[len(prefix) :]
    )


@dataclass(frozen=True)
class _Entry:
    """A secret with its placeholder, which is as long as its value."""

    name: str
    secret: Secret
    placeholder: bytes

    @property
    def value(self) -> bytes:
        return self.secret.reveal().encode("ascii")


class SecretTable:
    """Placeholders of one executor's secrets.

    Args:
        by_variable: Secrets by the names of their variables.
        count: Takes the number of decompressed bytes; raises if there are too many.
    """

    def __init__(self, by_variable: Mapping[str, Secret], count: Callable[[int], None]) -> None:
        self._count = count
        self._entries = [
            _Entry(name, secret, make_placeholder(secret.reveal()).encode("ascii"))
            for name, secret in by_variable.items()
        ]
        self._hidden = [(entry.value, entry.placeholder) for entry in self._entries]

    def __repr__(self) -> str:
        return f"SecretTable({[entry.name for entry in self._entries]})"

    @property
    def variables(self) -> dict[str, str]:
        """Placeholders by the names of their variables."""
        return {entry.name: entry.placeholder.decode("ascii") for entry in self._entries}

    def covers(self, host: str, port: int) -> bool:
        """Tell whether a secret may be sent to a host, so that its TLS ends here.

        Args:
            host: Host in its one spelling.
            port: Port of the connection.
        """
        return any(entry.secret.covers(host, port) for entry in self._entries)

    def hide(self, text: str) -> str:
        """Return a text with placeholders for the values."""
        for value, placeholder in self._hidden:
            text = text.replace(value.decode("ascii"), placeholder.decode("ascii"))
        return text

    def check_plain(self, request: ProxyRequest) -> SecretFilter:
        """Check a request that is not encrypted, which has no placeholder.

        Returns:
            the filter of its body.

        Raises:
            SecretRefusedError: it has one.
        """
        return SecretFilter(self._make_check(request, self._entries), [], self._count)

    def reveal(self, request: ProxyRequest) -> tuple[ProxyRequest, SecretFilter, list[str]]:
        """Replace placeholders in a request that goes through TLS which ends here.

        Returns:
            the request for the host, the filter of its body and response, names of used secrets.

        Raises:
            SecretRefusedError: it has the placeholder of another host's secret.
        """
        permitted = [e for e in self._entries if e.secret.covers(request.host, request.port)]
        others = [entry for entry in self._entries if entry not in permitted]
        check = self._make_check(request, others)
        used: dict[str, None] = {}
        changed = list(self._hidden)

        def replace(text: bytes) -> bytes:
            for entry in permitted:
                if entry.placeholder in text:
                    used[entry.name] = None
                    text = text.replace(entry.placeholder, entry.value)
            return text

        headers = []
        for name, value in request.headers:
            if name.lower() in _UNREADABLE:
                continue
            new, credentials = replace(value), _credentials(value)
            if credentials is not None:
                scheme, text = credentials
                old, new_text = base64.b64encode(text), base64.b64encode(replace(text))
                if old != new_text:
                    new = scheme + new_text
                    # A host that shows the field has not the value as it is, but this form.
                    changed.append((new_text, old))
            headers.append((name, new))
        accepted = b",".join(v for name, v in request.headers if name.lower() == b"accept-encoding")
        coding = b"gzip" if b"gzip" in accepted.lower() else b"identity"
        headers.append((b"Accept-Encoding", coding))
        request = dataclasses.replace(request, headers=tuple(headers))
        return request, SecretFilter(check, changed, self._count), list(used)

    def _make_check(self, request: ProxyRequest, others: list[_Entry]) -> _BodyCheck:
        check = _BodyCheck(others, request)
        check.look(request.target, unquote_to_bytes(request.target))
        for name, value in request.headers:
            check.look(name, value)
            credentials = _credentials(value)
            if credentials is not None:
                check.look(credentials[1])
        return check


def _credentials(value: bytes) -> tuple[bytes, bytes] | None:
    """Return the scheme and the decoded text of Basic credentials; ``None`` if there are none."""
    match = _BASIC.fullmatch(value)
    if match is None:
        return None
    try:
        return match[1], base64.b64decode(match[2], validate=True)
    except binascii.Error:
        return None


class _BodyCheck:
    """Looks for placeholders that a request may not have.

    Args:
        others: Secrets whose placeholders these are.
        request: Head of the request.
    """

    def __init__(self, others: list[_Entry], request: ProxyRequest) -> None:
        self._others = others
        self._host = request.host
        self._end = b""
        self._kept = max((len(entry.placeholder) for entry in others), default=1) - 1

    def look(self, *texts: bytes) -> None:
        """Look at whole texts."""
        for entry in self._others:
            if any(entry.placeholder in text for text in texts):
                hosts = [allowed.host for allowed in entry.secret.hosts]
                raise SecretRefusedError(
                    entry.name,
                    f"a request to host {self._host!r} has the placeholder of secret "
                    f"{entry.name!r}, which is sent over https:// only, to hosts={hosts}",
                )

    def add(self, data: bytes) -> None:
        """Look at the next part of the body."""
        if not self._others:
            return
        data = self._end + data
        self.look(data)
        self._end = data[max(0, len(data) - self._kept) :]


class SecretFilter:
    """Keeps the placeholders of others out of a request's body, and values out of its response.

    Args:
        check: Looks at the body.
        hidden: Values, and what replaces them; none: the response passes as it is.
        count: Takes the number of decompressed bytes.
    """

    def __init__(
        self,
        check: _BodyCheck,
        hidden: list[tuple[bytes, bytes]],
        count: Callable[[int], None],
    ) -> None:
        self._check = check
        self._hidden = hidden
        self._count = count
        self._body: PlainBody | GzipBody = PlainBody(hidden)

    def check_body(self, data: bytes) -> None:
        """Look at the next part of the request's body.

        Raises:
            SecretRefusedError: it has a placeholder that it may not have.
        """
        self._check.add(data)

    def filter_text(self, text: bytes) -> bytes:
        """Return a text of the response, such as that of its status line, without values."""
        for value, replacement in self._hidden:
            text = text.replace(value, replacement)
        return text

    def begin_body(self, fields: Fields) -> Fields:
        """Prepare for the response's body; return the fields that describe it for the sandbox.

        Raises:
            ConnectionError: it is in a form that cannot be filtered.
        """
        if not self._hidden:
            return fields
        codings = [v.strip().lower() for n, v in fields if n.lower() == b"content-encoding"]
        coding = b",".join(codings)
        if coding in (b"", b"identity"):
            return fields
        if coding not in (b"gzip", b"x-gzip"):
            raise ConnectionError(
                f"its response has Content-Encoding {coding.decode('latin-1')!r}, in which values "
                "of secrets cannot be found"
            )
        self._body = GzipBody(PlainBody(self._hidden), self._count)
        dropped = (b"content-encoding", b"content-length")
        return tuple((name, value) for name, value in fields if name.lower() not in dropped)

    def filter_body(self, data: bytes) -> Iterator[bytes]:
        """Yield what may be passed on after the next part of the response's body."""
        return self._body.add(data)

    def end_body(self) -> bytes:
        """Return what is left of the response's body at its end.

        Raises:
            ConnectionError: it is incomplete.
        """
        return self._body.end()
