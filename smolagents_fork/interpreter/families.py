"""What a class is, asked of Python itself: nothing that a program's class says of itself counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any

__all__ = ["defines", "holder", "real_mro", "real_namespace"]

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


def holder(value: Any, name: str) -> type | None:
    """The class that defines ``name`` for ``value``, an object, a class or ``super()`` of one."""
    if type(value) is super:
        # What follows the class that asks, in the order of the object's own class.
        cls = value.__self_class__  # type: ignore[attr-defined]  # typeshed has no super objects
        chain = real_mro(cls)
        after = chain.index(value.__thisclass__)  # type: ignore[attr-defined]
        chain = chain[after + 1 :]
    else:
        chain = real_mro(value if isinstance(value, type) else type(value))
    return defines(chain, name)
