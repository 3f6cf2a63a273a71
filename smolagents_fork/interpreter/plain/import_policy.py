"""Import statements of a program, against the user's list.

The list is the user's policy, not a boundary: a program that goes around it gets modules that the
kernel, or Deno, confines like everything else.
"""

from __future__ import annotations

import builtins
import dis
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...errors import ImportRefusedError
from ..imports import is_authorized, refusal_advice
from ..program_text import find_program

__all__ = ["import_function"]

_IMPORT_NAME = dis.opmap["IMPORT_NAME"]
#: A module that comes with others: what they read and write is often a text or bytes in memory.
_COMPANIONS = {"io": ("numpy", "pandas")}


def import_function(
    authorized: Iterable[str], imported: Callable[[], None]
) -> Callable[..., types.ModuleType]:
    """Return the ``__import__`` of a program's own module.

    Args:
        authorized: modules that import statements may name.
        imported: called after each import.
    """
    listed = set(authorized)
    for companion, packages in _COMPANIONS.items():
        if any(is_authorized(package, listed) for package in packages):
            listed.add(companion)
    allowed = sorted(listed)
    original = builtins.__import__

    def __import__(
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> types.ModuleType:
        refused = find_refused(name, fromlist or (), allowed)
        if refused and level == 0 and is_import_statement(sys._getframe(1)):
            error = ImportRefusedError(
                f"Import of {refused} is not allowed. {refusal_advice(refused, allowed)}"
            )
            error.name = refused
            raise error
        module = original(name, globals, locals, fromlist or (), level)
        imported()
        return module

    return __import__


def find_refused(name: str, members: Iterable[str], allowed: Sequence[str]) -> str:
    """Return the module of an import statement that the list does not have; empty if it has all."""
    if name in ("__future__", "__main__"):  # a setting of the compiler, and the program itself
        return ""
    if not is_authorized(name, allowed):
        return name
    if is_authorized(f"{name}.member", allowed):
        return ""
    # The module only leads to an entry: of its members, those on the way may be imported.
    return next((name for member in members if not is_authorized(f"{name}.{member}", allowed)), "")


def is_import_statement(frame: Any) -> bool:
    """Return whether a frame executes an import statement that a program has written.

    Functions in C import what they need through the builtins of the program that calls them.
    """
    code = frame.f_code
    return find_program(code.co_filename) is not None and (
        code.co_code[frame.f_lasti] == _IMPORT_NAME
    )
