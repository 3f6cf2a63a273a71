"""Memory that numpy would read or write where a program tells it to.

Part of the boundary that guards.py decides by. numpy trusts three things: the address an object
gives in ``__array_interface__``, the bytes of a buffer that it is to take for references, and that
nobody writes bytes over the references of an array of objects. A program may do none of these.

These are the known roads. numpy is a large library of C that checks for mistakes, not for malice:
see SECURITY.md.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import AttributeRefusedError, ProgramRefusedError
from .policy_data import MEMORY_PROTOCOLS

__all__ = [
    "constructed",
    "from_buffer",
    "harden",
    "holds_references",
    "refuse_protocols",
    "shown",
    "takes_buffer",
]

_TYPE_NAMESPACE = type.__dict__["__dict__"].__get__


def holds_references(buffer: Any) -> bool:
    """Whether the bytes of a buffer are references to objects."""
    dtype = getattr(buffer, "dtype", None)
    if getattr(dtype, "hasobject", False) is True:
        return True
    if isinstance(buffer, memoryview):
        # What it was made from decides: a cast forgets the format.
        return "O" in buffer.format or holds_references(buffer.obj)
    return False


def _refuse_raw() -> None:
    raise ProgramRefusedError(
        "Forbidden: bytes taken for references to objects, or the other way round. "
        "Make the array from a list, as in np.array(values, dtype=object)"
    )


def _typed(dtype: Any) -> Any:
    import numpy as np

    return np.dtype(dtype)


def constructed(make: Callable[..., Any]) -> Callable[..., Any]:
    """``make``, the constructor of ``np.ndarray`` or of a class like it, without raw references."""

    @functools.wraps(make)
    def call(*arguments: Any, **keywords: Any) -> Any:
        given = [*arguments, *keywords.values()]
        kinds = [one for one in given if not _is_buffer(one)]
        buffers = [one for one in given if _is_buffer(one)]
        if buffers and (any(map(holds_references, buffers)) or any(map(_means_references, kinds))):
            _refuse_raw()
        return make(*arguments, **keywords)

    del call.__wrapped__
    return call


def _is_buffer(value: Any) -> bool:
    if isinstance(value, (str, int, float, type, list, tuple, dict, type(None))):
        return False
    try:
        memoryview(value).release()
    except (TypeError, ValueError, BufferError, NotImplementedError):
        return False
    return True


def _means_references(dtype: Any) -> bool:
    try:
        return bool(_typed(dtype).hasobject)
    except (TypeError, ValueError, AttributeError):
        return False


def from_buffer(make: Callable[..., Any]) -> Callable[..., Any]:
    """``np.frombuffer`` without the bytes of references."""

    @functools.wraps(make)
    def call(buffer: Any, *arguments: Any, **keywords: Any) -> Any:
        if holds_references(buffer):
            _refuse_raw()
        return make(buffer, *arguments, **keywords)

    del call.__wrapped__
    return call


def refuse_protocols(names: Any) -> None:
    """Refuse a class's names if numpy would take an address from one of them."""
    for name in MEMORY_PROTOCOLS.intersection(map(str, names)):
        raise AttributeRefusedError(
            f"Cannot define {name}: it would let the program read memory by address. "
            "Define __array__, which returns an array"
        )


class _Absent:
    """A data descriptor: stands before an object's own attribute of that name, and is none."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        raise AttributeError(f"an object of the program has no attribute {self.name!r}")

    def __set__(self, instance: Any, value: Any) -> None:
        raise AttributeRefusedError(f"Cannot assign to dunder attribute: {self.name}")

    def __delete__(self, instance: Any) -> None:
        raise AttributeError(self.name)


_ABSENT = {name: _Absent(name) for name in MEMORY_PROTOCOLS}


class _Answer:
    """``__getattr__`` or ``__getattribute__`` of a program's class, silent about the protocols."""

    def __init__(self, found: Any) -> None:
        self.found = found
        self.__name__ = getattr(found, "__name__", "__getattr__")
        self.__doc__ = getattr(found, "__doc__", None)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        getter = getattr(type(self.found), "__get__", None)
        bound = self.found if getter is None else getter(self.found, instance, owner)

        def answer(*arguments: Any) -> Any:
            if arguments and arguments[-1] in MEMORY_PROTOCOLS:
                raise AttributeError(arguments[-1])
            return bound(*arguments)

        return answer


def harden(made: type) -> None:
    """Let no object of ``made``, a program's class, say at which address its memory is.

    Raises:
        AttributeRefusedError: the class says so itself.
    """
    names = _TYPE_NAMESPACE(made)
    said = [
        name for name in MEMORY_PROTOCOLS if type(names.get(name, _ABSENT[name])) is not _Absent
    ]
    refuse_protocols(said)
    if _is_protocol(made):
        return  # its attributes are what it asks of other classes, and it has no objects
    if not issubclass(made, type):  # its objects are classes, and hardened themselves
        for name, absent in _ABSENT.items():
            type.__setattr__(made, name, absent)
    for name in ("__getattr__", "__getattribute__"):
        found = next(
            (_TYPE_NAMESPACE(one)[name] for one in type.mro(made) if name in _TYPE_NAMESPACE(one)),
            None,
        )
        if found is not None and type(found) not in (_Answer, _SLOT):
            type.__setattr__(made, name, _Answer(found))
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(made, numpy.ndarray) and takes_buffer(made.__new__):
        type.__setattr__(made, "__new__", staticmethod(constructed(made.__new__)))


def takes_buffer(make: Any) -> bool:
    """Whether a constructor is one of numpy's that lay an array over bytes."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return False
    classes = [numpy.ndarray, numpy.recarray, numpy.char.chararray]
    return any(make is one or make == one.__new__ for one in classes)


_SLOT = type(object.__getattribute__)


def shown(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """A class's namespace as its author wrote it."""
    return {
        name: value.found if type(value) is _Answer else value
        for name, value in namespace.items()
        if type(value) is not _Absent
    }


def _is_protocol(made: type) -> bool:
    import typing

    return typing.Protocol in made.__bases__
