"""The registry of classes that programs of one interpreter have made.

A class is registered when ``type.__new__`` makes it, by an object in its namespace whose
``__set_name__`` Python calls with the new class: what is registered was made there and then.
Nothing is inferred from names, modules or bases. An entry goes when its class does, so that no
other class can come to have its identity.
"""

from __future__ import annotations

import builtins
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["ProgramClasses", "real_mro", "real_namespace"]

#: The namespace of a class, which a metaclass cannot misreport.
real_namespace: Callable[[type], types.MappingProxyType[str, Any]] = type.__dict__[
    "__dict__"
].__get__
#: The classes it looks in, which ``mro()`` of a metaclass may give otherwise.
real_mro: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
#: The key of a registrar in a namespace.
_KEY = "@registrar"


class _Registrar:
    """Registers the class in whose namespace it is when Python makes that class.

    It has ``__get__``, so that :mod:`enum` takes it for a descriptor and not for a member.
    """

    __slots__ = ("_register",)

    def __init__(self, register: Callable[[type], None]) -> None:
        self._register = register

    def __get__(self, _instance: object, _owner: type | None = None) -> _Registrar:
        return self

    def __set_name__(self, owner: type, name: str) -> None:
        self.claim(owner)

    def claim(self, owner: Any) -> None:
        """Register ``owner`` if this registrar is in its own namespace, and leave that."""
        if isinstance(owner, type) and real_namespace(owner).get(_KEY) is self:
            type.__delattr__(owner, _KEY)
            self._register(owner)


def _with_registrar(namespace: Any, registrar: _Registrar) -> Any:
    """Put a registrar into a class's namespace: first, for ``__set_name__`` comes in order."""
    if type(namespace) is dict:
        return {_KEY: registrar, **namespace}
    if isinstance(namespace, dict):
        # Such as that of an enumeration, which remembers its members beside its items.
        items = list(dict.items(namespace))
        dict.clear(namespace)
        dict.__setitem__(namespace, _KEY, registrar)
        dict.update(namespace, items)
    return namespace


class _Metaclass:
    """A metaclass as ``__build_class__`` calls it: puts a registrar into the namespace."""

    def __init__(self, metaclass: type, registrar: _Registrar) -> None:
        self._metaclass = metaclass
        self._registrar = registrar

    @property
    def __prepare__(self) -> Any:
        return self._metaclass.__prepare__

    def __call__(
        self, name: str, bases: tuple[Any, ...], namespace: Any, /, **keywords: Any
    ) -> Any:
        namespace = _with_registrar(namespace, self._registrar)
        made = self._metaclass(name, bases, namespace, **keywords)
        # A metaclass may copy the namespace after the class is made: that of typing.NamedTuple.
        self._registrar.claim(made)
        return made


class ProgramClasses:
    """The classes that one interpreter's programs have made.

    Args:
        module_name: gives the ``__module__`` of classes that a call of ``type`` makes.
    """

    def __init__(self, module_name: Callable[[], str]) -> None:
        self._module_name = module_name
        #: Identities of registered classes, for tests in compiled code.
        self.identities: set[int] = set()
        self._references: dict[int, weakref.ref[type]] = {}

    def __contains__(self, cls: Any) -> bool:
        return id(cls) in self.identities

    def __iter__(self) -> Iterator[type]:
        found = [reference() for reference in list(self._references.values())]
        return iter([cls for cls in found if cls is not None])

    def owns(self, value: Any) -> bool:
        """Tell whether ``value`` is a registered class or an instance of one."""
        return id(type(value)) in self.identities or id(value) in self.identities

    def register(self, cls: type) -> None:
        """Enter a class that was just made for the program."""
        identity = id(cls)
        identities, references = self.identities, self._references

        def gone(_reference: object) -> None:
            identities.discard(identity)
            references.pop(identity, None)

        references[identity] = weakref.ref(cls, gone)
        identities.add(identity)
        if issubclass(cls, type) and "__new__" not in real_namespace(cls):
            # What a metaclass of the program's makes is registered, too.
            type.__setattr__(cls, "__new__", staticmethod(self.maker(cls.__new__)))

    def build_class(self, function: Any, name: str, /, *bases: Any, **keywords: Any) -> Any:
        """Carry out a ``class`` statement, and register the class."""
        metaclass = self._metaclass_of(bases, keywords)
        if metaclass is None:
            return builtins.__build_class__(function, name, *bases, **keywords)
        keywords["metaclass"] = _Metaclass(metaclass, _Registrar(self.register))
        return builtins.__build_class__(function, name, *bases, **keywords)

    def _metaclass_of(self, bases: tuple[Any, ...], keywords: dict[str, Any]) -> type | None:
        """Find the host's metaclass that will make a class.

        ``None``: Python finds it by itself, because it is the program's, a function, or an error.
        """
        resolved = types.resolve_bases(bases)
        first = type(resolved[0]) if resolved else type
        winner: Any = keywords.get("metaclass", first)
        if not isinstance(winner, type):
            return None
        for base in resolved:
            kind = type(base)
            if issubclass(winner, kind):
                continue
            if not issubclass(kind, winner):
                return None  # a conflict: Python says so
            winner = kind
        program_made = any(id(one) in self.identities for one in real_mro(winner))
        return None if program_made or not issubclass(winner, type) else winner

    def make_class(self, cls: Any, /, *arguments: Any, **keywords: Any) -> Any:
        """Call ``type(name, bases, namespace)``, if ``cls`` is what ``type`` means in Python."""
        if cls is type and len(arguments) == 3 and isinstance(arguments[2], dict):
            return self.maker(type)(*arguments, **keywords)
        return cls(*arguments, **keywords)

    def maker(self, make: Any) -> Any:
        """Wrap ``type`` or its ``__new__``: what it makes is registered."""
        skipped = 0 if isinstance(make, type) else 1

        def making(*arguments: Any, **keywords: Any) -> Any:
            given = arguments[skipped:]
            if len(given) != 3 or not isinstance(given[2], dict):
                return make(*arguments, **keywords)
            name, bases, namespace = given
            registrar = _Registrar(self.register)
            if make is type or getattr(make, "__self__", None) is type:
                # It copies what it is given; a mapping of the program's may not tell every key.
                namespace = dict(namespace)
                namespace.setdefault("__module__", self._module_name())
            namespace = _with_registrar(namespace, registrar)
            made = make(*arguments[:skipped], name, bases, namespace, **keywords)
            registrar.claim(made)
            return made

        making.__name__ = "__new__"
        return making

    def is_class_maker(self, found: Any) -> bool:
        """Tell whether a ``__new__`` makes classes: that of ``type``, or of a host's metaclass."""
        owner = getattr(found, "__self__", None)
        if isinstance(owner, type):
            return issubclass(owner, type)
        if not isinstance(found, types.FunctionType):
            return False
        holder: Any = found.__globals__.get(found.__qualname__.rpartition(".")[0])
        return isinstance(holder, type) and issubclass(holder, type)
