"""``copy``: what a program's ``__reduce_ex__`` asks for is done with the program's rights.

Part of the boundary that guards.py decides by. The standard library calls what ``__reduce_ex__``
returns, writes the state it gives into whatever came out, and shows its memo, which holds the
private state of what is being copied, to every ``__deepcopy__``.
"""

from __future__ import annotations

import builtins
import copy
import itertools
import sys
from typing import Any

from ..errors import ProgramRefusedError
from .data_memory import refuse_protocols
from .families import holder
from .rebinding import rebound
from .replaced import REFUSED

__all__ = ["MAKERS"]


class _Memo:
    """The memo of one deep copy: answers for an object in hand, and lists nothing."""

    __slots__ = ("_found", "_kept")

    def __init__(self) -> None:
        self._found: dict[int, Any] = {}
        self._kept: list[Any] = []

    def get(self, key: int, default: Any = None) -> Any:
        return self._found.get(key, default)

    def __getitem__(self, key: int) -> Any:
        return self._found[key]

    def __setitem__(self, key: int, value: Any) -> None:
        self._found[key] = value

    def __contains__(self, key: int) -> bool:
        return key in self._found

    def __len__(self) -> int:
        return len(self._found)

    def setdefault(self, key: int, default: Any = None) -> Any:
        return self._found.setdefault(key, default)


def _holds_objects(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray) and value.dtype.hasobject


def _keep_alive(x: Any, memo: Any) -> None:
    if type(memo) is _Memo:
        memo._kept.append(x)


def _copy(modules: Any) -> dict[str, Any]:
    guards, meter = modules.guards, modules.meter

    def reconstruct(
        x: Any,
        memo: Any,
        func: Any,
        args: Any,
        state: Any = None,
        listiter: Any = None,
        dictiter: Any = None,
        **_also: Any,
    ) -> Any:
        if func is builtins.getattr:  # how methods say what they are
            func = guards.getattr_
        if not guards.is_own_class(type(x)):
            named = guards.instance_namespace(x)
            if any(name in named for name in ("__reduce_ex__", "__reduce__", "__setstate__")):
                raise ProgramRefusedError(
                    f"Forbidden copy of {type(x).__name__!r} object: it says itself how"
                )
            return original(x, memo, func, args, state, listiter, dictiter)
        deep = memo is not None
        made = func(*([deepcopy_(one, memo) for one in args] if deep else args))
        if deep:
            memo[id(x)] = made
        if state is not None:
            _restore(guards, made, deepcopy_(state, memo) if deep else state)
        for item in listiter or ():
            made.append(deepcopy_(item, memo) if deep else item)
        for key, value in dictiter or ():
            made[deepcopy_(key, memo) if deep else key] = deepcopy_(value, memo) if deep else value
        return made

    def read(value: Any, name: str, *default: Any) -> Any:
        if name == "__deepcopy__" and _holds_objects(value):
            return lambda memo: copied_array(value, memo)
        return getattr(value, name, *default)

    def copied_array(array: Any, memo: Any) -> Any:
        # numpy's own way is the standard library's copy.
        made = array.copy()
        for position in itertools.product(*map(range, array.shape)):
            made[position] = deepcopy_(array[position], memo)
        return made

    common = {"_keep_alive": _keep_alive, "getattr": read}
    original = rebound(copy, common)["_reconstruct"]
    namespace = rebound(copy, {**common, "_reconstruct": reconstruct})
    deepcopy_, copy_ = namespace["deepcopy"], namespace["copy"]

    def deepcopy(x: Any, memo: Any = None, _nil: Any = ()) -> Any:
        meter.look()
        if isinstance(x, (list, tuple, dict, set)):
            meter.charge(4 * len(x))
        if type(memo) is _Memo:
            return deepcopy_(x, memo)
        inner = _Memo()
        if memo is None:
            return deepcopy_(x, inner)
        for key, value in dict(memo).items():
            inner[key] = value
        made = memo[id(x)] = deepcopy_(x, inner)
        return made

    def copy_one(x: Any) -> Any:
        return copy_(x)

    copy_one.__name__ = copy_one.__qualname__ = "copy"
    refused = dict.fromkeys(("dispatch_table", "copyreg", "weakref"), REFUSED)
    return {"copy": copy_one, "deepcopy": deepcopy, **refused}


def _restore(guards: Any, made: Any, state: Any) -> None:
    """Give a copy its state, if it is the program's own."""
    if not guards.is_own(made):
        raise ProgramRefusedError(
            f"Forbidden: a copy that writes into {type(made).__name__!r} object, which is not of "
            "a class the program defines"
        )
    if hasattr(made, "__setstate__"):
        defining = holder(made, "__setstate__")
        if defining is not None and defining.__module__.split(".")[0] in ("numpy", "pandas"):
            # An array lets go of its memory, whoever still looks at it.
            raise ProgramRefusedError(
                f"Forbidden: a copy by {defining.__name__}.__setstate__(). Define __copy__"
            )
        made.__setstate__(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state is not None:
        refuse_protocols(state)
        made.__dict__.update(state)
    for name, value in (slots or {}).items():
        guards.setattr_(made, name, value)


MAKERS = {"copy": _copy}
