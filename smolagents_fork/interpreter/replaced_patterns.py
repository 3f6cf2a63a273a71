"""re, strptime and zoneinfo: what they remember is kept by plain texts only.

Part of the boundary that guards.py decides by: ``shared_keys`` says why.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from .ownership import GUARDS_ITS_BASES
from .replaced import REFUSED
from .replaced_numbers import named
from .shared_keys import plain_key, plain_keys

__all__ = ["MAKERS"]

#: Characters of a substitution's result below which it is not measured first.
_SHORT_TEXT = 1 << 16
_ASKED = ("match", "fullmatch", "search", "findall", "finditer")


def _re(modules: Any) -> dict[str, Any]:
    sizes = modules.sizes

    def sub(pattern: Any, repl: Any, string: Any, count: int = 0, flags: int = 0) -> Any:
        if (
            type(repl) is str
            and type(string) is str
            and (len(string) + 1) * (len(repl) + 1) < _SHORT_TEXT
        ):
            if type(pattern) is not str or flags:
                pattern, flags = plain_key(pattern), plain_key(flags)
        else:
            pattern, repl, flags = plain_key(pattern), plain_key(repl), plain_key(flags)
            sizes.check_substitution(re.compile(pattern, flags), repl, string)
        return re.sub(pattern, repl, string, count=count, flags=flags)

    def subn(pattern: Any, repl: Any, string: Any, count: int = 0, flags: int = 0) -> Any:
        pattern, repl, flags = plain_key(pattern), plain_key(repl), plain_key(flags)
        sizes.check_substitution(re.compile(pattern, flags), repl, string)
        return re.subn(pattern, repl, string, count=count, flags=flags)

    def split(pattern: Any, string: Any, maxsplit: int = 0, flags: int = 0) -> Any:
        return re.split(plain_key(pattern), string, maxsplit=maxsplit, flags=plain_key(flags))

    def compile(pattern: Any, flags: Any = 0) -> Any:
        return re.compile(plain_key(pattern), plain_key(flags))

    result = {"sub": sub, "subn": subn, "split": split, "compile": compile}
    for name in _ASKED:
        result[name] = _asking(getattr(re, name))
    made = {name: named(one, getattr(re, name)) for name, one in result.items()}
    return {**made, "template": REFUSED}


def _asking(function: Callable[..., Any]) -> Callable[..., Any]:
    def ask(pattern: Any, string: Any, flags: Any = 0) -> Any:
        if type(pattern) is str and type(flags) is int:
            return function(pattern, string, flags)
        return function(plain_key(pattern), string, plain_key(flags))

    return ask


def _time(_modules: Any) -> dict[str, Any]:
    return {"strptime": plain_keys(time.strptime)}


def _zoneinfo(_modules: Any) -> dict[str, Any]:
    import zoneinfo

    real = zoneinfo.ZoneInfo

    class OfAny(type(real)):  # type: ignore[misc]
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, real)

    # A derived class has a cache of its own.
    body = {"__module__": "zoneinfo", "__qualname__": "ZoneInfo", GUARDS_ITS_BASES: True}
    made = OfAny("zoneinfo.ZoneInfo", (real,), body)
    return {"ZoneInfo": made, "reset_tzpath": REFUSED}  # the process looks there


MAKERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "re": _re,
    "time": _time,
    "zoneinfo": _zoneinfo,
}
