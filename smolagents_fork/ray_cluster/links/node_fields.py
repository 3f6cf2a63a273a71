"""Fields of a node's answers: names and types, checked before anything uses them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import ProtocolError

__all__ = ["FIGURES", "MADE", "PLACE", "START", "fields_of"]

#: Place of a supervisor.
PLACE: dict[str, tuple[type, ...]] = {
    "supervisor": (str,),
    "node": (str,),
    "address": (str,),
    "port": (int, type(None)),
    "why_no_port": (str,),
    "tls": (bool,),
    "pid": (int,),
}
#: Answer of a supervisor to a start.
START: dict[str, tuple[type, ...]] = {"info": (dict,), "ticket": (bytes,)}
#: Answer of the helper process to a start.
MADE: dict[str, tuple[type, ...]] = {**PLACE, **START, "sandbox": (str,)}
#: Figures of one supervisor.
FIGURES: dict[str, tuple[type, ...]] = {
    "node": (str,),
    "supervisor": (str,),
    "slots": (int,),
    "in_use": (int,),
    "starting": (int,),
    "lost": (str,),
    "engine_error": (str,),
    "heard_seconds_ago": (int, float),
}


# Range of numbers; NaN is not in it.
_LEAST, _MOST = -(1 << 31), 1 << 62


def fields_of(data: Any, types: Mapping[str, tuple[type, ...]], what: str) -> dict[str, Any]:
    """Return a mapping from a node, once its names and types are what they should be."""
    if type(data) is not dict or data.keys() != types.keys():
        raise ProtocolError(f"a node sent what is not {what}")
    if not all(type(data[name]) in allowed for name, allowed in types.items()):
        raise ProtocolError(f"a node sent {what} with a value of the wrong type")
    if any(
        isinstance(value, (int, float)) and not _LEAST <= value <= _MOST for value in data.values()
    ):
        raise ProtocolError(f"a node sent {what} with a number out of range")
    return data
