"""Methods of numpy's and pandas' objects that programs get in another form, or not at all.

Part of the boundary that guards.py decides by.
"""

from __future__ import annotations

import functools
import re
import sys
import types
from collections.abc import Callable
from typing import Any

from ..errors import AttributeRefusedError, ProgramRefusedError
from . import data_files, data_memory, data_random
from .build import words
from .data_queries import evaluating
from .families import holder
from .policy_data import METHOD_NAMES
from .sized_types import plain_type

__all__ = ["check_options", "check_written", "checked_names", "method", "verified"]

_LIBRARIES = ("pandas", "numpy")
#: Writers with no buffer to write to, and those that reach a database or the clipboard.
_CLOSED_WRITERS = frozenset(words("to_pickle to_sql to_hdf to_clipboard to_gbq to_iceberg"))
_NAMED = frozenset(words("agg aggregate apply transform pivot_table"))
#: Parameters of these methods that are no named aggregations.
_OPTIONS = frozenset(
    words(
        "arg args aggfunc axis columns dropna engine engine_kwargs fill_value func index level "
        "margins margins_name numeric_only observed sort values "
    )
)


def _of_library(cls: type | None) -> bool:
    return cls is not None and str(cls.__module__).split(".")[0] in _LIBRARIES


def _is_label(value: Any, name: str) -> bool:
    """Whether a name is a column's or a row's label, which ``value[name]`` gives as well."""
    if isinstance(value, tuple):
        return name in getattr(type(value), "_fields", ())  # a row of itertuples()
    if isinstance(value, type) or holder(value, name) is not None:
        return False
    return _of_library(type(value)) and hasattr(value, name)


def method(value: Any, name: str, guards: Any) -> Any:
    """What a program gets for a listed name of a numpy or pandas object.

    Returns:
        The member in its guarded form; ``None`` when the name is nothing special there.

    Raises:
        AttributeRefusedError: it is not handed out.
    """
    if isinstance(value, types.ModuleType):
        return None
    found_in = holder(value, name)
    if not _of_library(found_in):
        if name in ("readinto", "readinto1", "cast"):
            return _buffer_method(value, name)
        return getattr(value, name) if _is_label(value, name) else None
    if isinstance(value, tuple) and _is_label(value, name):
        return getattr(value, name)
    if name in _MAKERS:
        return _MAKERS[name](getattr(value, name), value, guards)
    if name == "tofile" or (name.startswith("to_") and name not in _CLOSED_WRITERS):
        return data_files.checked(getattr(value, name), guards.data_files, name)
    raise AttributeRefusedError(
        f"Forbidden access to attribute: {name} of {_kind(value)!r} object: it leads to memory, "
        "files or templates of the host"
    )


def _kind(value: Any) -> str:
    return str(value.__name__ if isinstance(value, type) else type(value).__name__)


def _buffer_method(value: Any, name: str) -> Any:
    found = getattr(value, name, None)
    if name == "cast":
        if isinstance(value, memoryview) and data_memory.holds_references(value):
            raise ProgramRefusedError("Forbidden: the bytes of references to objects")
        return found

    if not isinstance(found, types.BuiltinFunctionType):
        return found

    def into(buffer: Any) -> Any:
        if data_memory.holds_references(buffer):
            raise ProgramRefusedError("Forbidden: bytes written over references to objects")
        return found(buffer)

    return into


def check_written(value: Any, name: str) -> None:
    """Refuse to set an attribute of the libraries' objects that decides what they load or run."""
    if name in ("backend", "allow_pickle", "env", "loader") and _of_library(type(value)):
        raise AttributeRefusedError(
            f"Cannot assign to {name!r} of {type(value).__name__!r} object: it decides what the "
            "library loads"
        )
    if _is_kept(type(value)):
        raise AttributeRefusedError(
            f"Cannot assign to {name!r} of {type(value).__name__!r} object: it belongs to the host"
        )


def _is_kept(cls: type) -> bool:
    """Whether the libraries keep the objects of a class and hand them to everybody."""
    if cls.__name__ == "cython_function_or_method":
        return True  # methods of compiled classes, which take attributes
    if not _of_library(cls):
        return False
    if cls.__name__.startswith("_") or cls.__name__ in ("finfo", "iinfo"):
        return True
    extension = getattr(sys.modules.get("pandas.api.extensions"), "ExtensionDtype", None)
    return extension is not None and issubclass(cls, extension)


