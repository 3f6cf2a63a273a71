"""JSON that code in a sandbox may have written: parsed, and checked for types and sizes.

A program that the host starts in a sandbox runs beside code that nobody trusts, which can answer in
its place. Whatever the bytes are, the only error is ``ProtocolError``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from ...errors import ProtocolError

__all__ = ["checked_row", "checked_texts", "read_json"]

_MOST_SHOWN = 200
_MOST_INTEGER = 1 << 63


def read_json(data: bytes, subject: str) -> Any:
    """Return the value that ``data`` encodes.

    Args:
        data: Data of the sandbox.
        subject: Subject of a message, such as ``"the list of files"``.

    Raises:
        ProtocolError: not JSON, nested too deeply, or a number with too many digits.
    """
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ProtocolError(
            f"the sandbox sent {subject} as {data[:_MOST_SHOWN]!r}, which is not JSON: {reason}"
        ) from error


def checked_row(value: object, types: Sequence[tuple[type, ...]], subject: str) -> list[Any]:
    """Return a list once its length and the types of its entries are right.

    Args:
        value: Value of :func:`read_json`.
        types: allowed ones of each entry; numbers have to be finite, fit 64 bits, and count
            something: none is negative.
        subject: Subject as above.

    Raises:
        ProtocolError: it differs.
    """
    if (
        type(value) is list
        and len(value) == len(types)
        and all(type(one) in allowed for one, allowed in zip(value, types, strict=True))
        and all(_is_bounded(one) for one in value)
    ):
        return value
    raise _unexpected(value, subject)


def checked_texts(value: object, subject: str) -> list[str]:
    """Return a list once all its entries are text.

    Args:
        value: Value of :func:`read_json`.
        subject: Subject as above.

    Raises:
        ProtocolError: it differs.
    """
    if type(value) is list and all(type(one) is str for one in value):
        return value
    raise _unexpected(value, subject)


def _is_bounded(value: object) -> bool:
    if type(value) is int:
        return 0 <= value < _MOST_INTEGER
    return type(value) is not float or 0 <= value < math.inf


def _unexpected(value: object, subject: str) -> ProtocolError:
    try:
        shown = json.dumps(value)[:_MOST_SHOWN]
    except (ValueError, RecursionError):
        shown = type(value).__name__
    return ProtocolError(f"the sandbox sent {subject} with unexpected types or values: {shown}")
