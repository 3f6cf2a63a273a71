"""Classes whose calls must be looked at, as values that a program may hold and pass on.

Part of the boundary: guards.py decides by what is found here. A class that is called where it is
named can be guarded there; one taken as a value (``m = type``, ``map(np.ndarray, ...)``) is called
from anywhere, C code included. Where a library may be authorised that takes an object's word for
an address of memory, such values are stand-ins: the class in everything but the call.

Held are: metaclasses of the host's and enumerations without members, whose calls make classes;
arrays, whose calls lay them over bytes; numpy's bit generators, which believe their seeds; and
classes that take any attribute as a keyword.
"""

from __future__ import annotations

import enum
import sys
import types
from collections.abc import Mapping
from typing import Any

from ..errors import AttributeRefusedError
from . import data_memory, data_random
from .families import real_namespace
from .ownership import Ownership, plain_bases
from .sized_types import SizedType, plain_type

__all__ = ["HeldClasses"]

#: Modules with classes that take any attribute as a keyword, and the bases of these.
_ANY_ATTRIBUTE = {"types": "SimpleNamespace", "ast": "AST"}


class _Held(SizedType):
    """A stand-in, of a type that is called ``type``."""


_Held.__name__ = _Held.__qualname__ = "type"
_Held.__module__ = "builtins"