def check_options(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    """Refuse to set the option of pandas that names a module to be imported."""
    for one in (*arguments, *keywords):
        texts = one if isinstance(one, dict) else [one]
        if any("backend" in t or "plotting" in t for t in texts if isinstance(t, str)):
            raise ProgramRefusedError(
                "Forbidden option: plotting.backend names a module to be imported"
            )


# -- names of methods --


def _settled(value: Any) -> Any:
    """Method names, looked at, in containers that cannot answer otherwise later.

    Raises:
        ProgramRefusedError: a name that is not one of a calculation.
    """
    if isinstance(value, str):
        name = str.__str__(value)
        if name not in METHOD_NAMES:
            raise ProgramRefusedError(
                f"Forbidden method name {name!r}: as text, pandas takes names of calculations "
                "here, such as 'sum', 'mean' or 'count'. Pass a function, as in "
                "lambda s: s.method()"
            )
        return name
    if type(value) is dict:
        return {key: _settled(one) for key, one in value.items()}
    if type(value) in (list, set, frozenset):
        return [_settled(one) for one in value]
    if type(value) is tuple:
        return tuple(_settled(one) for one in value)
    if not isinstance(value, type) and any(hasattr(value, n) for n in ("__iter__", "keys")):
        # pandas would ask it for names, and it may answer each time anew.
        raise ProgramRefusedError(
            f"Forbidden: functions to apply in a {type(value).__name__}; give a list or a dict"
        )
    return value


def _named(value: Any) -> Any:
    """A named aggregation: ``column=("name", "sum")``, ``pd.NamedAgg`` or ``x="sum"``."""
    if isinstance(value, tuple):
        parts = tuple.__getitem__(value, slice(None))
        for one in parts[1:2]:
            _settled(one)
        return value if _of_library(type(value)) else parts
    if hasattr(value, "aggfunc"):
        # pandas 3: an object of its own, no tuple.
        if not _of_library(type(value)):
            raise ProgramRefusedError("Forbidden: a NamedAgg of the program's own making")
        _settled(value.aggfunc)
        return value
    return _settled(value)


def checked_names(found: Callable[..., Any], place: int = 0) -> Callable[..., Any]:
    """A function that takes methods by name, with the names looked at.

    Args:
        found: the function.
        place: where among its arguments the names stand.
    """

    @functools.wraps(found)
    def call(*arguments: Any, **keywords: Any) -> Any:
        given = list(arguments)
        if place < len(given):
            given[place] = _settled(given[place])
        for name in ("func", "arg", "aggfunc"):
            if name in keywords:
                keywords[name] = _settled(keywords[name])
        function = given[place] if place < len(given) else keywords.get("func")
        if function is None:
            for name in set(keywords) - _OPTIONS:
                keywords[name] = _named(keywords[name])
        return found(*given, **keywords)

    del call.__wrapped__
    return call


def _names(found: Any, value: Any, _guards: Any) -> Any:
    place = 3 if getattr(found, "__name__", "") == "pivot_table" else 0
    return checked_names(found, place + isinstance(value, type))


# -- memory --


def _resize(_found: Any, _value: Any, _guards: Any) -> Any:
    def resize(*_arguments: Any, **_keywords: Any) -> None:
        # It gives the memory back while other arrays may point there. numpy's own check counts
        # references, of which a guard holds some.
        raise ProgramRefusedError(
            "Forbidden: ndarray.resize() changes an array's memory under other arrays; make a new "
            "one with np.resize(array, shape)"
        )

    return resize


def verified(found: Any) -> Any:
    """``found`` without ``verify_integrity=False`` and ``validate=False``.

    These let positions point past the end of the memory they are looked up in.
    """

    @functools.wraps(found)
    def call(*arguments: Any, **keywords: Any) -> Any:
        named = [n for n in ("verify_integrity", "validate") if not keywords.get(n, True)]
        if named or len(arguments) > 6:
            raise ProgramRefusedError(
                f"Forbidden argument of {found.__name__}(): {''.join(named) or arguments[6:]!r}; "
                "positions are always checked"
            )
        return found(*arguments, **keywords)

    del call.__wrapped__
    return call


# -- text and pictures --


def _info(found: Any, value: Any, guards: Any) -> Any:
    """``df.info()`` prints where the program prints, not where the host does."""
    if isinstance(value, type):
        return found

    def info(verbose: Any = None, buf: Any = None, *arguments: Any, **keywords: Any) -> Any:
        return found(verbose, guards.stdout if buf is None else buf, *arguments, **keywords)

    return info


class _Plot:
    """``df.plot`` without ``backend=``, which imports the module it names."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def __call__(self, /, *arguments: Any, **keywords: Any) -> Any:
        return _without_backend(self._found)(*arguments, **keywords)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _without_backend(getattr(self._found, name))


def _without_backend(found: Any) -> Any:
    def draw(*arguments: Any, **keywords: Any) -> Any:
        if "backend" in keywords:
            raise ProgramRefusedError("Forbidden argument: backend names a module to be imported")
        return found(*arguments, **keywords)

    return draw


def _plot(found: Any, value: Any, guards: Any) -> Any:
    _check_drawing(guards)
    return found if isinstance(value, type) else _Plot(found)


def _drawing(found: Any, _value: Any, guards: Any) -> Any:
    _check_drawing(guards)
    return _without_backend(found)


def _check_drawing(guards: Any) -> None:
    # A figure writes itself to any path.
    if not {"matplotlib", "*"} & set(guards.roots()):
        raise ProgramRefusedError(
            "Forbidden: pandas draws with matplotlib, which is not authorised. The agent's author "
            "can pass additional_authorized_imports=['matplotlib']"
        )


def _style_format(found: Any, value: Any, _guards: Any) -> Any:
    """``df.style.format("{:.2f}")``: text that reads attributes is refused."""
    if type(value).__name__ != "Styler":
        raise AttributeRefusedError(f"Forbidden access to attribute: format of {_kind(value)!r}")

    def check(formatter: Any) -> None:
        if isinstance(formatter, dict):
            for one in formatter.values():
                check(one)
        elif isinstance(formatter, str) and re.search(r"\{[^}:!]*[.\[]|__|\{[^}]*\{", formatter):
            raise ProgramRefusedError(
                f"Forbidden format {str.__str__(formatter)!r}: it reads attributes. Pass a function"
            )

    def format_(*arguments: Any, **keywords: Any) -> Any:
        for one in (*arguments, *keywords.values()):
            check(one)
        return found(*arguments, **keywords)

    return format_


# -- views and draws --


def _view(found: Any, _value: Any, _guards: Any) -> Any:
    """``array.view(np.ndarray)``: the class that a stand-in stands for."""

    def view(*arguments: Any, **keywords: Any) -> Any:
        given = [plain_type(one) for one in arguments]
        return found(*given, **{name: plain_type(one) for name, one in keywords.items()})

    return view


def _sample(found: Any, value: Any, guards: Any) -> Any:
    """``df.sample()`` draws from the program's generator, which ``np.random.seed`` seeds."""

    def sample(*arguments: Any, **keywords: Any) -> Any:
        place = 4 + isinstance(value, type)
        given = list(arguments)
        if len(given) <= place:
            if keywords.get("random_state") is None:
                keywords["random_state"] = guards.generator()
        elif given[place] is None:
            given[place] = guards.generator()
        return found(*given, **keywords)

    return sample


_Maker = Callable[[Any, Any, Any], Any]
_MAKERS: dict[str, _Maker] = {
    **dict.fromkeys(_NAMED, _names),
    **dict.fromkeys(("query", "eval"), evaluating),
    **dict.fromkeys(("from_codes", "set_codes"), lambda found, _value, _guards: verified(found)),
    **dict.fromkeys(("hist", "boxplot"), _drawing),
    # Of polynomials: numpy's arrays have none.
    "cast": lambda found, _value, _guards: found,
    "resize": _resize,
    "set_state": lambda found, _value, _guards: data_random.set_state(found),
    "sample": _sample,
    "view": _view,
    "info": _info,
    "plot": _plot,
    "format": _style_format,
}
