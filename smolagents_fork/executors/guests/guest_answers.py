"""Frames of a guest, checked, and frames for a guest, composed."""

from __future__ import annotations

from collections.abc import Mapping

from ... import errors
from ...codec import decode, encode
from ...errors import DecodeError, InterpreterError, ProtocolError

__all__ = ["display_bundle", "failure", "joined", "program_error"]


def program_error(kind: str) -> type[InterpreterError]:
    """The error class that a FAILED frame names."""
    # Compared with the classes there are; nothing is looked up that the guest could choose.
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


def display_bundle(body: bytes, max_value_bytes: int) -> dict[str, str | bytes]:
    """Return the MIME bundle of a DISPLAY frame."""
    try:
        bundle = decode(body, path="display", max_bytes=max_value_bytes)
    except DecodeError as error:
        raise ProtocolError(f"a DISPLAY frame that cannot be read: {error}") from error
    if type(bundle) is not dict or not all(
        type(kind) is str and type(form) in (str, bytes) for kind, form in bundle.items()
    ):
        raise ProtocolError("a DISPLAY frame has MIME types with text or bytes")
    return bundle


def joined(encoded: Mapping[str, bytes]) -> bytes:
    """Return one encoded dict of encoded values; the encoding is JSON, so they can be joined."""
    parts = [encode(name) + b":" + value for name, value in encoded.items()]
    return b"{" + b",".join(parts) + b"}"
