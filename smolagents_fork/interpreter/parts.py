"""``x.y *= z`` and ``x[y] *= z`` in a class body: hidden names would land in its namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["attribute_part", "item_part"]


def attribute_part(operation: Any, holder: Any, name: str) -> Callable[[Any], None]:
    """``holder.name``, read now, to be written when the right side is known."""
    current = getattr(holder, name)
    return lambda value: setattr(holder, name, operation(current, value))


def item_part(operation: Any, holder: Any, key: Any) -> Callable[[Any], None]:
    """``holder[key]``, read now, to be written when the right side is known."""
    current = holder[key]

    def write(value: Any) -> None:
        holder[key] = operation(current, value)

    return write
