"""Which classes, functions and objects are the program's own, to do with as it likes.

Part of the boundary: guards.py decides by what is found here.
"""

from __future__ import annotations

import builtins
import types
import typing
from typing import Any

from ..errors import AttributeRefusedError
from . import data_memory, data_random, formats, policy
from .build import words
from .families import real_mro
from .families import real_namespace as _NAMESPACE
from .shared_keys import keep_identity
from .sized_types import plain_type

__all__ = ["FUNCTIONS", "GUARDS_ITS_BASES", "Ownership", "is_dunder", "plain_bases", "real_mro"]

FUNCTIONS = (types.FunctionType, types.LambdaType)
#: Classes whose own single-underscore attributes hold nothing dangerous, so that the program's
#: subclasses of them count as entirely its own.
_PLAIN_MODULES = frozenset(
    words(
        "builtins collections abc numbers fractions decimal datetime "
        "collections.abc _collections_abc json.encoder json.decoder random "
    )
)
#: The same of typing's, whose other classes pass reads and writes on to what they stand for.
_PLAIN_CLASSES = frozenset({typing.Generic, typing.Protocol, typing.NamedTuple})


#: Modules whose classes hold nothing that a program could not reach by their names.
_OPEN_MODULES = frozenset(words("builtins abc typing enum collections datetime decimal fractions"))


#: Marks a class that holds a limit which its bases do not.
GUARDS_ITS_BASES = "@guards"
#: Built-in classes that answer for others.
_FORWARDING = frozenset({type, super, property, classmethod, staticmethod})


def is_dunder(name: str) -> bool:
    """Whether a name is one of Python's own."""
    return name.startswith("__") and name.endswith("__")


def _makes_classes(make: Any) -> bool:
    """Whether a ``__new__`` is that of a metaclass written in Python, such as ``EnumType``."""
    name = getattr(make, "__qualname__", "").rpartition(".")[0]
    owner = getattr(make, "__globals__", {}).get(name)
    return isinstance(owner, type) and issubclass(owner, type)


def plain_bases(bases: tuple[Any, ...]) -> tuple[Any, ...]:
    """Classes in place of their stand-ins, each one that a program may derive from."""
    return tuple(data_random.check_base(plain_type(one)) for one in bases)


