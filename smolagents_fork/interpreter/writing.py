"""What a program may write into: objects of its own, and what it made itself of the host's classes.

Part of the boundary: guards.py decides by what is found here.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
import typing
import weakref
from collections.abc import Callable
from typing import Any

from ..errors import AttributeRefusedError
from . import data_methods, data_random, formats, policy
from .handles import ToolHandle
from .held_classes import HeldClasses
from .meter import FinalAnswer, ProgramStop
from .ownership import FUNCTIONS, is_dunder
from .replaced_output import OutputStream
from .sized_types import plain_type

__all__ = ["WRITING_METHODS", "Writing"]

#: Kinds of host's objects that are shared wherever they are found, or that pass a write on to
#: something that is: ``typing.Counter.x = 1`` writes into ``collections.Counter``.
_SHARED_KINDS: tuple[type, ...] = (
    ToolHandle,
    OutputStream,
    FinalAnswer,
    ProgramStop,
    enum.Enum,
    dataclasses.Field,
    types.GenericAlias,
    types.MethodType,
    functools._lru_cache_wrapper,
    functools.cached_property,
    *(
        kind
        for name in (
            *("_Final", "_BaseGenericAlias", "NewType"),
            # Of C from Python 3.12 on; typing's own are everybody's.
            *("TypeVar", "ParamSpec", "TypeVarTuple", "TypeAliasType", "Union"),
        )
        if isinstance(kind := getattr(typing, name, None), type)
    ),
)
#: Methods that write into what they are called with.
WRITING_METHODS = frozenset({"__init__", "__init_subclass__", "__set__", "__delete__"})
_BUILTIN_CONTAINERS = (list, dict, set, bytearray)


class Writing(HeldClasses):
    """What may be written, by assignment or by one of Python's own writing methods."""

    def __init__(self) -> None:
        super().__init__()
        #: Objects that modules hold, by identity: the host and every program share them.
        self.shared: dict[int, Any] = {}
        #: Told that a program is about to change what borrowed.py keeps.
        self.changing: Callable[[str], None] = lambda _module: None

    def writable(self, value: Any, name: str) -> Any:
        """``value``, if the program may set or delete its attribute ``name``."""
        if id(type(value)) in self.own:
            return value
        value = plain_type(value)
        data_methods.check_written(value, name)
        if (stated := data_random.stated(value, name)) is not None:
            return stated
        cls = type(value)
        if cls in weakref.ProxyTypes:
            # A write goes on to what it stands for.
            if self.is_own_class(value.__class__) and not issubclass(value.__class__, type):
                return value
            raise AttributeRefusedError(f"Cannot assign to {name!r} through a weak proxy")
        if isinstance(value, types.ModuleType):
            raise AttributeRefusedError(
                f"Cannot assign to {name!r} of module {value.__name__!r}: modules are read-only"
            )
        if isinstance(value, type):
            if self.is_own_class(value):
                if name == "__eq__" and issubclass(value, type):
                    raise AttributeRefusedError(
                        f"Cannot assign to {name!r} of metaclass {value.__name__!r}"
                    )
                return value
            raise AttributeRefusedError(
                f"Cannot assign to {name!r} of class {value.__name__!r}: only classes that the "
                "program itself defines may be changed"
            )
        if isinstance(value, FUNCTIONS):
            if value.__globals__ is self.globals:
                return value
            raise AttributeRefusedError(
                f"Cannot assign to {name!r} of function {value.__name__!r}: only functions that "
                "the program itself defines may be changed"
            )
        if self.is_own_class(cls):
            return value
        if cls.__name__ == "DictWrapper" and cls.__module__ == "pandas._config.config":
            self.changing("pandas")
            return value
        if cls is functools._lru_cache_wrapper and self.is_own(getattr(value, "__wrapped__", None)):
            return value  # what functools.cache made of a function of the program's
        if (
            issubclass(cls, _SHARED_KINDS)
            or id(value) in self.shared
            or str.__str__(name).startswith("_")
        ):
            raise AttributeRefusedError(
                f"Cannot assign to {name!r} of {cls.__name__!r} object: it belongs to the host"
            )
        return value

    def check_written_name(self, name: Any) -> str:
        """``name`` as the parser would read it, if an attribute of this name may be written.

        Raises:
            AttributeRefusedError: not whatever it is of.
        """
        if not isinstance(name, str):
            raise TypeError("attribute name must be string, not " + repr(type(name).__name__))
        plain: str = formats.normal(str.__str__(name))
        if is_dunder(plain) and plain not in policy.WRITABLE_DUNDERS:
            raise AttributeRefusedError(f"Cannot assign to dunder attribute: {plain}")
        return plain

    def setattr_(self, *arguments: Any) -> None:
        if len(arguments) != 3:
            raise TypeError(f"setattr expected 3 arguments, got {len(arguments)}")
        value, name, new = arguments
        if type(name) is str and policy.is_plain(name) and id(type(value)) in self.own:
            setattr(value, name, new)
            return
        name = self.check_written_name(name)
        setattr(self.writable(value, name), name, new)

    def delattr_(self, *arguments: Any) -> None:
        if len(arguments) != 2:
            raise TypeError(f"delattr expected 2 arguments, got {len(arguments)}")
        value, name = arguments
        name = self.check_written_name(name)
        delattr(self.writable(value, name), name)

    def written_by_name(self, found: Any, owner: Any, method: str) -> Callable[..., Any]:
        """``object.__setattr__``, ``super().__delattr__``: names and targets checked."""

        def setattribute(*arguments: Any) -> Any:
            bound = not isinstance(owner, type) or len(arguments) == (
                2 if method == "__setattr__" else 1
            )
            target = getattr(found, "__self__", owner) if bound else arguments[0]
            position = 0 if bound else 1
            name = self.check_written_name(arguments[position])
            if (allowed := self.writable(target, name)) is not plain_type(target):
                return setattr(allowed, name, arguments[-1])  # looks at what is written
            return found(*arguments[:position], name, *arguments[position + 1 :])

        return setattribute

    def written_by_method(self, found: Any, owner: Any, method: str) -> Any:
        """``__init__`` and its like: only what is the program's own may be given to them.

        ``typing.Optional.__init__(f)`` would make the host's ``Optional`` another thing.
        """
        if self.is_own(owner) or owner is object:
            return found
        name = getattr(owner, "__name__", type(owner).__name__)

        def check(target: Any) -> None:
            if any(type(target) is one for one in _BUILTIN_CONTAINERS) or self.is_own(target):
                return
            if isinstance(target, BaseException) and not issubclass(type(target), _SHARED_KINDS):
                return
            raise AttributeRefusedError(
                f"Forbidden call to {name}.{method}() with {type(target).__name__!r} object: only "
                "what the program itself defines may be changed"
            )

        def call(*arguments: Any, **keywords: Any) -> Any:
            receiver = getattr(found, "__self__", None)
            if method in ("__set__", "__delete__"):
                # A descriptor writes into its first argument, the class of one into its second.
                for target in arguments[: 2 if isinstance(owner, type) else 1]:
                    if target is not receiver and not isinstance(target, property):
                        check(target)
            elif receiver is not None and not isinstance(receiver, types.ModuleType):
                check(receiver)
            else:
                for target in arguments[:1]:
                    check(target)
            return found(*arguments, **keywords)

        return call

    def registering(self, found: Any) -> Any:
        """``ABC.register``: only classes of the program's own may count others as theirs."""

        def register(*arguments: Any, **keywords: Any) -> Any:
            receiver = getattr(found, "__self__", None)
            target = receiver if isinstance(receiver, type) else arguments[0]
            if not self.is_own_class(target):
                raise AttributeRefusedError(
                    f"Cannot register a class with {target.__name__!r}: it belongs to the host; "
                    "derive from it instead"
                )
            return found(*arguments, **keywords)

        return register
