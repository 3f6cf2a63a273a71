"""``executor_kwargs`` of a saved agent: any data in the form of JSON, by the codec.

The codec's form of plain data is JSON's own. Bytes, paths and tuples have the key ``$``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from smolagents_fork.codec import decode, encode
from smolagents_fork.errors import ConfigurationError, DecodeError

__all__ = ["KWARGS", "as_given", "as_saved"]

KWARGS = "executor_kwargs"
# Bytes of the arguments in their encoded form, files included.
_MOST_BYTES = 1 << 28


def as_saved(kwargs: Mapping[str, Any]) -> Any:
    """Return the arguments as a file or a program can have them.

    Raises:
        EncodeError: one is not data; names it.
    """
    return json.loads(encode(dict(kwargs), path=KWARGS, max_bytes=_MOST_BYTES))


def as_given(kwargs: Any) -> Any:
    """Return the arguments as they were before :func:`as_saved`; unsaved ones are unchanged.

    Args:
        kwargs: Keyword arguments of a saved agent, of its program, or of another caller.

    Raises:
        ConfigurationError: they are of a saved agent, and cannot be read.
    """
    try:
        text = json.dumps(kwargs)
    except (TypeError, ValueError):
        return kwargs  # a caller's, with more than data
    if '"$":' not in text:
        return kwargs
    try:
        return decode(text.encode(), path=KWARGS, max_bytes=_MOST_BYTES)
    except DecodeError as error:
        raise ConfigurationError(f"the saved agent cannot be loaded: {error}") from None
