"""The attribute guard: reading, writing, deleting and calling by name.

Each operation is one call that reads once and returns the final value, or raises
:class:`AttributeRefusedError`, which a program may catch as it may catch any error. Names that a
program gives are exact strings before anything is done with them.
"""

from __future__ import annotations

import operator
import sys
import types
import typing
import unicodedata
from collections.abc import Callable
from typing import Any, Protocol

from ....errors import AttributeRefusedError, ProgramRefusedError
from .. import policy
from .program_classes import ProgramClasses, real_mro, real_namespace
from .sizes import Sizes
from .text_format import guarded_format

__all__ = ["AttributeGuard", "ModuleViews", "exact_name"]

_MISSING: Any = object()
#: Types that are never handed out, whatever attribute they were found under.
_NEVER = (types.FrameType, types.CodeType, types.TracebackType)
#: The object, or class, that a ``super()`` reads from.
_OF_SUPER = super.__dict__["__self__"].__get__
_SAID_TO_BE_MISSING = policy.GUARDED_DUNDERS - policy.OWN_DUNDERS | {"__dict__"}
#: Types that pass a write on to the class they stand for.
_FORWARDING = (types.GenericAlias, getattr(typing, "_BaseGenericAlias", types.GenericAlias))
#: Types of which nothing needs a second look when an attribute is one.
_ORDINARY = frozenset(
    {
        *(bool, bytes, dict, float, int, list, set, str, tuple, type(None)),
        *(types.BuiltinFunctionType, types.FunctionType, types.MethodType),
    }
)


class ModuleViews(Protocol):
    """Modules as the guard knows them."""

    def view(self, module: types.ModuleType) -> types.ModuleType:
        """Give what a program may see of a module, or raise."""
        ...

    def is_view(self, value: Any) -> bool:
        """Tell whether a module object is such a view."""
        ...

    def called_member(self, view: types.ModuleType, name: str) -> Any:
        """Give a view's member that is about to be called."""
        ...


def is_a(value: Any, kinds: Any) -> bool:
    """Do what ``isinstance`` does, without asking the object for its ``__class__``.

    A program's ``__getattribute__`` would answer, and ask the guard again.
    """
    return issubclass(type(value), kinds)


def exact_name(name: Any) -> str:
    """Give the name of an attribute as the parser would read it.

    Raises:
        TypeError: it is not a string.
    """
    if type(name) is not str:
        if not isinstance(name, str):
            raise TypeError("attribute name must be string, not " + repr(type(name).__name__))
        name = str.__str__(name)
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