def _with_plain_bases(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments of a metaclass, with classes in place of their stand-ins."""
    return tuple(plain_bases(a) if type(a) is tuple else a for a in arguments)


class Ownership:
    """The classes one interpreter's programs have made."""

    def __init__(self) -> None:
        #: Classes entirely the program's own, and those that derive from classes of the host.
        #: By identity: a metaclass of the program's may say that its classes equal the host's.
        self.own: dict[int, type] = {}
        self.derived: dict[int, type] = {}
        self.building = 0
        #: Whether a library may be authorised that takes an object's word for a memory address.
        self.hardens = False
        self.globals: dict[str, Any] = {}
        self.sizes: Any = None

    def build_class(self, function: Any, name: str, /, *bases: Any, **keywords: Any) -> Any:
        """``class``: make it, and remember it as the program's own."""
        bases = self.plain_bases(bases, keywords)
        self.building += 1
        try:
            made = builtins.__build_class__(function, name, *bases, **keywords)
        finally:
            self.building -= 1
        self.adopt(made)
        return made

    def make_class(self, cls: Any, /, *arguments: Any, **keywords: Any) -> Any:
        """``type(name, bases, namespace)``, if ``cls`` is what ``type`` means in Python."""
        if cls is not type:
            return cls(*arguments, **keywords)
        if len(arguments) == 1 and not keywords:
            return self.held(type(plain_type(arguments[0])))
        arguments = _with_plain_bases(arguments)
        if len(arguments) == 3 and isinstance(arguments[2], dict):
            namespace = dict(arguments[2])
            namespace.setdefault("__module__", self.globals.get("__name__", "__main__"))
            data_memory.settle(namespace)
            made = type(arguments[0], arguments[1], namespace, **keywords)
            self.adopt(made)
            return made
        return self.held(type(*map(plain_type, arguments), **keywords))

    def held(self, value: Any) -> Any:
        """``value`` as a program may hold it; see held_classes."""
        raise NotImplementedError

    def hold_bases(self, made: type) -> None:
        """Give a metaclass of the program's stand-ins for bases; see held_classes."""
        raise NotImplementedError

    def plain_bases(self, bases: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """The classes that ``bases`` stand for; see held_classes."""
        raise NotImplementedError

    def adopt(self, made: Any) -> None:
        """Count a class the program made as its own."""
        if not isinstance(made, type):
            return
        if self.hardens:
            data_memory.harden(made, self)
            self.hold_bases(made)
            if issubclass(made, type) and "__new__" not in _NAMESPACE(made):
                # M(name, bases, namespace) makes a class as a class statement does.
                type.__setattr__(made, "__new__", staticmethod(self.maker(made.__new__)))
        for base in real_mro(made)[1:]:
            if id(base) in self.own or base in _PLAIN_CLASSES:
                continue
            if base.__module__ not in _PLAIN_MODULES or base in _FORWARDING:
                self.derived[id(made)] = made
                break
        else:
            self.own[id(made)] = made
        if issubclass(made, type):
            keep_identity(made, self.is_own_class)

    def constructed(self, cls: Any, /, *arguments: Any, **keywords: Any) -> Any:
        """``type(x)(...)``: a class the program has not named itself."""
        if isinstance(cls, type):
            if issubclass(cls, type):
                return self.maker(cls)(*arguments, **keywords)
            if data_memory.takes_buffer(cls.__new__):
                check = self.sizes.check_items
                return data_memory.constructed(cls, check)(*arguments, **keywords)
            if (stand_in := self.held(cls)) is not cls:
                return stand_in(*arguments, **keywords)
        return cls(*arguments, **keywords)

    def maker(self, make: Any) -> Any:
        """``__new__`` of a class, or a metaclass: what it makes is the program's own class."""
        if data_memory.takes_buffer(make):
            return data_memory.constructed(make, self.sizes.check_items)
        metaclass = make if isinstance(make, type) else getattr(make, "__self__", None)
        of_type = isinstance(metaclass, type) and issubclass(metaclass, type)

        def making(*arguments: Any, **keywords: Any) -> Any:
            for one in arguments[-1:]:
                if isinstance(one, dict) and len(arguments) > 1:
                    data_memory.settle(one)
            made = make(*_with_plain_bases(arguments), **keywords)
            if isinstance(made, type) and len(arguments) > 1:
                self.adopt(made)
            return made

        return making if of_type or _makes_classes(make) else make

    def is_adopted(self, cls: type) -> bool:
        """Whether a class of the program's is made to the end."""
        return id(cls) in self.own or id(cls) in self.derived

    def is_own_class(self, cls: type) -> bool:
        if self.is_adopted(cls):
            return True
        if any(id(base) in self.own or id(base) in self.derived for base in real_mro(cls)):
            return True  # made by __init_subclass__, dataclass(slots=True) and the like
        if self.building and cls.__module__ == self.globals.get("__name__"):
            return cls.__flags__ & (1 << 9) != 0  # Py_TPFLAGS_HEAPTYPE
        return False

    def is_open_class(self, cls: Any) -> bool:
        """Whether a class is the program's own or one that any program may name."""
        if not isinstance(cls, type):
            return False
        return self.is_own_class(cls) or cls.__module__ in _OPEN_MODULES

    def is_own_member(self, value: Any, name: str) -> bool:
        """Whether an attribute of an own object is the program's own, too.

        A class of the program inherits members of the host's base classes and of its metaclass;
        these do what their library wants, such as reading a module by its name, or passing the
        name on to another object. Asks namespaces only: runs no code of the program's.
        """
        if isinstance(value, FUNCTIONS):
            return value.__globals__ is self.globals
        cls = type(value)
        if id(cls) in self.own:
            return True
        is_class = isinstance(value, type)
        if not (self.is_own_class(value) if is_class else self.is_own_class(cls)):
            return False
        if is_class and id(value) in self.own and cls is type:
            return True
        chains = [real_mro(cls)]
        if is_class:
            chains.append(real_mro(value))
        found = False
        for chain in chains:
            for one in chain:
                if name in _NAMESPACE(one):
                    if not self.is_own_class(one):
                        return False
                    found = True
                    break
        if found or (not is_class and name in self.instance_namespace(value)):
            return True
        # Only a hook could answer now: it must not be the host's.
        for hook in ("__getattribute__", "__getattr__"):
            for one in chains[0]:
                if hook in _NAMESPACE(one):
                    if one not in (object, type) and not self.is_own_class(one):
                        return False
                    break
        return True

    @staticmethod
    def instance_namespace(value: Any) -> dict[str, Any]:
        """The real ``__dict__`` of an instance, whatever its class says; ``{}`` if it has none."""
        for one in real_mro(type(value)):
            found = _NAMESPACE(one).get("__dict__")
            if type(found) is types.GetSetDescriptorType:
                held = found.__get__(value)
                return held if isinstance(held, dict) else {}
        return {}

    def visible_mro(self, cls: type) -> list[type]:
        """``cls.mro()`` without the classes that guarded ones are made of."""
        found = []
        hidden: set[int] = set()
        for one in real_mro(cls):
            if id(one) not in hidden:
                found.append(self.held(one))
            if _NAMESPACE(one).get(GUARDS_ITS_BASES):
                hidden.update(id(base) for base in real_mro(one)[1:] if base is not object)
        return found

    def match_class(self, cls: Any, positional: int, *keywords: str) -> Any:
        """A class with patterns: the attributes these read must be harmless.

        ``__match_args__`` names the positional ones; Python's own interpreter reads them all.

        Args:
            cls: the class.
            positional: how many positional patterns there are, for each of which a name is read.
            keywords: names of keyword patterns that are not harmless on every object.
        """
        cls = plain_type(cls)
        if not isinstance(cls, type):
            return cls
        for name in keywords:
            self._match_data(cls, name)
        if not positional:
            return cls
        for kind in real_mro(type(cls)):
            if id(kind) in self.own or id(kind) in self.derived:
                for name in ("__match_args__", "__getattr__", "__getattribute__"):
                    if name in _NAMESPACE(kind):
                        raise AttributeRefusedError(
                            f"Forbidden positional class pattern: the metaclass of "
                            f"{cls.__name__!r} defines {name}. Use keyword patterns"
                        )
        for base in real_mro(cls):
            names = _NAMESPACE(base).get("__match_args__", ())
            for name in names[:positional] if type(names) is tuple else ():
                if type(name) is not str:
                    continue  # Python refuses it, in its own words
                if (
                    formats.normal(name) in policy.GUARDED_ATTRIBUTES
                    # Another metaclass may let objects of the host match.
                    or (name.startswith("_") and (type(cls) is not type or id(cls) not in self.own))
                    or is_dunder(formats.normal(name))
                ):
                    raise AttributeRefusedError(f"Forbidden name in __match_args__: {name!r}")
                if formats.normal(name) in policy.DATA_ATTRIBUTES | policy.PROXY_ATTRIBUTES:
                    self._match_data(cls, name)
        return cls

    def _match_data(self, cls: type, name: str) -> None:
        """Refuse a pattern that may read ``name`` of an object of numpy's or pandas'."""
        if id(cls) not in self.own or type(cls) is not type:
            raise AttributeRefusedError(
                f"Forbidden access to attribute in a class pattern: {name}. Read it in the case's "
                "body, or match a class of the program's own"
            )

    def is_own(self, value: Any) -> bool:
        """Whether a class, a function or an instance is the program's."""
        if isinstance(value, type):
            return self.is_own_class(value)
        if isinstance(value, FUNCTIONS):
            return value.__globals__ is self.globals
        return self.is_own_class(type(value))

    def own_dunder(self, value: Any, name: str) -> Any:
        """The namespace of an own object, and the family of an own class: nothing of the host's."""
        if name == "__dict__":
            if not hasattr(value, name):
                return getattr(value, name)  # says so
            if isinstance(value, FUNCTIONS) and value.__globals__ is self.globals:
                # A library may take its word for an address of memory: no writing around setattr.
                return dict(vars(value)) if self.hardens else vars(value)
            if isinstance(value, type) and self.is_own_class(value):
                return dict(self.vars_(value))  # a copy, which leads nowhere
            if self.is_own(value):
                return self.vars_(value)
            raise AttributeRefusedError(
                "Forbidden access to dunder attribute: __dict__; use vars(x) on objects of your own"
            )
        if isinstance(value, type) and self.is_own_class(value):
            if name == "__subclasses__":
                return lambda: type.__subclasses__(value)
            found = getattr(value, name)
            if all(
                self.is_open_class(one) for one in (found if type(found) is tuple else (found,))
            ):
                return self.held(found)
        if name == "__subclasses__":
            raise AttributeRefusedError(
                "Forbidden call to dunder function: __subclasses__, but of classes of your own"
            )
        raise AttributeRefusedError(f"Forbidden access to dunder attribute: {name}")

    def vars_(self, *arguments: Any) -> Any:
        """``vars``"""
        raise NotImplementedError
