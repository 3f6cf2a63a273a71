"""The registry of classes and functions that programs of one interpreter have made.

A function is recognised by its code object, which the interpreter made for the program.

A class is recognised by a mark that nothing but the registry can tell from what Python puts there
itself: the string in ``__module__`` is a new object for each ``class`` statement, equal to the one
that it replaces. So no host's metaclass, decorator or compiler sees anything of the interpreter's,
and no frame of it stands between the program and them. Nothing is inferred from names or bases. An
entry goes when its class does, so that no other class can come to have its identity.
"""

from __future__ import annotations

import sys
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
_MODULE = "__module__"


class _Identities(set[int]):
    """A set that code objects may have as a constant: they are hashed with what they have."""

    __hash__ = object.__hash__  # type: ignore[assignment]


class ProgramClasses:
    """The classes that one interpreter's programs have made."""

    def __init__(self) -> None:
        #: Identities of registered classes, for tests in compiled code.
        self.identities = _Identities()
        self._references: dict[int, weakref.ref[type]] = {}
        #: Values of ``__module__`` that classes in the making have, by identity.
        self._marks: dict[int, str] = {}
        #: Code objects of the programs, by identity.
        self._codes: weakref.WeakValueDictionary[int, types.CodeType] = (
            weakref.WeakValueDictionary()
        )

    def __contains__(self, cls: Any) -> bool:
        return id(cls) in self.identities or self._recognize(cls)

    def __iter__(self) -> Iterator[type]:
        found = [reference() for reference in list(self._references.values())]
        return iter([cls for cls in found if cls is not None])

    def owns(self, value: Any) -> bool:
        """Tell whether ``value`` is a registered class or function, or an instance of a class."""
        if type(value) is types.FunctionType:
            return id(value.__code__) in self._codes
        return id(type(value)) in self.identities or type(value) in self or value in self

    def adopt(self, other: ProgramClasses) -> None:
        """Take what programs of ``other`` made for what those of this interpreter make."""
        for cls in other:
            self.register(cls)
        self._codes.update(other._codes)

    def register_code(self, code: types.CodeType) -> None:
        """Enter the code of a program or of a function in it."""
        self._codes[id(code)] = code

    def register(self, cls: type) -> None:
        """Enter a class that was just made for the program."""
        identity = id(cls)
        identities, references = self.identities, self._references

        def gone(_reference: object) -> None:
            identities.discard(identity)
            references.pop(identity, None)

        references[identity] = weakref.ref(cls, gone)
        identities.add(identity)

    def _recognize(self, cls: Any) -> bool:
        """Register ``cls`` if its class statement is not over, or its metaclass is registered."""
        if not issubclass(type(cls), type):
            return False
        if self._mark_of(cls) is None and (type(cls) is type or type(cls) not in self):
            return False
        self.register(cls)
        return True

    # -- class statements, as rewritten --

    def mark_namespace(self, namespace: Any) -> None:
        """Mark the class of a statement whose body has run, by its namespace.

        A namespace that is not a ``dict`` stays as it is: only a metaclass of the program's makes a
        class from one, by which that is recognised.
        """
        module = dict.get(namespace, _MODULE) if isinstance(namespace, dict) else None
        if type(module) is str:
            mark = (module + "_")[:-1]  # another object, except for a single letter
            self._marks[id(mark)] = mark
            # Past __setitem__ of the program's or a library's own dict, which would see it.
            dict.__setitem__(namespace, _MODULE, mark)

    def note_class(self, value: Any) -> Any:
        """Register what a class statement has made: its innermost decorator."""
        self.__contains__(value)
        return value

    def finish_class(self, value: Any) -> Any:
        """Register what a class statement binds, and end the statement: its outermost decorator."""
        if value in self and (mark := self._mark_of(value)) is not None:
            del self._marks[id(mark)]
        return value

    def forget_unfinished(self) -> None:
        """End the statements that made no class, or bound something else."""
        self._marks.clear()

    def _mark_of(self, cls: type) -> str | None:
        if not self._marks:
            return None
        module = real_namespace(cls).get(_MODULE)
        mark = self._marks.get(id(module))
        return mark if mark is module else None

    # -- calls that make classes --

    def make_class(self, cls: Any, /, *arguments: Any, **keywords: Any) -> Any:
        """Call ``type(name, bases, namespace)``, if ``cls`` is what ``type`` means in Python."""
        if cls is type and len(arguments) == 3 and isinstance(arguments[2], dict):
            return self.maker(type)(*arguments, **keywords)
        return cls(*arguments, **keywords)

    def maker(self, make: Any) -> Any:
        """Wrap ``type`` or ``type.__new__``: what it makes is registered."""
        skipped = 0 if make is type else 1

        def making(*arguments: Any, **keywords: Any) -> Any:
            given = arguments[skipped:]
            if len(given) != 3 or not isinstance(given[2], dict):
                return make(*arguments, **keywords)
            # It copies what it is given; a mapping of the program's may not tell every key.
            namespace = dict(given[2])
            caller: Any = sys._getframe(1)
            while caller.f_globals is globals():
                caller = caller.f_back
            namespace.setdefault(_MODULE, caller.f_globals.get("__name__", "__main__"))
            self.mark_namespace(namespace)
            return self.finish_class(make(*arguments[:-1], namespace, **keywords))

        making.__name__ = "__new__"
        return making
