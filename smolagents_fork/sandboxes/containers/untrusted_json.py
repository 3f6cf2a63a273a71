"""JSON that code in a sandbox may have written: parsed within limits.

A program that the host starts in a sandbox runs beside untrusted code, which can answer in its
place. Whatever the bytes are, the only error is ``ProtocolError``.
"""

from __future__ import annotations

import json
from typing import Any

from ...errors import ProtocolError

__all__ = ["read_json"]

_MOST_SHOWN = 200


def read_json(data: bytes, subject: str) -> Any:
    """Return the value that ``data`` encodes.

    Args:
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
