"""Keywords of constructors, as editors see them."""

from __future__ import annotations

import inspect


def parameters_of(cls: type) -> list[str]:
    """List the keyword parameters of the constructor of ``cls``."""
    found = inspect.signature(cls).parameters.values()
    return [parameter.name for parameter in found if parameter.kind is not parameter.VAR_KEYWORD]