class HeldClasses(Ownership):
    """Stand-ins for classes of the host, one for each."""

    def __init__(self) -> None:
        super().__init__()
        self._held: dict[int, SizedType] = {}
        #: Classes of the host's that are not held.
        self._free: dict[int, type] = {}
        self._enums: type | None = None
        self.sizes: Any = None

    def held(self, value: Any) -> Any:
        """``value`` as a program may hold it; a tuple's items, too."""
        known = id(value)
        if known in self._free or known in self.own:
            return value
        if type(value) is tuple and self.hardens:
            found = tuple(map(self.held, value))
            return found if any(a is not b for a, b in zip(found, value, strict=True)) else value
        if not self.hardens or not isinstance(value, type):
            return value
        if value is self._enums:
            value = type(enum.Enum)
        elif issubclass(value, SizedType):
            value = type  # of a stand-in
        stand_in = self._held.get(id(value))
        if stand_in is None:
            call = self._call_of(value)
            if call is None:
                if not self.is_own_class(value):
                    self._free[known] = value  # kept, so that no other comes to have its id
                return value
            stand_in = self._held[id(value)] = _Held(call, value)
        return stand_in

    def _call_of(self, cls: type) -> Any:
        """What a call of ``cls`` as a value does; ``None`` if there is nothing to it."""
        if self.is_own_class(cls):
            return None  # hardened when it was made
        if issubclass(cls, type):
            return self._made_class
        if isinstance(cls, type(enum.Enum)):
            return None if real_namespace(cls).get("_member_map_") else self._made_enum
        if data_memory.takes_buffer(cls.__new__):
            return self._made_array
        if data_random.is_bit_generator(cls):
            return self._made_generator
        for module, name in _ANY_ATTRIBUTE.items():
            base = getattr(sys.modules.get(module), name, None)
            if base is not None and issubclass(cls, base):
                return self._made_object
        return None

    def _made_class(self, cls: Any, /, *arguments: Any, **keywords: Any) -> Any:
        if len(arguments) > 1 and type(arguments[1]) is tuple:
            bases = plain_bases(arguments[1])
            arguments = (arguments[0], bases, *arguments[2:])
        if cls is type and len(arguments) == 3:
            return self.make_class(cls, *arguments, **keywords)
        made = self.maker(cls)(*arguments, **keywords)
        return self.held(made) if len(arguments) == 1 else made

    def _made_enum(self, cls: Any, /, *arguments: Any, **keywords: Any) -> Any:
        names = arguments[1] if len(arguments) > 1 else keywords.get("names")
        if names is not None and type(names) is not str:
            pairs = names.items() if isinstance(names, Mapping) else names
            settled = [_settled_name(one) for one in pairs]
            data_memory.refuse_protocols(one if type(one) is str else one[0] for one in settled)
            if len(arguments) > 1:
                arguments = (arguments[0], settled, *arguments[2:])
            else:
                keywords["names"] = settled
        if "type" in keywords:
            keywords["type"] = plain_type(keywords["type"])
        made = cls(*arguments, **keywords)
        self.adopt(made)
        return made

    def _made_array(self, cls: Any, /, *arguments: Any, **keywords: Any) -> Any:
        return data_memory.constructed(cls, self.sizes.check_items)(*arguments, **keywords)

    def _made_generator(self, cls: Any, /, *arguments: Any, **keywords: Any) -> Any:
        for one in (*arguments, *keywords.values()):
            data_random.check_seed(one, self.is_own_class)
        return cls(*arguments, **keywords)

    @staticmethod
    def _made_object(cls: Any, /, *arguments: Any, **keywords: Any) -> Any:
        data_memory.refuse_protocols(keywords)
        for one in arguments:
            if isinstance(one, Mapping):
                data_memory.refuse_protocols(dict(one))
        if issubclass(cls, types.SimpleNamespace) and arguments:
            # From Python 3.13 on: a mapping, or pairs, which may answer otherwise later.
            settled = dict(arguments[0])
            data_memory.refuse_protocols(settled)
            return cls(settled, *arguments[1:], **keywords)
        return cls(*arguments, **keywords)

    def enumerating(self) -> type:
        """The metaclass of a program's enumerations: what they make is the program's, too."""
        if self._enums is None:
            guards, host = self, type(enum.Enum)

            def __new__(metacls: Any, name: Any, bases: Any, space: Any, /, **keywords: Any) -> Any:
                data_memory.settle(space)
                made = host.__new__(metacls, name, bases, space, **keywords)
                guards.adopt(made)
                return made

            body = {"__new__": __new__, "__module__": "enum", "__qualname__": host.__qualname__}
            self._enums = type(host.__name__, (host,), body)
        return self._enums

    def plain_bases(self, bases: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """The classes that bases and a metaclass stand for, as a class statement needs them."""
        if "metaclass" in keywords:
            keywords["metaclass"] = plain_type(keywords["metaclass"])
        if not self.hardens:
            return bases
        plain = plain_bases(bases)
        metaclass = keywords.get("metaclass", type)
        if metaclass in (type, type(enum.Enum)):
            if any(type(one) is type(enum.Enum) for one in plain):
                keywords["metaclass"] = self.enumerating()
        elif not isinstance(metaclass, type):
            keywords["metaclass"] = _Making(metaclass, self)
        elif self.is_own_class(metaclass) and not self.is_adopted(metaclass):
            raise AttributeRefusedError(
                f"Cannot use {metaclass.__name__!r} as a metaclass while it is being made"
            )
        # Where another base resolves them, it is given the stand-ins, which resolve themselves.
        return plain if all(isinstance(one, type) for one in plain) else bases

    def hold_bases(self, made: type) -> None:
        """Let a metaclass of the program's see its classes' bases as a program may hold them."""
        if not issubclass(made, type):
            return
        for name in ("__new__", "__init__", "__prepare__"):
            found = real_namespace(made).get(name)
            function = getattr(found, "__func__", found)
            if isinstance(function, types.FunctionType):
                given = self._given_held(function)
                kind: Any = type(found)
                type.__setattr__(made, name, given if kind is types.FunctionType else kind(given))

    def _given_held(self, function: Any) -> Any:
        def call(*arguments: Any, **keywords: Any) -> Any:
            given = [self.held(one) if type(one) is tuple else one for one in arguments]
            return function(*given, **keywords)

        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            setattr(call, name, getattr(function, name))
        return call


class _Making:
    """A metaclass that is a function or an object of the program's."""

    def __init__(self, make: Any, guards: HeldClasses) -> None:
        self._make, self._guards = make, guards
        if hasattr(make, "__prepare__"):
            self.__prepare__ = lambda name, bases, /, **keywords: make.__prepare__(
                name, guards.held(bases), **keywords
            )

    def __call__(self, name: str, bases: Any, space: Any, /, **keywords: Any) -> Any:
        return self._make(name, self._guards.held(bases), space, **keywords)


def _settled_name(one: Any) -> Any:
    """A member's name, or its name and value, that cannot be another later."""
    if isinstance(one, str):
        return str.__str__(one)
    name, value = one
    if not isinstance(name, str):
        raise AttributeRefusedError(f"Cannot name a member of an enumeration {name!r}")
    return str.__str__(name), value