class AttributeGuard:
    """The attribute guard of one interpreter.

    Args:
        classes: the registry of the program's classes.
        sizes: checks estimates of sized methods.
        views: what a program may see of modules.
        extra_dunders: dunder attributes allowed on top of policy.
    """

    def __init__(
        self,
        classes: ProgramClasses,
        sizes: Sizes,
        views: ModuleViews,
        extra_dunders: frozenset[str],
    ) -> None:
        self._classes = classes
        self._sizes = sizes
        self._views = views
        self._allowed = policy.ALLOWED_DUNDERS | extra_dunders

    # -- whose --

    def owns(self, value: Any) -> bool:
        """Tell whether a class, a function or an instance is the program's."""
        if type(value) is super:
            value = _OF_SUPER(value)
        return self._classes.owns(value)

    def vet(self, value: Any) -> Any:
        """Give ``value`` as a program may have it."""
        if type(value) in _ORDINARY:
            return value
        if is_a(value, _NEVER):
            raise AttributeRefusedError(f"Forbidden access to {type(value).__name__} object")
        if is_a(value, types.ModuleType) and not self._views.is_view(value):
            return self._views.view(value)
        return value

    # -- reading --

    def read(self, value: Any, name: Any, default: Any = _MISSING, *_: Any) -> Any:
        """Read the attribute ``name`` of ``value`` as a program may see it."""
        name = exact_name(name)
        if policy.is_plain(name):
            found = getattr(value, name) if default is _MISSING else getattr(value, name, default)
            return found if type(found) in _ORDINARY else self.vet(found)
        if name[:1] == "_":
            if policy.is_dunder(name):
                return self._read_dunder(value, name, default)
            return self._read_private(value, name, default)
        if name in policy.SIZED_METHODS:
            found = self._sizes.method(value, name) if default is _MISSING else None
            return found if found is not None else self._default(value, name, default)
        if name in policy.GUARDED_ATTRIBUTES:
            return self._read_guarded(value, name, default)
        return self.vet(self._default(value, name, default))

    @staticmethod
    def _default(value: Any, name: str, default: Any) -> Any:
        return getattr(value, name) if default is _MISSING else getattr(value, name, default)

    def _read_private(self, value: Any, name: str, default: Any) -> Any:
        """Read an attribute that begins with an underscore: of what the program made."""
        if self.owns(value) or name in policy.ALLOWED_UNDERSCORE:
            return self.vet(self._default(value, name, default))
        if is_a(value, types.ModuleType):
            # A view says what is refused and why.
            return self._default(self.vet(value), name, default)
        found = getattr(value, name, _MISSING)
        if found is _MISSING:
            return self._default(value, name, default)  # says so in CPython's words
        raise AttributeRefusedError(
            f"Forbidden access to attribute: {name} of {type(value).__name__!r} object: names that "
            "begin with an underscore are private to the object's own library"
        )

    def _read_dunder(self, value: Any, name: str, default: Any) -> Any:
        try:
            found = self._default(value, name, default)
        except AttributeError:
            if name in self._allowed or name in _SAID_TO_BE_MISSING:
                raise
            found = None  # refused whether it is there or not
        return found if found is default else self._judged(value, name, found)

    def _judged(self, value: Any, name: str, found: Any) -> Any:
        """Give what was found under a dunder name as a program may have it, or refuse it."""
        if name in self._allowed:
            return self.vet(found)
        if name in policy.OWN_DUNDERS:
            return self._own(value, name, found)
        if name in policy.BY_NAME_DUNDERS:
            return self._by_name(found, name)
        if name in ("__self__", "__func__"):
            if is_a(value, types.MethodType) and not self.owns(value.__func__):
                # What a host's method is bound to leads to the host's parts.
                raise AttributeRefusedError(f"Forbidden access to dunder attribute: {name}")
            return self.vet(found)
        if name in policy.GUARDED_DUNDERS and (self.owns(value) or self.owns(found)):
            return found
        raise AttributeRefusedError(
            f"Forbidden access to dunder attribute: {name}. "
            "Forbidden function evaluation: 'getattr' may not reach it either"
        )

    def _own(self, value: Any, name: str, found: Any) -> Any:
        """Give the namespace of an object, or the family of a class: the program's only."""
        if name == "__dict__":
            if not self.owns(value):
                raise AttributeRefusedError(
                    "Forbidden access to dunder attribute: __dict__; use vars(x), or dir(x)"
                )
            if is_a(value, type):
                return dict(self.vars_(value))
            return self.vars_(value) if type(value) is types.FunctionType else found
        if is_a(value, type) and self.owns(value):
            return found
        what = (
            "call to dunder function" if name == "__subclasses__" else "access to dunder attribute"
        )
        raise AttributeRefusedError(f"Forbidden {what}: {name}, but of classes of your own")

    def _by_name(self, found: Any, name: str) -> Any:
        """Guard ``object.__setattr__``, ``super().__getattribute__`` and their like."""
        if name == "__new__":
            return self._classes.maker(found) if found is type.__new__ else found
        function = found.__func__ if is_a(found, types.MethodType) else found
        if self._classes.owns(function):
            return found
        bound = getattr(found, "__self__", None)
        static = bound is None

        def call(*arguments: Any) -> Any:
            operands = arguments if static else (bound, *arguments)
            if len(operands) < 2:
                return found(*arguments)  # says what is missing
            target, given = operands[0], exact_name(operands[1])
            if name in ("__setattr__", "__delattr__"):
                target = self.writable(target, given)
                rest = (given, *operands[2:])
                return found(target, *rest) if static else found(*rest)
            if not policy.is_plain(given) and not self.owns(target):
                return self.read(target, given)
            got = found(target, given) if static else found(given)
            return self._judged(target, given, got) if policy.is_dunder(given) else self.vet(got)

        return call

    def _read_guarded(self, value: Any, name: str, default: Any) -> Any:
        if name in ("format", "format_map"):
            text = is_a(value, str) or (is_a(value, type) and issubclass(value, str))
            if text and self._is_of_str(value, name):
                return guarded_format(value, name, self.read)
            return self.vet(self._default(value, name, default))
        if name == "obj" or self.owns(value) or is_a(value, types.ModuleType):
            return self.vet(self._default(value, name, default))
        if getattr(value, name, _MISSING) is _MISSING:
            return self._default(value, name, default)
        raise AttributeRefusedError(
            f"Forbidden access to attribute: {name} of {type(value).__name__!r} object"
        )

    @staticmethod
    def _is_of_str(value: Any, name: str) -> bool:
        """Tell whether a method is that of ``str`` and not of a class of the program's."""
        for base in real_mro(value if is_a(value, type) else type(value)):
            if name in real_namespace(base):
                return base is str
        return False

    def called(self, value: Any, name: str) -> Any:
        """Read one of policy.CALLED_ONLY, about to be called."""
        if is_a(value, types.ModuleType) and self._views.is_view(value):
            return self._views.called_member(value, name)
        return self.read(value, name)

    # -- writing --

    def writable(self, value: Any, name: str, *_: Any) -> Any:
        """Give ``value`` if the program may set or delete its attribute ``name``."""
        if id(type(value)) in self._classes.identities or type(value) in self._classes:
            return value
        if is_a(value, types.ModuleType):
            raise AttributeRefusedError(
                f"Cannot assign to {name!r} of module {value.__name__!r}: modules are read-only"
            )
        if is_a(value, (type, types.FunctionType, types.MethodType)):
            target = value.__func__ if is_a(value, types.MethodType) else value
            if is_a(value, types.MethodType) or self.owns(target):
                return value  # a method refuses by itself, in CPython's words
            is_class = is_a(value, type)
            kind, plural = ("class", "classes") if is_class else ("function", "functions")
            raise AttributeRefusedError(
                f"Cannot assign to {name!r} of {kind} {value.__name__!r}: only {plural} that the "
                "program itself defines may be changed"
            )
        if is_a(value, _FORWARDING):
            raise AttributeRefusedError(f"Cannot assign to {name!r} of the type {value!r}")
        if name[:1] == "_" and name not in policy.ALLOWED_UNDERSCORE:
            if name in ("__cause__", "__context__", "__suppress_context__", "__notes__"):
                return value  # of an exception; checked by Python
            raise AttributeRefusedError(
                f"Cannot assign to {name!r} of {type(value).__name__!r} object: it belongs to the "
                "host"
            )
        return value

    def _written_name(self, name: Any) -> str:
        plain = exact_name(name)
        if policy.is_dunder(plain) and plain not in policy.WRITABLE_DUNDERS:
            raise AttributeRefusedError(f"Cannot assign to dunder attribute: {plain}")
        return plain

    # -- builtins --

    def getattr_(self, *arguments: Any) -> Any:
        """Stand for ``getattr``."""
        if not 2 <= len(arguments) <= 3:
            bound = "least 2" if len(arguments) < 2 else "most 3"
            raise TypeError(f"getattr expected at {bound} arguments, got {len(arguments)}")
        return self.read(*arguments)

    @staticmethod
    def _take(function: str, count: int, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(arguments) != count:
            raise TypeError(f"{function} expected {count} arguments, got {len(arguments)}")
        return arguments

    def hasattr_(self, *arguments: Any) -> bool:
        """Stand for ``hasattr``."""
        value, name = self._take("hasattr", 2, arguments)
        try:
            self.read(value, name)
        except (AttributeError, ProgramRefusedError):
            return False
        return True

    def setattr_(self, *arguments: Any) -> None:
        """Stand for ``setattr``."""
        value, name, new = self._take("setattr", 3, arguments)
        name = self._written_name(name)
        setattr(self.writable(value, name), name, new)

    def delattr_(self, *arguments: Any) -> None:
        """Stand for ``delattr``."""
        value, name = self._take("delattr", 2, arguments)
        name = self._written_name(name)
        delattr(self.writable(value, name), name)

    def vars_(self, *arguments: Any) -> Any:
        """Stand for ``vars``: the real namespace of own objects, a view of others'."""
        if not arguments:
            raise ProgramRefusedError(
                "Forbidden call to vars() without an argument: use plain variables"
            )
        value = arguments[0]
        if is_a(value, types.ModuleType):
            raise ProgramRefusedError("Forbidden call to vars() of a module: use its attributes")
        if is_a(value, type):
            if value not in self._classes:
                raise ProgramRefusedError(f"Forbidden call to vars() of class {value.__name__!r}")
            shown = {k: v for k, v in real_namespace(value).items() if k != "__source__"}
        elif self.owns(value):
            if type(value) is types.FunctionType:
                vars(value).pop("__source__", None)  # the program may write into it from now on
            return vars(value)
        else:
            shown = {k: self.vet(v) for k, v in vars(value).items() if str(k)[:1] != "_"}
        # Of a copy: Python hands the dict behind a view to what the view is compared with.
        return types.MappingProxyType(shown)

    def dir_(self, *arguments: Any) -> list[str]:
        """Stand for ``dir``."""
        if not arguments:
            names = sys._getframe(1).f_globals
            return sorted(name for name in names if not name.startswith(("_", "@")))
        return dir(*arguments)

    # -- parts of augmented assignments --

    def attribute_part(
        self, apply: Callable[[Any, Any], Any], holder: Any, name: str
    ) -> Callable[[Any], None]:
        """Read ``holder.name`` now, to be written when the right side is known."""
        name = self._written_name(name)
        current = self.read(holder, name)
        return lambda value: setattr(self.writable(holder, name), name, apply(current, value))

    @staticmethod
    def item_part(apply: Callable[[Any, Any], Any], holder: Any, key: Any) -> Callable[[Any], None]:
        """Read ``holder[key]`` now, to be written when the right side is known."""
        current = holder[key]
        return lambda value: operator.setitem(holder, key, apply(current, value))
