"""Rule of a list of authorised imports."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "ALIASED_SUBMODULES",
    "DEFAULT_IMPORTS",
    "is_authorized",
    "is_public",
    "only_leads",
    "refusal_advice",
]

#: Upstream's BASE_BUILTIN_MODULES.
DEFAULT_IMPORTS = frozenset(
    "collections datetime itertools math queue random re stat statistics time unicodedata".split()
)

#: Modules of another name that come with their package as its public submodules.
ALIASED_SUBMODULES = frozenset({"collections.abc", "os.path"})


def is_authorized(name: str, authorized: Iterable[str]) -> bool:
    """Return whether a list of authorised imports allows a module to be imported.

    ``pkg`` allows its public submodules, too; ``pkg.sub`` allows ``pkg``, which leads to it. As in
    upstream, ``pkg.*`` allows everything below ``pkg``, and ``*`` everything.

    Example:
        >>> is_authorized("os.path", ["os"]), is_authorized("os", ["posixpath"])
        (True, False)
    """
    return any(_leads(entry, name) or _covers(entry, name) for entry in authorized)


def only_leads(name: str, authorized: Iterable[str]) -> bool:
    """Return whether a list allows nothing of a module but what leads to modules inside it.

    Example:
        >>> only_leads("os", ["os.path"]), only_leads("os", ["os", "os.path"])
        (True, False)
    """
    entries = list(authorized)
    return any(_leads(entry, name) for entry in entries) and not any(
        _covers(entry, name) for entry in entries
    )


def _leads(entry: str, name: str) -> bool:
    return entry.startswith(f"{name}.") and entry != f"{name}.*"


def _covers(entry: str, name: str) -> bool:
    top, star, _ = entry.partition("*")
    package = top.removesuffix(".")
    if star:
        return f"{name}.".startswith(top)
    inside = name == package or name.startswith(f"{package}.")
    return inside and is_public(name, package.count(".") + 1)


def is_public(name: str, start: int) -> bool:
    """Return whether a module comes with the package that the first ``start`` parts name.

    Args:
        name: Name of the module.
        start: number of its parts that name the package.
    """
    inner = name.split(".")[start:]
    return name in ALIASED_SUBMODULES or not any(part.startswith("_") for part in inner)


def refusal_advice(name: str, authorized: Iterable[str]) -> str:
    """Return what a program's author can do about an import that is refused."""
    return (
        f"Authorized imports are: {sorted(authorized)}. To allow it, the agent's author can pass "
        f"additional_authorized_imports=[{name!r}]"
    )
