"""Fields of the entries in the engine's lists, which not every entry has."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

__all__ = ["container_name", "created_at", "entry_id", "labels_of"]


def entry_id(entry: Mapping[str, Any]) -> str:
    """Return the id of a container or image.

    Args:
        entry: as the engine lists it.

    Raises:
        ValueError: it has none, so nothing can be done with it.
    """
    number = entry.get("Id")
    if not isinstance(number, str) or not number:
        raise ValueError("it has no id")
    return number


def container_name(entry: Mapping[str, Any]) -> str:
    """Return the name of a container; the short id of one without a name, as a dead one may be.

    Args:
        entry: as the engine lists it.
    """
    for name in entry.get("Names") or ():
        if isinstance(name, str) and name.strip("/"):
            return name.lstrip("/")
    return entry_id(entry)[:12]


def labels_of(entry: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the labels of a container, image or volume; none if the engine names none.

    Args:
        entry: as the engine lists it.
    """
    labels = entry.get("Labels")
    return labels if isinstance(labels, Mapping) else {}


def created_at(entry: Mapping[str, Any]) -> float:
    """Return when a container or image was made, in seconds of the epoch; now if it does not say.

    Args:
        entry: as the engine lists it.
    """
    created = entry.get("Created")
    return float(created) if isinstance(created, (int, float)) else time.time()
