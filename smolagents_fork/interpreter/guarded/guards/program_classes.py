"""The registry of classes and functions that programs of one interpreter have made.

A function is recognised by its code object, which the interpreter made for the program.

A class is recognised by the string in its ``__module__``. Python takes it from the ``__name__`` of
the globals in which the class is made, and those of a program have a string object of their own,
equal to what any other module's would be. So host metaclasses, decorators and compilers handle the
program's classes directly, and see nothing of the interpreter. Nothing is inferred from names or
bases. An entry is removed with its class, so that no other class can get its identity.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from typing import Any

__all__ = ["ProgramClasses", "real_namespace"]

#: The namespace of a class, which a metaclass cannot misreport.
real_namespace: Callable[[type], types.MappingProxyType[str, Any]] = type.__dict__[
    "__dict__"
].__get__


class _Identities(set[int]):
    """A set that code objects may have as a constant: they are hashed with what they have."""

    __hash__ = object.__hash__  # type: ignore[assignment]


class ProgramClasses:
    """The classes and functions that one interpreter's programs have made."""

    def __init__(self) -> None:
        #: Value of ``__name__`` in the globals of programs: an object of its own.
        self.module = str(b"__main__", "ascii")
        self._modules = {id(self.module): self.module}
        #: Identities of registered classes, for tests in compiled code.
        self.identities = _Identities()
        self._references: dict[int, weakref.ref[type]] = {}
        #: Code objects of the programs, by identity.
        self._codes: weakref.WeakValueDictionary[int, types.CodeType] = (
            weakref.WeakValueDictionary()
        )

    def __contains__(self, cls: Any) -> bool:
        return id(cls) in self.identities or self._recognize(cls)

    def owns(self, value: Any) -> bool:
        """Tell whether ``value`` is a registered class or function, or an instance of a class."""
        if type(value) is types.FunctionType:
            return id(value.__code__) in self._codes
        return id(type(value)) in self.identities or type(value) in self or value in self

    def adopt(self, other: ProgramClasses) -> None:
        """Take what programs of ``other`` made for what those of this interpreter make."""
        for reference in list(other._references.values()):
            if (cls := reference()) is not None:
                self.register(cls)
        self._modules.update(other._modules)
        self._codes.update(other._codes)

    def register_code(self, code: types.CodeType) -> None:
        """Enter the code of a program or of a function in it."""
        self._codes[id(code)] = code

    def register(self, cls: type) -> None:
        """Enter a class that was made for the program."""
        identity = id(cls)
        identities, references = self.identities, self._references

        def remove(_reference: object) -> None:
            identities.discard(identity)
            references.pop(identity, None)

        references[identity] = weakref.ref(cls, remove)
        identities.add(identity)

    def _recognize(self, cls: Any) -> bool:
        """Register ``cls`` if it was made in a program's globals, or by a registered metaclass."""
        if not issubclass(type(cls), type):
            return False
        module = real_namespace(cls).get("__module__")
        if id(module) not in self._modules and (type(cls) is type or type(cls) not in self):
            return False
        self.register(cls)
        return True
