"""decimal, calendar, asyncio's loops, numpy.random: each interpreter's own of what hosts share.

Part of the boundary that guards.py decides by; what has no copies is kept apart by borrowed.py.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ..errors import ProgramRefusedError
from . import replaced_output
from .borrowed import NoLoop
from .build import words
from .data_methods import check_options
from .data_random import check_seed, set_state
from .ownership import GUARDS_ITS_BASES
from .replaced import REFUSED
from .sized_types import SizedType

__all__ = ["MAKERS", "loops"]


def _decimal(_modules: Any) -> dict[str, Any]:
    import decimal

    contexts = ("DefaultContext", "BasicContext", "ExtendedContext")
    return {name: getattr(decimal, name).copy() for name in contexts}


def _with_copies(cls: type, *names: str) -> type:
    """A class like ``cls`` whose lists and dicts are its own."""
    body = {name: copy.copy(getattr(cls, name)) for name in names}
    body.update(__module__=cls.__module__, __qualname__=cls.__qualname__)
    return type(cls.__name__, (cls,), {**body, GUARDS_ITS_BASES: True})


def _calendar(modules: Any) -> dict[str, Any]:
    import calendar

    own = replaced_output.MAKERS["calendar"](modules)["TextCalendar"]()

    def setfirstweekday(firstweekday: int) -> None:
        if not 0 <= firstweekday <= 6:
            raise calendar.IllegalWeekdayError(firstweekday)
        own.firstweekday = firstweekday

    refused = words("different_locale LocaleTextCalendar LocaleHTMLCalendar main ")
    return {
        **dict.fromkeys(refused, REFUSED),
        "HTMLCalendar": _with_copies(
            calendar.HTMLCalendar, "cssclasses", "cssclasses_weekday_head"
        ),
        "c": own,
        "setfirstweekday": setfirstweekday,
        "firstweekday": own.getfirstweekday,
        "monthcalendar": own.monthdayscalendar,
        "prweek": own.prweek,
        "week": own.formatweek,
        "weekheader": own.formatweekheader,
        "prmonth": own.prmonth,
        "month": own.formatmonth,
        "calendar": own.formatyear,
        "prcal": own.pryear,
    }


def loops(_modules: Any) -> dict[str, Any]:
    """asyncio's ways to a loop: the program's own, never the host's."""
    import asyncio
    from asyncio import events

    def running() -> Any:
        loop = events._get_running_loop()
        if loop is None or isinstance(loop, NoLoop):
            raise RuntimeError("no running event loop")
        return loop

    def get_event_loop() -> Any:
        return running()

    def get_running_loop() -> Any:
        return running()

    def all_tasks(loop: Any = None) -> Any:
        return asyncio.all_tasks(running() if loop is None else _own(loop))

    def current_task(loop: Any = None) -> Any:
        return asyncio.current_task(running() if loop is None else _own(loop))

    def _own(loop: Any) -> Any:
        if loop is not running():
            raise ProgramRefusedError("Forbidden: the tasks of another event loop")
        return loop

    return {
        "get_event_loop": get_event_loop,
        "get_running_loop": get_running_loop,
        "all_tasks": all_tasks,
        "current_task": current_task,
    }


def _numpy_random(modules: Any) -> dict[str, Any]:
    import numpy as np

    def default_rng(seed: Any = None) -> Any:
        """``np.random.default_rng``"""
        check_seed(seed, modules.guards.is_own_class)
        return np.random.default_rng(seed)

    # Its own generator: seeding it must not seed the host's.
    own = np.random.RandomState()
    result: dict[str, Any] = {
        name: getattr(own, name)
        for name in dir(own)
        if not name.startswith("_") and hasattr(np.random, name)
    }
    result.update(ranf=own.random_sample, sample=own.random_sample)
    result.update(set_state=set_state(own.set_state), default_rng=default_rng)
    return {**result, "set_bit_generator": REFUSED, "get_bit_generator": REFUSED, "test": REFUSED}


