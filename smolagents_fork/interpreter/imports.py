"""Rule of a list of authorised imports."""

from __future__ import annotations

from collections.abc import Container, Iterable

__all__ = [
    "ALIASED_SUBMODULES",
    "DEFAULT_IMPORTS",
    "is_authorized",
    "is_public",
    "refusal_advice",
]

#: Upstream's BASE_BUILTIN_MODULES.
DEFAULT_IMPORTS = frozenset(
    "collections datetime itertools math queue random re stat statistics time unicodedata".split()
)

#: Modules of another name that come with their package as its public submodules.
ALIASED_SUBMODULES = frozenset({"collections.abc", "os.path"})


def is_authorized(name: str, authorized: Iterable[str], apart: Container[str] = ()) -> bool:
    """Return whether a list of authorised imports allows a module.

    ``pkg`` allows its public submodules, too; ``pkg.sub`` allows ``pkg``, which leads to it. As in
    upstream, ``pkg.*`` allows everything below ``pkg``, and ``*`` everything.

    Args:
        name: of the module.
        authorized: entries of the list.
        apart: packages whose submodules have to be listed each.

    Example:
        >>> is_authorized("os.path", ["os"]), is_authorized("os", ["posixpath"])
        (True, False)
    """
    return any(_allows(entry, name, apart) for entry in authorized)


def _allows(entry: str, name: str, apart: Container[str]) -> bool:
    allowed, parts = entry.split("."), name.split(".")
    if "*" in allowed:
        top = allowed[: allowed.index("*")]
        return top == parts[: len(top)] or parts == top[: len(parts)]
    if len(parts) <= len(allowed):
        return parts == allowed[: len(parts)]
    return allowed == parts[: len(allowed)] and is_public(name, len(allowed), apart)


def is_public(name: str, start: int, apart: Container[str] = ()) -> bool:
    """Return whether a module comes with the package that the first ``start`` parts name.

    Args:
        name: of the module.
        start: number of its parts that name the package.
        apart: packages whose submodules have to be listed each.
    """
    parts = name.split(".")
    return name in ALIASED_SUBMODULES or not any(
        parts[end].startswith("_") or ".".join(parts[:end]) in apart
        for end in range(start, len(parts))
    )


def refusal_advice(name: str, authorized: Iterable[str]) -> str:
    """Return what a program's author can do about an import that is refused.

    Args:
        name: of the module.
        authorized: entries of the list.
    """
    return (
        f"Authorized imports are: {sorted(authorized)}. To allow it, the agent's author can pass "
        f"additional_authorized_imports=[{name!r}]"
    )
