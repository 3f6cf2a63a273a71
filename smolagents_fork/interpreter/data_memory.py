"""Memory that numpy would read or write where a program tells it to.

Part of the boundary that guards.py decides by. numpy trusts three things: the address an object
gives in ``__array_interface__``, the bytes of a buffer that it is to take for references, and that
nobody writes bytes over the references of an array of objects. A program may do none of these.

These are the known roads. numpy is a large library of C that checks for mistakes, not for malice:
see SECURITY.md.
"""

from __future__ import annotations

import functools
import operator
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import AttributeRefusedError, ProgramRefusedError
from .families import defines, real_mro, real_namespace
from .policy_data import MEMORY_PROTOCOLS

__all__ = [
    "constructed",
    "from_buffer",
    "harden",
    "holds_references",
    "items_of",
    "refuse_protocols",
    "settle",
    "shown",
    "takes_buffer",
    "undispatched",
]


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


def constructed(make: Callable[..., Any], check: Any = None) -> Callable[..., Any]:
    """``make``, the constructor of ``np.ndarray`` or of a class like it, without raw references.

    Args:
        make: the class, or its ``__new__``.
        check: told how many items an array without a buffer is to have; see Sizes.check_items.
    """

    @functools.wraps(make)
    def call(*arguments: Any, **keywords: Any) -> Any:
        given = [*arguments, *keywords.values()]
        kinds = [one for one in given if not _is_buffer(one)]
        buffers = [one for one in given if _is_buffer(one)]
        if buffers and (any(map(holds_references, buffers)) or any(map(_means_references, kinds))):
            _refuse_raw()
        if check is not None and not buffers:
            # __new__ is given the class first.
            rest = arguments[1:] if arguments[:1] and isinstance(arguments[0], type) else arguments
            shape = rest[0] if rest else keywords.get("shape", ())
            check(items_of(shape, *rest[1:2], keywords.get("dtype")), "An array")
        return make(*arguments, **keywords)

    del call.__wrapped__
    return call


def items_of(shape: Any, *dtypes: Any) -> int:
    """How many items, counted in words of eight bytes, an array of this shape is to have."""
    count = 1
    for extent in shape if isinstance(shape, (tuple, list)) else (shape,):
        try:
            count *= max(0, operator.index(extent))
        except TypeError:
            return 0  # numpy says what is wrong with it
    for dtype in dtypes:
        if isinstance(dtype, int):
            count *= max(1, dtype // 8)  # the item size of an array of characters
        elif dtype is not None and not isinstance(dtype, type):
            try:
                count *= max(1, _typed(dtype).itemsize // 8)
            except (TypeError, ValueError, AttributeError):
                continue
    return count


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


#: Hooks by which an object answers for attributes, or is called instead of a function of numpy's.
_ANSWERING = ("__getattr__", "__getattribute__")


def settle(space: dict[str, Any]) -> None:
    """Make a namespace harmless before a class is made of it.

    Hooks of the class's own (``__set_name__``, ``__init_subclass__``) see the class before
    :func:`harden` does.

    Raises:
        AttributeRefusedError: it says where an object's memory is.
    """
    refuse_protocols(dict.keys(space))
    for name in _ANSWERING:
        found = dict.get(space, name)
        if found is not None and type(found) not in (_Answer, _SLOT):
            dict.__setitem__(space, name, _Answer(found))
    if dict.__contains__(space, "_internal_names_set"):
        raise AttributeRefusedError(
            "Cannot define _internal_names_set: pandas keeps names there that no label may have"
        )


def harden(made: type, guards: Any) -> None:
    """Let no object of ``made``, a program's class, say at which address its memory is.

    Raises:
        AttributeRefusedError: the class says so itself.
    """
    names = real_namespace(made)
    said = [
        name for name in MEMORY_PROTOCOLS if type(names.get(name, _ABSENT[name])) is not _Absent
    ]
    refuse_protocols(said)
    if _is_protocol(made):
        return  # its attributes are what it asks of other classes, and it has no objects
    if not issubclass(made, type):  # its objects are classes, and hardened themselves
        for name, absent in _ABSENT.items():
            type.__setattr__(made, name, absent)
    for name in _ANSWERING:
        holder = defines(real_mro(made), name)
        found = None if holder is None else real_namespace(holder)[name]
        if found is not None and type(found) not in (_Answer, _SLOT):
            type.__setattr__(made, name, _Answer(found))
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(made, numpy.ndarray) and takes_buffer(made.__new__):
        make = constructed(made.__new__, guards.sizes.check_items)
        type.__setattr__(made, "__new__", staticmethod(make))
    # numpy calls it with the very classes of the arguments.
    answer = names.get("__array_function__")
    if isinstance(answer, types.FunctionType):
        type.__setattr__(made, "__array_function__", _dispatched(answer, guards))


def _dispatched(answer: Any, guards: Any) -> Any:
    """``__array_function__`` of a program's class, given classes as a program may hold them."""

    def __array_function__(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return answer(self, func, guards.held(tuple(types)), args, kwargs)

    return __array_function__


def _is_numpys(cls: type) -> bool:
    module = sys.modules.get(str(real_namespace(cls).get("__module__", "numpy")))
    root = getattr(module, "__name__", "").split(".")[0]
    return root == "numpy" and getattr(module, cls.__name__, None) is cls


def undispatched(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of numpy's, which hands itself to no object of the program's.

    ``__array_function__`` (NEP 18) would be given numpy's own in place of the guarded one.
    """

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        for one in (*arguments, *keywords.values()):
            holder = defines(real_mro(type(one)), "__array_function__")
            if holder is not None and not _is_numpys(holder):
                raise ProgramRefusedError(
                    f"Forbidden argument: a {type(one).__name__!r} object, whose "
                    "__array_function__ would be called instead. Pass an array"
                )
        return function(*arguments, **keywords)

    del call.__wrapped__
    return call


def takes_buffer(make: Any) -> bool:
    """Whether a constructor is one of numpy's that lay an array over bytes."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return False
    classes = [numpy.ndarray, numpy.recarray]
    # From numpy 2.5 on numpy.char warns when it is asked for it.
    defining = sys.modules.get("numpy._core.defchararray") or numpy.char
    if "chararray" in vars(defining):
        classes.append(vars(defining)["chararray"])
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
