"""Variables of a program: each is encoded by itself, and one that cannot be is named instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smolagents_fork.codec.attachments import Attachments
from smolagents_fork.codec.decoder import decode
from smolagents_fork.codec.encoder import encode
from smolagents_fork.codec.limits import (
    DEFAULT_MAX_DEPTH,
    DEFAULT_MAX_ITEMS,
    RAISE_VALUE_BYTES,
    item_bound,
)
from smolagents_fork.errors import DecodeError, EncodeError

# Longest reason, and most reasons: for people, and not worth more of the limit.
_REASON_CHARACTERS = 300
_MOST_REASONS = 1000
# Levels that the two dicts around the values add.
_LEVELS = 2


class Variables(dict[str, Any]):
    """Variables of a program by name, copied from its sandbox.

    Attributes:
        left_out: why a variable is missing, by name: functions, classes, modules and other values
            that cannot be encoded, or values past the limit of bytes.
    """

    def __init__(self, values: Mapping[str, Any], left_out: Mapping[str, str] | None = None):
        super().__init__(values)
        self.left_out: dict[str, str] = dict(left_out or {})


def is_public(name: Any) -> bool:
    """Tell whether ``name`` is a variable's that programs have not marked as private."""
    return type(name) is str and name.isidentifier() and not name.startswith("_")


def encode_variables(variables: Mapping[str, Any], max_bytes: int) -> bytes:
    """Encode the public variables of a program, within one limit.

    Args:
        variables: the program's namespace.
        max_bytes: of the encoding of all that fit.
    """
    attachments = Attachments()
    attached = 0  # bytes
    values: list[bytes] = []
    reasons: dict[str, str] = {}
    bytes_left, items_left = max_bytes, DEFAULT_MAX_ITEMS - 2 * _MOST_REASONS
    for name, value in list(variables.items()):
        if not is_public(name):
            continue
        try:
            data = encode(
                value,
                path=name,
                max_bytes=max(0, bytes_left),
                max_depth=DEFAULT_MAX_DEPTH - _LEVELS,
                max_items=max(0, items_left),
                attachments=attachments,
                remedy=f", which are left for it{RAISE_VALUE_BYTES}",
            )
        except EncodeError as error:
            reason = str(error)
        except Exception as error:  # raised by a class of the program
            reason = type(error).__name__
        else:
            values.append(encode(name) + b":" + data)
            bytes_left -= len(values[-1]) + 1 + attachments.size - attached
            attached = attachments.size
            items_left -= item_bound(data) + 1
            continue
        if len(reasons) < _MOST_REASONS:
            reasons[name] = reason[:_REASON_CHARACTERS]
    text = b'{"values":{' + b",".join(values) + b'},"left_out":' + encode(reasons) + b"}"
    return attachments.message(text)


def decode_variables(data: bytes | bytearray, max_bytes: int) -> Variables:
    """Decode what :func:`encode_variables` made in a sandbox that is not trusted.

    Args:
        data: the encoding.
        max_bytes: that the encoder was called with.

    Raises:
        DecodeError: not such an encoding, or over the limit.
    """
    # The reasons are not part of the encoder's limit; a character takes 12 bytes at most.
    slack = 2 * _MOST_REASONS * 12 * _REASON_CHARACTERS
    fields = decode(data, path="variables", max_bytes=max_bytes + slack)
    if type(fields) is dict and fields.keys() == {"values", "left_out"}:
        values, reasons = fields["values"], fields["left_out"]
        if (
            type(values) is dict is type(reasons)
            and all(map(is_public, [*values, *reasons]))
            and all(type(why) is str for why in reasons.values())
        ):
            return Variables(values, reasons)
    raise DecodeError("variables: expected values by name in 'values', and texts in 'left_out'")
