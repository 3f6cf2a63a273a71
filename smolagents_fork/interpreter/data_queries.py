"""``DataFrame.query`` and ``eval``: expressions over columns, and nothing beyond.

Part of the boundary that guards.py decides by.
"""

from __future__ import annotations

import re
from typing import Any

from ..errors import ProgramRefusedError
from .policy_data import QUERY_ATTRIBUTES

__all__ = ["check_query", "evaluating"]

_FORBIDDEN_QUERY = {"engine", "local_dict", "global_dict", "resolvers", "level", "parser"}
_QUOTED = re.compile(r"`[^`]*`|'[^'\n]*'|\"[^\"\n]*\"")


def check_query(expression: Any) -> None:
    """Refuse a pandas expression that reaches beyond columns."""
    text = str.__str__(expression)
    rest = _QUOTED.sub("x", text)
    names = re.findall(r"\.\s*([^\W\d]\w*)", rest)
    bad = [name for name in names if name not in QUERY_ATTRIBUTES]
    # What the pattern for quoted text reads otherwise than Python does is not read at all.
    odd = (
        "\\" in text or "'''" in text or '"""' in text or "#" in rest or re.search(r"['\"`]", rest)
    )
    if "@" in rest or "__" in text or bad or odd:
        raise ProgramRefusedError(
            f"Forbidden pandas expression {text!r}: it may use columns and comparisons only. "
            "Use boolean indexing, as in df[df['a'] > limit]"
        )


def evaluating(found: Any, value: Any, _guards: Any) -> Any:
    """``query`` or ``eval`` of a frame, its expression looked at first."""
    name = str(getattr(found, "__name__", "query"))

    def evaluate(*arguments: Any, **keywords: Any) -> Any:
        given = list(arguments)
        at = 1 if isinstance(value, type) else 0
        expressions = [given[at]] if at < len(given) else [keywords.get("expr")]
        if given[at + 1 :] or _FORBIDDEN_QUERY.intersection(keywords):
            raise ProgramRefusedError(f"Forbidden argument of {name}(): only inplace is allowed")
        for expression in expressions:
            if not isinstance(expression, str):
                raise TypeError("expr must be a string to be evaluated")
            for part in str.__str__(expression).splitlines():
                check_query(part)
        if at < len(given):
            given[at] = str.__str__(expressions[0])
        else:
            keywords["expr"] = str.__str__(expressions[0])
        return found(*given, **keywords)

    return evaluate
