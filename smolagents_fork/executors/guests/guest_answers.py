"""Frames of a guest, checked, and frames for a guest, composed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import errors
from ...codec import decode, encode
from ...codec.attachments import Attachments
from ...displays import is_picture
from ...errors import DecodeError, InterpreterError, ProtocolError
from ...guest.body_memory import BODIES
from ...guest.frames import Part
from ...texts import encodable

__all__ = ["copied", "display_bundle", "failure", "program_error", "variable"]


def program_error(kind: str) -> type[InterpreterError]:
    """Return the error class that a FAILED frame names."""
    # Compared with the classes there are; nothing is looked up that the guest could choose.
    known = {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, InterpreterError)
    }
    return known.get(kind, InterpreterError)


def failure(body: bytes | bytearray) -> tuple[str, str]:
    """Return kind and message of a FAILED frame."""
    try:
        data = decode(body, path="failure")
    except DecodeError as error:
        raise ProtocolError(f"a FAILED frame that cannot be read: {error}") from None
    if type(data) is not dict or {type(data.get("kind")), type(data.get("message"))} != {str}:
        raise ProtocolError("a FAILED frame has a kind and a message")
    return data["kind"], encodable(data["message"])


def display_bundle(body: bytes | bytearray, max_value_bytes: int) -> dict[str, Any]:
    """Return the MIME bundle of a DISPLAY frame: texts, bytes and pictures."""
    try:
        bundle = decode(body, path="display", max_bytes=max_value_bytes)
    except DecodeError as error:
        raise ProtocolError(f"a DISPLAY frame that cannot be read: {error}") from None
    if type(bundle) is not dict or not all(
        type(kind) is str and (type(form) in (str, bytes) or is_picture(form))
        for kind, form in bundle.items()
    ):
        raise ProtocolError("a DISPLAY frame has MIME types with text, bytes or a picture")
    return bundle


def variable(name: str, value: Any, max_bytes: int) -> Sequence[Part]:
    """Encode one variable as a dict, in parts that are not copies.

    Raises:
        EncodeError: it cannot be encoded; names the path to the part.
    """
    attachments = Attachments()
    text = encode(value, path=f"vars[{name!r}]", max_bytes=max_bytes, attachments=attachments)
    return attachments.parts(b"{" + encode(name) + b":" + text + b"}")


def copied(parts: Sequence[Part]) -> Sequence[Part]:
    """Copy what belongs to a value that may change."""
    return [BODIES.copy(part) for part in parts]
