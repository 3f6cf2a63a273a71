"""Labels of containers, which name the process that owns each.

Labels are inherited: an image that is made from a container, or ``FROM`` an image, has them, and so
has each container of it. So a container is the fork's only if its labels name it. The engine keeps
names unique.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

from ....system.inventory import OwnerProcess
from ... import process_owner
from ..list_fields import container_names, entry_id, labels_of

__all__ = [
    "LABEL",
    "NAME_LABEL",
    "labels",
    "own_id",
    "own_labels",
    "owner_of",
]

LABEL = "smolagents-fork.owner"
NAME_LABEL = "smolagents-fork.container"
HOST_LABEL = "smolagents-fork.host"
VERSION_LABEL = "smolagents-fork.version"
# Labels of others have any length.
_MOST_HOST_CHARS = 255


def labels(name: str, version: str = "") -> dict[str, str]:
    """Return the labels for a container of this process.

    Args:
        version: Version of the fork; empty for a container that only builds.
    """
    return {
        LABEL: process_owner.owner_text(),
        NAME_LABEL: name,
        # For people: names of machines are not unique.
        HOST_LABEL: platform.node(),
        VERSION_LABEL: version,
    }


def own_labels(summary: Mapping[str, Any]) -> Mapping[str, str] | None:
    """Return the labels of a container of the fork; ``None`` for any other.

    Raises:
        ValueError: its label does not name an owner.
    """
    container_labels = labels_of(summary)
    # Images of earlier releases have an empty one.
    if not container_labels.get(LABEL):
        return None
    process_owner.check_owner(container_labels[LABEL])
    is_named = container_labels.get(NAME_LABEL) in container_names(summary)
    return container_labels if is_named else None


def own_id(summary: Mapping[str, Any]) -> str | None:
    """Return the id of a container of the fork; ``None`` for any other."""
    return None if own_labels(summary) is None else entry_id(summary)


def owner_of(container_labels: Mapping[str, str]) -> OwnerProcess:
    """Return the process that the labels name.

    Args:
        container_labels: Container labels from :func:`own_labels`.
    """
    host = str(container_labels.get(HOST_LABEL, ""))[:_MOST_HOST_CHARS]
    return process_owner.parse_owner(container_labels[LABEL], host)
