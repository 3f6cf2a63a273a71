"""Entries of an engine's lists, which others wrote and which may be gone a moment later."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from ...errors import EngineUnavailableError

__all__ = ["read_entries"]

_log = logging.getLogger(__name__)
_Read = TypeVar("_Read")
# Characters of an entry, and of what is wrong with it, in one line of the log.
_SHOWN_CHARS = 160


def read_entries(
    what: str, entries: Iterable[Any] | None, read: Callable[[Any], _Read | None]
) -> list[_Read]:
    """Read the entries of an engine's list; one that cannot be read never costs the others.

    Such an entry is left out and named in the log.

    Args:
        what: word for an entry in the log, such as ``"container"``.
        entries: the list; ``None`` is an empty one, as some engines send it.
        read: reads one entry; returns ``None`` for one that is not wanted.

    Raises:
        EngineUnavailableError: the engine does not answer any more.

    Example:
        >>> read_entries("container", [{"Id": "a"}, {}], lambda entry: entry["Id"])
        ['a']
    """
    values = []
    for entry in entries or ():
        try:
            value = read(entry)
        except EngineUnavailableError:
            raise
        except Exception as error:
            # Any: the types of its fields are not known.
            why = ascii(error)[:_SHOWN_CHARS]
            _log.warning("the %s %s cannot be read, and is left out: %s", what, _name(entry), why)
            continue
        if value is not None:
            values.append(value)
    return values


def _name(entry: Any) -> str:
    if isinstance(entry, Mapping):
        metadata = entry.get("metadata")
        named = metadata if isinstance(metadata, Mapping) else entry
        for field in ("Id", "Name", "name"):
            if named.get(field):
                return ascii(str(named[field])[:_SHOWN_CHARS])[1:-1]
    return ascii(entry)[:_SHOWN_CHARS]