def _polynomials(modules: Any) -> dict[str, Any]:
    """Classes of polynomials whose ``domain`` and ``window``, arrays, are the program's."""
    from numpy import polynomial

    if modules.polynomials is None:
        modules.polynomials = {
            name: _with_copies(getattr(polynomial, name), "domain", "window")
            for name in words("Polynomial Chebyshev Legendre Laguerre Hermite HermiteE ")
        }
    return {**modules.polynomials, "set_default_printstyle": REFUSED}


def option_setters(modules: Any) -> dict[str, Any]:
    """pandas' functions that change options: what the host has is noted first."""
    import pandas as pd  # type: ignore[import-untyped,unused-ignore]  # stubs are optional

    kept = modules.borrowed.use("pandas")

    def setter(name: str) -> Callable[..., Any]:
        function = getattr(pd, name)

        def change(*arguments: Any, **keywords: Any) -> Any:
            check_options(arguments, keywords)
            kept.changing()
            return function(*arguments, **keywords)

        change.__name__ = change.__qualname__ = name  # pandas 2 has objects without one
        return change

    names = ("set_option", "reset_option", "option_context", "set_eng_float_format")
    return {name: setter(name) for name in names}


def _warnings(modules: Any) -> dict[str, Any]:
    import warnings

    def formatwarning(
        message: Any, category: Any, filename: str, lineno: int, line: str | None = None
    ) -> str:
        # Without a line Python reads it from the file.
        return warnings.formatwarning(message, category, filename, lineno, line or "")

    def showwarning(
        message: Any,
        category: Any,
        filename: str,
        lineno: int,
        file: Any = None,
        line: str | None = None,
    ) -> None:
        text = formatwarning(message, category, filename, lineno, line)
        (modules.stderr if file is None else file).write(text)

    class catch_warnings(warnings.catch_warnings):  # type: ignore[type-arg,unused-ignore]
        def __init__(self, **options: Any) -> None:
            if options.pop("module", None) is not None:
                raise ProgramRefusedError("Forbidden argument of catch_warnings(): module")
            super().__init__(**options)

    catch_warnings.__module__, catch_warnings.__qualname__ = "warnings", "catch_warnings"
    return {
        "catch_warnings": catch_warnings,
        "formatwarning": formatwarning,
        "showwarning": showwarning,
    }


def _contextvars(_modules: Any) -> dict[str, Any]:
    import contextvars

    made: set[Any] = set()  # their values live as long as contexts do, whoever keeps them

    def make(cls: Any, /, *arguments: Any, **keywords: Any) -> Any:
        variable = cls(*arguments, **keywords)
        made.add(variable)
        return variable

    def copy_context() -> contextvars.Context:
        # The host's variables may hold who it works for.
        now, copied = contextvars.copy_context(), contextvars.Context()
        for variable in now:
            if variable in made or variable.name == "decimal_context":
                copied.run(variable.set, now[variable])
        return copied

    return {"ContextVar": SizedType(make, contextvars.ContextVar), "copy_context": copy_context}


def _re(_modules: Any) -> dict[str, Any]:
    return {"purge": lambda: None}  # the cache is everybody's


MAKERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "contextvars": _contextvars,
    "decimal": _decimal,
    "calendar": _calendar,
    # Programs of their own: they read the host's arguments and write to its streams.
    "base64": lambda _modules: {"main": REFUSED, "test": REFUSED},
    "uuid": lambda _modules: {"main": REFUSED},
    "numpy.random": _numpy_random,
    "numpy.polynomial": _polynomials,
    "numpy.polynomial.polynomial": _polynomials,
    "numpy.polynomial.chebyshev": _polynomials,
    "numpy.polynomial.legendre": _polynomials,
    "numpy.polynomial.laguerre": _polynomials,
    "numpy.polynomial.hermite": _polynomials,
    "numpy.polynomial.hermite_e": _polynomials,
    "warnings": _warnings,
    "locale": lambda _modules: {"setlocale": REFUSED},
    "asyncio": loops,
    "pandas": option_setters,
    "pandas.api.extensions": lambda _modules: dict.fromkeys(
        words(
            "register_dataframe_accessor register_series_accessor register_index_accessor "
            "register_extension_dtype "
        ),
        REFUSED,
    ),
    "re": _re,
}
