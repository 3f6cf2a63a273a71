"""Validation of frames from a child, and composition of frames for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import errors
from ...codec import decode, encode
from ...errors import DecodeError, InterpreterError, ProtocolError

__all__ = ["checked_report", "failure", "joined", "program_error"]


def program_error(kind: str) -> type[InterpreterError]:
    """Return the error class that a FAILED frame names."""
    # From a list of known classes: the child chooses no attribute that is read.
    known = {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, InterpreterError)
    }
    return known.get(kind, InterpreterError)


def failure(body: bytes) -> tuple[str, str]:
    """Return kind and message of a FAILED frame."""
    try:
        data = decode(body, path="failure")
    except DecodeError as error:
        raise ProtocolError(f"a FAILED frame that cannot be read: {error}") from error
    if type(data) is not dict or {type(data.get("kind")), type(data.get("message"))} != {str}:
        raise ProtocolError("a FAILED frame has a kind and a message")
    return data["kind"], data["message"]


def checked_report(data: Any) -> dict[str, dict[str, str]]:
    """Check a READY frame and return the measures in force and those missing."""
    if type(data) is not dict or data.keys() != {"in_force", "missing"}:
        raise ProtocolError("a READY frame has the measures in force and those missing")
    for part in data.values():
        if type(part) is not dict or not all(type(text) is str for text in part.values()):
            raise ProtocolError("a READY frame has a text for every measure")
    return data


def joined(encoded: Mapping[str, bytes]) -> bytes:
    """Return one encoded dict of encoded values; the encoding is JSON, so they can be joined."""
    parts = [encode(name) + b":" + value for name, value in encoded.items()]
    return b"{" + b",".join(parts) + b"}"
