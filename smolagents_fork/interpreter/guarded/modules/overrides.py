"""The one table of overrides: members of modules that programs get in another form.

A row is here because the member takes attribute names, prints, waits, starts threads, makes classes
for the program, or makes much of little. Everything else is the library's own, shared with the host
as upstream shares it.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from .. import policy
from ..guards.attributes import AttributeGuard, exact_name
from ..guards.program_classes import ProgramClasses
from ..guards.sizes import Sizes
from ..guards.text_format import formatter_class
from .places import ProgramPlaces
from .showing import ProgramDisplays

__all__ = ["OVERRIDES", "Parts", "overrides_of"]


class Imports(Protocol):
    """Modules as the program may have them."""

    #: Stands for ``sys.modules``.
    loaded: Mapping[str, Any]

    def import_by_name(self, name: str) -> Any:
        """Import a module by its full name."""
        ...


class Parts(NamedTuple):
    """The parts of an interpreter that overrides are made of.

    Args:
        sizes: checks estimates of sizes.
        attributes: the attribute guard.
        classes: the registry of the program's classes.
        places: the program's standard streams and arguments.
        displays: takes the program's figures and displayed values.
        waiting: what waits or starts threads, by the member's name.
        imports: modules as the program may have them.
    """

    sizes: Sizes
    attributes: AttributeGuard
    classes: ProgramClasses
    places: ProgramPlaces
    displays: ProgramDisplays
    waiting: Mapping[str, Any]
    imports: Imports


#: Makes an override from the member's name and the library's own member.
_Maker = Callable[[Parts, str, Any], Any]

# -- members that take attribute names --


def _attrgetter(parts: Parts, _name: str, _real: Any) -> Any:
    read = parts.attributes.read

    def attrgetter(attr: str, /, *attrs: str) -> Callable[[Any], Any]:
        names = tuple(map(exact_name, (attr, *attrs)))
        if all(policy.is_plain(part) for name in names for part in name.split(".")):
            return operator.attrgetter(*names)

        def get(obj: Any) -> Any:
            found = tuple(functools.reduce(read, name.split("."), obj) for name in names)
            return found[0] if len(found) == 1 else found

        return get

    return attrgetter


def _methodcaller(parts: Parts, _name: str, _real: Any) -> Any:
    read = parts.attributes.read

    def methodcaller(name: str, /, *arguments: Any, **keywords: Any) -> Any:
        exact = exact_name(name)
        if policy.is_plain(exact):
            return operator.methodcaller(exact, *arguments, **keywords)
        return lambda obj: read(obj, exact)(*arguments, **keywords)

    return methodcaller


def _formatter(parts: Parts, _name: str, _real: Any) -> Any:
    return formatter_class(parts.attributes.read)


def _import_module(parts: Parts, _name: str, _real: Any) -> Any:
    return parts.imports.import_by_name


def _getframe(parts: Parts, _name: str, _real: Any) -> Any:
    class Builtins:
        def __getitem__(self, name: str) -> Any:
            return getattr(parts.imports.loaded["builtins"], name)

    class Frame:
        f_builtins = property(lambda _self: Builtins())

    parts.classes.register(Frame)  # so that the guard hands out what it has
    return lambda _depth=0: Frame()


def _modules(parts: Parts, _name: str, _real: Any) -> Any:
    return parts.imports.loaded


# -- members that print or wait --


def _place(parts: Parts, name: str, _real: Any) -> Any:
    return getattr(parts.places, name)


def _redirection(parts: Parts, name: str, _real: Any) -> Any:
    return getattr(parts.places, name.removeprefix("redirect_")).redirected


def _show(parts: Parts, _name: str, _real: Any) -> Any:
    return lambda *options, **keywords: parts.displays.show_figures(*options, **keywords)


def _display(parts: Parts, _name: str, _real: Any) -> Any:
    return lambda *values, **options: parts.displays.display(*values, **options)


def _waiting(parts: Parts, name: str, _real: Any) -> Any:
    return parts.waiting[name]


# -- members that make classes for the program --


def _registering(**defaults: Any) -> _Maker:
    def maker(parts: Parts, _name: str, real: Any) -> Any:
        def make(*arguments: Any, **keywords: Any) -> Any:
            made = real(*arguments, **{**defaults, **keywords})
            if isinstance(made, type):
                parts.classes.register(made)
            return made

        return make

    return maker


def _dataclass(parts: Parts, _name: str, real: Any) -> Any:
    def dataclass(cls: Any = None, /, **keywords: Any) -> Any:
        def decorate(one: Any) -> Any:
            parts.attributes.writable(one, "__init__")
            made = real(one, **keywords)
            if made is not one:
                parts.classes.register(made)  # with slots it is made anew
            return made

        return decorate if cls is None else decorate(cls)

    return dataclass


# -- members that make much of little --


def _operator(name: str) -> _Maker:
    return lambda parts, _name, _real: getattr(parts.sizes, name)


#: Every override: why it is one, and what makes it.
OVERRIDES: Mapping[tuple[str, str], tuple[str, _Maker]] = {
    ("operator", "attrgetter"): ("reads by name", _attrgetter),
    ("operator", "methodcaller"): ("calls by name", _methodcaller),
    ("string", "Formatter"): ("reads by name in fields", _formatter),
    ("importlib", "import_module"): ("imports by name", _import_module),
    ("sys", "_getframe"): ("frames are not handed out, but their builtins", _getframe),
    ("sys", "modules"): ("contains modules that are not authorised", _modules),
    ("sys", "argv"): ("the program's own arguments", _place),
    ("sys", "stdin"): ("the program's own stream", _place),
    ("sys", "stdout"): ("the program's own stream", _place),
    ("sys", "stderr"): ("the program's own stream", _place),
    ("contextlib", "redirect_stdout"): ("redirects its own stream", _redirection),
    ("contextlib", "redirect_stderr"): ("redirects its own stream", _redirection),
    ("matplotlib.pyplot", "show"): ("displays, and may open a window", _show),
    ("IPython.display", "display"): ("displays", _display),
    ("time", "sleep"): ("waits", _waiting),
    ("threading", "Thread"): ("belongs to its run", _waiting),
    ("threading", "Timer"): ("belongs to its run", _waiting),
    ("concurrent.futures", "ThreadPoolExecutor"): ("its threads belong to their run", _waiting),
    ("asyncio", "run"): ("keeps the deadline", _waiting),
    ("asyncio", "new_event_loop"): ("keeps the deadline", _waiting),
    ("asyncio", "get_event_loop"): ("keeps the deadline", _waiting),
    ("asyncio", "set_event_loop"): ("the host's loop stays", _waiting),
    ("collections", "namedtuple"): ("makes a class", _registering(module="__main__")),
    ("dataclasses", "dataclass"): ("may make a class anew", _dataclass),
    ("dataclasses", "make_dataclass"): ("makes a class", _registering()),
    ("types", "new_class"): ("makes a class", _registering()),
    ("operator", "mul"): ("large", _operator("multiply")),
    ("operator", "pow"): ("large", _operator("power")),
    ("operator", "lshift"): ("large", _operator("shift")),
}


def overrides_of(module: types.ModuleType, parts: Parts) -> dict[str, Any]:
    """Make the overrides of one module's members.

    Args:
        module: the library's own module.
        parts: of the interpreter.
    """
    made: dict[str, Any] = {}
    for (home, member), (_why, maker) in OVERRIDES.items():
        if home != module.__name__ or not hasattr(module, member):
            continue
        real = getattr(module, member)
        one = made[member] = maker(parts, member, real)
        if type(one) is types.FunctionType:
            one.__name__ = one.__qualname__ = member
            one.__doc__, one.__module__ = real.__doc__, real.__module__
    return made
