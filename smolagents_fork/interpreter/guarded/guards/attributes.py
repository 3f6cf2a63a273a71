"""The attribute guard: reading, writing, deleting and calling by name.

Each operation is one call that reads once and returns the final value, or raises
:class:`AttributeRefusedError`, which a program may catch as it may catch any error. Names that a
program gives are exact strings before anything is done with them.
"""

from __future__ import annotations

import operator
import sys
import types
from collections.abc import Callable
from typing import Any

from ....errors import AttributeRefusedError, ProgramRefusedError
from .. import policy
from .program_classes import ProgramClasses, real_namespace
from .views import ModuleViews

__all__ = ["AttributeGuard", "exact_name"]

_MISSING: Any = object()
#: Types that are never handed out, whatever attribute they were found under.
_NEVER = (types.FrameType, types.CodeType, types.TracebackType)
#: The object, or class, that a ``super()`` reads from.
_OF_SUPER = super.__dict__["__self__"].__get__
_WHAT = {"__subclasses__": "call to dunder function"}
_NOT_BY_GETATTR = ". Forbidden function evaluation: 'getattr' may not reach it either"
#: What to do instead of reading a name.
_ADVICE = {"__dict__": "; use vars(x), or dir(x)"} | dict.fromkeys(
    ("__mro__", "__bases__", "__base__", "__subclasses__"), ", except on classes of your own"
)
#: Types of which nothing needs a second look when an attribute is one.
_ORDINARY = frozenset(
    {
        *(bool, bytes, dict, float, int, list, set, str, tuple, type(None)),
        *(types.BuiltinFunctionType, types.FunctionType, types.MethodType),
    }
)


def is_a(value: Any, kinds: Any) -> bool:
    """Do what ``isinstance`` does, without asking the object for its ``__class__``.

    A program's ``__getattribute__`` would answer, and ask the guard again.
    """
    return issubclass(type(value), kinds)


def exact_name(name: Any) -> str:
    """Give the name of an attribute as C code reads it.

    Raises:
        TypeError: it is not a string.
    """
    if not isinstance(name, str):
        raise TypeError("attribute name must be string, not " + repr(type(name).__name__))
    return str.__str__(name)


class AttributeGuard:
    """The attribute guard of one interpreter.

    Args:
        classes: the registry of the program's classes.
        views: what a program may see of modules.
        extra_dunders: dunder attributes allowed on top of policy.
    """

    def __init__(
        self,
        classes: ProgramClasses,
        views: ModuleViews,
        extra_dunders: frozenset[str],
    ) -> None:
        self._classes = classes
        self._views = views
        self._allowed = policy.ALLOWED_DUNDERS | policy.ALLOWED_UNDERSCORE | extra_dunders

    # -- whose --

    def owns(self, value: Any) -> bool:
        """Tell whether a class, a function or an instance is the program's."""
        if type(value) is super:
            value = _OF_SUPER(value)
        return self._classes.owns(value)

    def check(self, value: Any) -> Any:
        """Give ``value`` as a program may have it."""
        if type(value) in _ORDINARY:
            return value
        if is_a(value, _NEVER):
            raise AttributeRefusedError(f"Forbidden access to {type(value).__name__} object")
        if is_a(value, types.ModuleType) and not self._views.is_view(value):
            return self._views.view(value)
        return value

    # -- reading --

    def read(self, value: Any, name: Any, default: Any = _MISSING, /) -> Any:
        """Read the attribute ``name`` of ``value`` as a program may see it."""
        name = exact_name(name)
        if is_a(value, types.ModuleType) and not policy.is_dunder(name):
            view = self.check(value)  # says what is refused and why
            if default is _MISSING:
                return self.check(getattr(view, name))
            return self.check(getattr(view, name, default))
        try:
            attribute = getattr(value, name)
        except AttributeError:
            if default is not _MISSING:
                return default
            if policy.is_plain(name) or self._is_open(value, name):
                raise
            attribute = None  # refused whether it is there or not
        return self._judge(value, name, attribute)

    def _is_open(self, value: Any, name: str) -> bool:
        """Tell whether a name that is not plain may be read of ``value``."""
        if name in self._allowed:
            return True
        guarded = not policy.is_dunder(name) or name in policy.GUARDED_DUNDERS
        function = value.__func__ if is_a(value, types.MethodType) else value
        return guarded and self.owns(function)

    def _judge(self, value: Any, name: str, attribute: Any) -> Any:
        """Give what was found under a name as a program may have it, or refuse it."""
        if name in policy.BY_NAME_DUNDERS:  # of own functions, too, which have namespaces
            return self._by_name(name, attribute)
        if policy.is_plain(name) or self._is_open(value, name):
            return self.check(attribute)
        if name in policy.GUARDED_DUNDERS and self.owns(attribute):
            return attribute
        if not policy.is_dunder(name):
            raise AttributeRefusedError(
                f"Forbidden access to attribute: {name} of {type(value).__name__!r} object: it is "
                "private to the object's own library, or leads to a frame"
            )
        what = _WHAT.get(name, "access to dunder attribute")
        raise AttributeRefusedError(f"Forbidden {what}: {name}{_ADVICE.get(name, _NOT_BY_GETATTR)}")

    def _by_name(self, name: str, method: Any) -> Any:
        """Guard ``object.__setattr__``, ``super().__getattribute__`` and their like."""
        bound = [method.__self__] if hasattr(method, "__self__") else []

        def call(*arguments: Any) -> Any:
            operands = (*bound, *arguments)
            if len(operands) < 2:
                return method(*arguments)  # says what is missing
            if name in ("__setattr__", "__delattr__"):
                self.writable(operands[0], exact_name(operands[1]))
                return method(*arguments)
            return self._judge(operands[0], exact_name(operands[1]), method(*arguments))

        return call

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
            noun = "class" if is_a(value, type) else "function"
            raise AttributeRefusedError(
                f"Cannot assign to {name!r} of {noun} {value.__name__!r}: only what the program "
                "itself defines may be changed"
            )
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

    def hasattr_(self, obj: Any, name: str, /) -> bool:
        """Stand for ``hasattr``."""
        try:
            self.read(obj, name)
        except (AttributeError, ProgramRefusedError):
            return False
        return True

    def setattr_(self, obj: Any, name: str, value: Any, /) -> None:
        """Stand for ``setattr``."""
        name = self._written_name(name)
        setattr(self.writable(obj, name), name, value)

    def delattr_(self, obj: Any, name: str, /) -> None:
        """Stand for ``delattr``."""
        name = self._written_name(name)
        delattr(self.writable(obj, name), name)

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
            return real_namespace(value)
        if self.owns(value):
            return vars(value)
        shown = {k: self.check(v) for k, v in vars(value).items() if str(k)[:1] != "_"}
        return types.MappingProxyType(shown)

    def dir_(self, *arguments: Any) -> list[str]:
        """Stand for ``dir``."""
        if arguments:
            return dir(*arguments)
        frame = sys._getframe(1)
        if frame.f_code.co_name != "<module>":
            raise ProgramRefusedError("Forbidden call to dir() without an argument in a function")
        return sorted(name for name in frame.f_globals if not name.startswith("_"))

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
