"""What stands in for builtins that are refused, and for the import that C code finds.

Part of the boundary: guards.py binds these.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from ..errors import ProgramRefusedError
from . import policy

__all__ = ["RefusedBuiltins"]


class RefusedBuiltins:
    """The stand-ins of one interpreter; ``roots`` gives the packages that are authorised."""

    roots: Callable[[], Any] = staticmethod(frozenset)

    def refused(self, name: str) -> Callable[..., Any]:
        """What stands in for a builtin that is refused."""
        advice = policy.REFUSED_BUILTINS[name]

        def refuse(*_arguments: Any, **_keywords: Any) -> Any:
            raise ProgramRefusedError(
                f"Forbidden function evaluation: {name!r} is not among the explicitly allowed "
                f"tools or defined/imported in the preceding code: {advice}"
            )

        refuse.__name__ = refuse.__qualname__ = name
        return refuse

    def imported_by_c(self, name: str, *arguments: Any, **keywords: Any) -> Any:
        """``__import__`` as C code finds it: ``strftime`` imports ``time`` through here.

        A program's own name ``__import__`` is another function; see transform.
        """
        root = name.split(".")[0]
        if root in policy.IMPORTED_BY_C or root in self.roots():
            return builtins.__import__(name, *arguments, **keywords)
        raise ProgramRefusedError(f"Forbidden access to module: {name}")
