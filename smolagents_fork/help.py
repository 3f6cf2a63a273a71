"""``help()`` for programs: descriptions of tools, agents, and the program's functions and classes.

It opens no pager, inspects no objects of the host, and prints at most a page. Python's ``help``
imports by name, opens a terminal pager and walks through any object.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any

from .codec.rpc import ShownDefault

__all__ = ["helper"]

# Longest text for one object, in characters.
_LONGEST = 10_000
# A longer default is shown as "...", and so is a default that is not a plain value. The bridge has
# the same rule, because a default may be a secret.
_LONGEST_DEFAULT = 16


def helper(
    proxies: Mapping[str, Any],
    tools: Mapping[str, Any],
    owns: Callable[[Any], bool],
    write: Callable[[str], Any],
) -> Callable[..., None]:
    """Create the ``help`` function of one program.

    Args:
        proxies: the proxy of each tool in the program.
        tools: the tools themselves, by the same names.
        owns: returns whether the program defined a function or class.
        write: prints a text.
    """
    # A reference to each proxy is kept, so that no other object can get its id().
    known = {id(proxy): (proxy, name) for name, proxy in proxies.items() if name in tools}

    def text_of(value: Any) -> str:
        if id(value) in known:
            name = known[id(value)][1]
            return _described(name, tools[name])
        if type(value) is types.FunctionType and owns(value):
            return _described(value.__name__, value, own=True)
        if isinstance(value, type) and owns(value):
            name = type.__getattribute__(value, "__name__")
            return f"class {_described(name, value, own=True)}"
        return (
            "help() describes tools, agents, and functions and classes of the program itself; "
            f"this is of type {type(value).__name__}: use print()"
        )

    def help(*objects: Any) -> None:
        if not objects:
            names = ", ".join(sorted(name for name in tools if name.isidentifier()))
            write(f"help(name) describes one of: {names}"[:_LONGEST])
        for value in objects:
            text = text_of(value)
            write(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} in all)")

    return help


def _written(value: Any) -> Any:
    """Return the signature of a program's function or class, ignoring its attributes.

    ``inspect`` trusts ``__signature__``, and evaluates one that is text.
    """
    if isinstance(value, type):
        value = type.__getattribute__(value, "__init__")
        skipped = 1
    else:
        skipped = 0
    if type(value) is not types.FunctionType:
        return None
    twin = types.FunctionType(value.__code__, {}, "", value.__defaults__, value.__closure__)
    twin.__kwdefaults__ = value.__kwdefaults__
    found = inspect.Signature.from_callable(twin, follow_wrapped=False)
    return found.replace(parameters=list(found.parameters.values())[skipped:])


def _described(name: str, value: Any, own: bool = False) -> str:
    doc = getattr(value, "__doc__", None)
    lines = inspect.cleandoc(doc[:_LONGEST]).splitlines() if type(doc) is str else []
    return "\n".join(
        [f"{name}{_signature(value, own)}", *(f"    {line}".rstrip() for line in lines)]
    )


def _signature(value: Any, own: bool) -> str:
    try:
        signature = _written(value) if own else inspect.signature(value, follow_wrapped=False)
    except Exception:  # some builtins lack a signature; a program's object may raise anything
        return "(...)"
    if signature is None:
        return "(...)"
    empty = inspect.Parameter.empty
    parameters = [
        one.replace(
            annotation=empty,
            default=empty if one.default is empty else _Shown(_shown(one.default)),
        )
        for one in signature.parameters.values()
    ]
    return str(signature.replace(parameters=parameters, return_annotation=empty))


class _Shown:
    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _shown(default: Any) -> str:
    if type(default) is ShownDefault or default is None or type(default) in (bool, int, float):
        return repr(default)[:100]
    if type(default) is str and len(default) <= _LONGEST_DEFAULT:
        return repr(default)
    return "..."
