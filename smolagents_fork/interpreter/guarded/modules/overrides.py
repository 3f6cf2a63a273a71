"""The one table of overrides: members of modules that programs get in another form.

A row is here because the member takes attribute names, prints, waits, starts threads, or makes much
of little. Everything else is the library's own, shared with the host as upstream shares it.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .. import policy
from ..guards.attributes import AttributeGuard, exact_name
from ..guards.sizes import Sizes
from ..guards.text_format import Formatter
from ..guards.views import ModuleViews
from .places import ProgramPlaces

__all__ = ["OVERRIDES", "InterpreterParts", "overrides_of"]


class InterpreterParts(NamedTuple):
    """The parts of an interpreter that overrides are made of.

    Args:
        sizes: checks estimates of sizes.
        attributes: the attribute guard.
        places: the program's standard streams, figures and displays.
        waiting: what waits or starts threads, by the member's name.
        imports: modules as the program may have them.
    """

    sizes: Sizes
    attributes: AttributeGuard
    places: ProgramPlaces
    waiting: Mapping[str, Any]
    imports: ModuleViews


#: Makes an override from the member's name and the library's own member.
_Maker = Callable[[InterpreterParts, str, Any], Any]


def _part(path: str) -> _Maker:
    """Make the maker of what is an attribute of a part of the interpreter."""
    give = operator.attrgetter(path)
    return lambda parts, _name, _real: give(parts)


# -- members that take attribute names --


def _attrgetter(parts: InterpreterParts, _name: str, _real: Any) -> Any:
    read = parts.attributes.read

    def attrgetter(attr: str, /, *attrs: str) -> Callable[[Any], Any]:
        names = tuple(map(exact_name, (attr, *attrs)))
        if all(policy.is_plain(part) for name in names for part in name.split(".")):
            return operator.attrgetter(*names)

        def get(obj: Any) -> Any:
            attributes = tuple(functools.reduce(read, name.split("."), obj) for name in names)
            return attributes[0] if len(attributes) == 1 else attributes

        return get

    return attrgetter


def _methodcaller(parts: InterpreterParts, _name: str, _real: Any) -> Any:
    def methodcaller(name: str, /, *arguments: Any, **keywords: Any) -> Callable[[Any], Any]:
        name = exact_name(name)
        if name in policy.SIZED_METHODS | policy.FORMATS:
            return lambda obj: parts.sizes.call(obj, name, *arguments, **keywords)
        if policy.is_plain(name):
            return operator.methodcaller(name, *arguments, **keywords)
        return lambda obj: parts.attributes.read(obj, name)(*arguments, **keywords)

    return methodcaller


# -- members that wait --


def _waiting(parts: InterpreterParts, name: str, _real: Any) -> Any:
    return parts.waiting[name]


#: Every override: why it is one, and what makes it.
OVERRIDES: Mapping[tuple[str, str], tuple[str, _Maker]] = {
    ("operator", "attrgetter"): ("reads by name", _attrgetter),
    ("operator", "methodcaller"): ("reads by name", _methodcaller),
    ("string", "Formatter"): ("reads by name in fields", lambda *_: Formatter),
    ("importlib", "import_module"): ("imports by name", _part("imports.import_by_name")),
    ("sys", "modules"): ("contains modules that are not authorised", _part("imports.loaded")),
    ("sys", "stdin"): ("the program's own stream", _part("places.stdin")),
    ("sys", "stdout"): ("the program's own stream", _part("places.stdout")),
    ("sys", "stderr"): ("the program's own stream", _part("places.stderr")),
    ("contextlib", "redirect_stdout"): ("redirects its own", _part("places.stdout.redirected")),
    ("contextlib", "redirect_stderr"): ("redirects its own", _part("places.stderr.redirected")),
    ("matplotlib.pyplot", "show"): (
        "displays, and may open a window",
        _part("places.displays.show_figures"),
    ),
    ("IPython.display", "display"): ("displays", _part("places.displays.display")),
    ("time", "sleep"): ("waits", _waiting),
    ("threading", "Thread"): ("belongs to its run", _waiting),
    ("threading", "Timer"): ("belongs to its run", _waiting),
    ("concurrent.futures", "ThreadPoolExecutor"): ("its threads belong to their run", _waiting),
    ("asyncio", "run"): ("keeps the deadline", _waiting),
    ("asyncio", "get_event_loop"): ("the host's loop stays", _waiting),
    ("operator", "mul"): ("large", _part("sizes.multiply")),
    ("operator", "pow"): ("large", _part("sizes.power")),
    ("operator", "lshift"): ("large", _part("sizes.shift")),
}


def overrides_of(module: types.ModuleType, parts: InterpreterParts) -> dict[str, Any]:
    """Make the overrides of one module's members."""
    overrides: dict[str, Any] = {}
    for (home, member), (_why, maker) in OVERRIDES.items():
        if home != module.__name__ or not hasattr(module, member):
            continue
        real = getattr(module, member)
        override = overrides[member] = maker(parts, member, real)
        if type(override) is types.FunctionType:
            override.__name__ = override.__qualname__ = member
            override.__doc__, override.__module__ = real.__doc__, real.__module__
    return overrides
