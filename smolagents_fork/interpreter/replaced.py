"""Members of modules that programs get in another form, or not at all: the table of them.

Part of the boundary that guards.py decides by. Each family is a module of its own.
"""

from __future__ import annotations

from typing import Any

__all__ = ["REFUSED", "members"]

#: Stands for a member that is not handed out.
REFUSED = object()


def members(module: str, modules: Any) -> dict[str, Any]:
    """Replaced members of ``module`` for one interpreter's ``modules``."""
    made = modules.replaced.get(module)
    if made is None:
        from . import (
            replaced_copying,
            replaced_data,
            replaced_dataclasses,
            replaced_decorators,
            replaced_futures,
            replaced_inspect,
            replaced_numbers,
            replaced_output,
            replaced_patterns,
            replaced_private,
            replaced_reflection,
            replaced_shared,
            replaced_sizes,
            replaced_threads,
            replaced_waiting,
        )

        families = (
            replaced_numbers,
            replaced_patterns,
            replaced_waiting,
            replaced_reflection,
            replaced_copying,
            replaced_dataclasses,
            replaced_decorators,
            replaced_data,
            replaced_output,
            replaced_shared,
            replaced_sizes,
            replaced_threads,
            replaced_futures,
            replaced_inspect,
            replaced_private,
        )
        made = {}
        for family in families:
            maker = family.MAKERS.get(module)
            if maker is not None:
                made.update(maker(modules))
        modules.replaced[module] = made
    return made  # type: ignore[no-any-return]
