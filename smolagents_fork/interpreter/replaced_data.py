"""Members of numpy and pandas that run code, load pickles, read memory or reach files.

Part of the boundary that guards.py decides by. Files below the working directory and objects with
``read``/``write`` are what an author means who authorises these libraries; the rest of the file
system is not.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from typing import Any

from ..errors import ProgramRefusedError
from .build import words
from .replaced import REFUSED

__all__ = ["MAKERS", "guarded_method"]

_URL = re.compile(r"^https?://", re.IGNORECASE)
#: Attributes a query string may use; everything else in it that looks like one is refused.
_QUERY_ATTRIBUTES = frozenset(
    words(
        "str dt isin isna notna isnull notnull contains startswith endswith lower upper strip len "
        "abs between year month day hour minute second weekday dayofweek date mean sum min max "
        "median std round values index "
    )
)


def check_path(path: Any) -> None:
    """Refuse a path outside the working directory; objects that are no path pass."""
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if not isinstance(path, (str, os.PathLike)):
        return
    text = str.__str__(os.fspath(path))
    if _URL.match(text) or text.lstrip().startswith(("{", "[", "<")) or "\n" in text:
        return  # fetched by HTTP, or the data itself
    home = os.path.realpath(os.getcwd())
    real = os.path.realpath(text)
    if real != home and not real.startswith(home.rstrip(os.sep) + os.sep):
        raise ProgramRefusedError(
            f"Forbidden access to file {text!r}: only files below the working directory {home!r} "
            "may be used. Put the file there, or take the data as a variable or through a tool"
        )


def _checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, its arguments checked wherever a path can be among them."""

    @functools.wraps(function)
    def checked(*arguments: Any, **keywords: Any) -> Any:
        for value in arguments[:1]:
            check_path(value)
        for name in _PATH_KEYWORDS.intersection(keywords):
            check_path(keywords[name])
        return function(*arguments, **keywords)

    del checked.__wrapped__  # would hand out the unchecked one
    return checked


_PATH_KEYWORDS = frozenset(
    words("filepath_or_buffer path_or_buf path_or_buffer path io buf file fname excel_writer fp ")
)


def check_query(expression: Any) -> None:
    """Refuse a pandas expression that reaches beyond columns."""
    if not isinstance(expression, str):
        return
    text = str.__str__(expression)
    names = re.findall(r"\.\s*([^\W\d]\w*)", re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"", "x", text))
    bad = [name for name in names if name not in _QUERY_ATTRIBUTES]
    if "@" in text or "__" in text or bad:
        raise ProgramRefusedError(
            f"Forbidden pandas expression {text!r}: it may use columns and comparisons only. "
            "Use boolean indexing, as in df[df['a'] > limit]"
        )


def guarded_method(value: Any, name: str) -> Any:
    """A guarded method of a numpy or pandas object, or ``None`` when it is not handed out."""
    if type(value).__module__.split(".")[0] not in ("pandas", "numpy"):
        return None
    found = getattr(value, name)
    if name in ("query", "eval"):

        def evaluate(expr: str, *arguments: Any, **keywords: Any) -> Any:
            for part in str(expr).splitlines():
                check_query(part)
            forbidden = {"engine", "local_dict", "global_dict", "resolvers", "level", "parser"}
            if arguments[1:] or forbidden.intersection(keywords):
                raise ProgramRefusedError(
                    f"Forbidden argument of {name}(): only inplace is allowed"
                )
            return found(expr, *arguments, **keywords)

        return evaluate
    if name.startswith("to_") and name not in ("to_pickle", "to_sql", "to_hdf", "to_clipboard"):
        return _checked(found)
    if name == "tofile":
        return _checked(found)
    return None


def printing_method(value: Any, found: Any, stdout: Any) -> Any:
    """``found``; of a pandas object it is ``info()``, which prints to the program's output."""
    if type(value).__module__.split(".")[0] != "pandas" or isinstance(value, type):
        return found

    def info(verbose: Any = None, buf: Any = None, *arguments: Any, **keywords: Any) -> Any:
        return found(verbose, stdout if buf is None else buf, *arguments, **keywords)

    return info


def _numpy(modules: Any) -> dict[str, Any]:
    import numpy as np

    sizes = modules.sizes
    refused = words(
        "ctypeslib f2py fromfile memmap DataSource lib core testing distutils set_numeric_ops "
        "seterrcall setbufsize set_string_function frompyfunc test show_config get_include "
        "add_newdoc add_docstring nested_iters rec char emath "
    )
    result: dict[str, Any] = {n: REFUSED for n in refused if n not in ("frompyfunc", "rec", "char")}

    def load(file: Any, mmap_mode: Any = None, allow_pickle: bool = False, **keywords: Any) -> Any:
        check_path(file)
        if allow_pickle or mmap_mode:
            raise ProgramRefusedError("Forbidden: np.load() with allow_pickle or mmap_mode")
        return np.load(file, allow_pickle=False, **keywords)

    result["load"] = load
    for name in ("save", "savez", "savez_compressed", "savetxt", "loadtxt", "genfromtxt"):
        result[name] = _checked(getattr(np, name))

    def sized(name: str) -> Any:
        real = getattr(np, name)

        @functools.wraps(real)
        def make(*arguments: Any, **keywords: Any) -> Any:
            shape = arguments[0] if arguments else keywords.get("shape", keywords.get("N", 0))
            count = 1
            for extent in shape if isinstance(shape, (tuple, list)) else (shape,):
                if isinstance(extent, int):
                    count *= max(0, int(extent))
            if name in ("eye", "identity"):
                count *= count if len(arguments) < 2 else int(arguments[1] or 1)
            sizes.check_items(count, f"np.{name}()")
            return real(*arguments, **keywords)

        del make.__wrapped__
        return make

    for name in ("ones", "zeros", "empty", "full", "eye", "identity"):
        result[name] = sized(name)

    def arange(*arguments: Any, **keywords: Any) -> Any:
        numbers = [a for a in arguments[:3] if isinstance(a, (int, float))]
        if numbers and len(numbers) == len(arguments[:3]):
            start, stop, step = ((0, *numbers, 1) if len(numbers) == 1 else (*numbers, 1))[:3]
            sizes.check_items(int(abs((stop - start) / (step or 1))), "np.arange()")
        return np.arange(*arguments, **keywords)

    def linspace(start: Any, stop: Any, num: int = 50, *arguments: Any, **keywords: Any) -> Any:
        sizes.check_items(int(num), "np.linspace()")
        return np.linspace(start, stop, num, *arguments, **keywords)

    result["arange"], result["linspace"] = arange, linspace
    return result


def _pandas(_modules: Any) -> dict[str, Any]:
    import pandas as pd  # type: ignore[import-untyped,unused-ignore]  # stubs are optional

    refused = words(
        "read_pickle to_pickle read_sql read_sql_query read_sql_table read_hdf HDFStore "
        "read_clipboard eval test show_versions read_gbq "
    )
    result: dict[str, Any] = dict.fromkeys(refused, REFUSED)
    for name in dir(pd):
        if name.startswith("read_") and name not in result:
            result[name] = _checked(getattr(pd, name))
    for name in ("ExcelFile", "ExcelWriter"):
        result[name] = REFUSED
    return result


MAKERS: dict[str, Callable[[Any], dict[str, Any]]] = {"numpy": _numpy, "pandas": _pandas}
