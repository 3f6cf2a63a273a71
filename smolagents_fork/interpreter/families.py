"""What a class is, asked of Python itself: nothing that a program's class says of itself counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any

__all__ = ["defines", "real_mro", "real_namespace"]

#: The namespace of a class, which a metaclass cannot lie about.
real_namespace: Callable[[type], MappingProxyType[str, Any]] = type.__dict__["__dict__"].__get__
#: The classes it looks in, which ``type.mro`` of a metaclass may give otherwise.
real_mro: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__


def defines(classes: Iterable[type], name: str) -> type | None:
    """The first of ``classes`` that has ``name`` in its own namespace."""
    for one in classes:
        if name in real_namespace(one):
            return one
    return None
