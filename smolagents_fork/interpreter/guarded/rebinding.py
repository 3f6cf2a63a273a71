"""Functions of a program, bound to the variables and guards of another interpreter."""

from __future__ import annotations

import copy
import gc
import types
from collections.abc import Iterable
from typing import Any

__all__ = ["copied", "program_functions", "rebound"]


def program_functions(state: dict[str, Any]) -> list[types.FunctionType]:
    """Return all functions whose global variables are ``state``."""
    return [
        one
        for one in gc.get_referrers(state)
        if type(one) is types.FunctionType and one.__globals__ is state
    ]


def rebound(
    functions: Iterable[types.FunctionType], state: dict[str, Any], memo: dict[int, Any]
) -> None:
    """Enter a copy of each function into ``memo``, with ``state`` as its global variables.

    Args:
        functions: of a program.
        state: of the copies; has the builtins that they take.
        memo: of :func:`copy.deepcopy`, which copies what they enclose and their defaults.
    """
    cells: dict[int, tuple[types.CellType, types.CellType]] = {}
    pairs = []
    for one in functions:
        enclosed = one.__closure__ or ()
        closure = tuple(cells.setdefault(id(c), (c, types.CellType()))[1] for c in enclosed)
        made = types.FunctionType(one.__code__, state, one.__name__, None, closure or None)
        pairs.append((one, made))
        memo[id(one)] = made
    for one, made in pairs:
        made.__defaults__ = _copied(one.__defaults__, memo)
        made.__kwdefaults__ = _copied(one.__kwdefaults__, memo)
        made.__annotations__ = one.__annotations__
        made.__qualname__, made.__module__ = one.__qualname__, one.__module__
        made.__doc__ = one.__doc__
        made.__dict__.update(_copied(one.__dict__, memo))
    for cell, made_cell in cells.values():
        try:
            made_cell.cell_contents = _copied(cell.cell_contents, memo)
        except ValueError:  # it is empty
            continue
    # The identities in the memo stay theirs as long as the functions live.
    memo.setdefault(id(memo), []).extend(one for one, _ in pairs)


def copied(value: Any, memo: dict[int, Any]) -> Any:
    """Copy ``value``; a function that was rebound is its copy, also where Python asks no memo."""
    if type(value) is types.FunctionType and id(value) in memo:
        return memo[id(value)]
    return copy.deepcopy(value, memo)


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    """Copy ``value``; what has no copy is shared, as upstream's functions share all of it."""
    try:
        return copied(value, memo)
    except Exception:
        return value
