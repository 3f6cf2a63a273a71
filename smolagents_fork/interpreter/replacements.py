"""Members of modules that programs get in another form, or not at all.

Each entry says why. Part of the boundary that guards.py decides by; data and small functions only.
"""

from __future__ import annotations

import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

__all__ = ["REFUSED", "FrameStandIn", "members"]

#: Stands for a member that is not handed out.
REFUSED = object()
#: Combinatoric iterators up to this many results run unmetered.
_FEW = 20_000
#: Seconds of one slice of a sleep.
_SLICE = 0.05


def members(module: str, modules: Any) -> dict[str, Any]:
    """Replaced members of ``module`` for one interpreter's ``modules``."""
    made = modules._replaced.get(module)
    if made is None:
        maker = _MAKERS.get(module)
        made = modules._replaced[module] = {} if maker is None else maker(modules)
    return made  # type: ignore[no-any-return]


def _time(modules: Any) -> dict[str, Any]:
    meter = modules.meter

    def sleep(seconds: float) -> None:
        # In slices, so that the deadline is kept; the meter is asked even for sleep(0).
        meter.charge(1)
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        end = time.monotonic() + seconds
        while True:
            rest = end - time.monotonic()
            left = meter.seconds_left()
            if left is not None and left <= 0:
                meter.out_of_time()
            if rest <= 0:
                return
            time.sleep(min(rest, _SLICE) if left is None else min(rest, left, _SLICE))

    # The host's clock and time zone are not the program's to set.
    return {
        "sleep": sleep,
        "clock_settime": REFUSED,
        "clock_settime_ns": REFUSED,
        "tzset": REFUSED,
    }


def _itertools(modules: Any) -> dict[str, Any]:
    meter = modules.meter

    def endless(maker: Callable[..., Any]) -> Callable[..., Any]:
        def make(*arguments: Any, **keywords: Any) -> Any:
            return meter.metered(maker(*arguments, **keywords))

        make.__name__ = make.__qualname__ = maker.__name__
        return make

    def repeat(object: Any, *times: int, **keywords: Any) -> Any:
        made = itertools.repeat(object, *times, **keywords)
        count = times[0] if times else keywords.get("times")
        return made if count is not None and count <= _FEW else meter.metered(made)

    def product(*iterables: Any, repeat: int = 1) -> Any:
        pools = [tuple(pool) for pool in iterables]
        if repeat * len(pools) > _FEW:
            meter.too_large(f"product() of {repeat * len(pools)} pools is too large")
        size = math.prod(len(pool) for pool in pools) ** max(repeat, 0)
        made = itertools.product(*pools, repeat=repeat)
        return made if size <= _FEW else meter.metered(made)

    def arrangement(maker: Callable[..., Any], count: Callable[[int, int], int]) -> Any:
        def make(iterable: Any, r: int | None = None) -> Any:
            pool = tuple(iterable)
            length = len(pool) if r is None else r
            if length > _FEW:
                meter.too_large(f"{maker.__name__}() of length {length} is too large")
            made = maker(pool, length)
            few = length < 0 or len(pool) < 9 or (length <= 2 and count(len(pool), length) <= _FEW)
            return made if few and count(len(pool), max(length, 0)) <= _FEW else meter.metered(made)

        make.__name__ = make.__qualname__ = maker.__name__
        return make

    return {
        "count": endless(itertools.count),
        "cycle": endless(itertools.cycle),
        "repeat": repeat,
        "product": product,
        "permutations": arrangement(itertools.permutations, math.perm),
        "combinations": arrangement(itertools.combinations, math.comb),
        "combinations_with_replacement": arrangement(
            itertools.combinations_with_replacement, lambda n, r: math.comb(n + r - 1, r) if n else 1
        ),
    }


class _LoadedModules(Mapping[str, Any]):
    """``sys.modules``, every module in it as a view or refused."""

    def __init__(self, modules: Any) -> None:
        self._modules = modules

    def __getitem__(self, name: str) -> Any:
        return self._modules.view(sys.modules[name])

    def __iter__(self) -> Iterator[str]:
        return iter([name for name in sys.modules if self._modules.allows(name)])

    def __len__(self) -> int:
        return len(list(iter(self)))


class FrameStandIn:
    """What ``sys._getframe()`` gives where ``sys`` is authorised: no frame at all."""

    def __init__(self, modules: Any) -> None:
        self._modules = modules

    @property
    def f_builtins(self) -> Any:
        return _Members(self._modules.view(sys.modules["builtins"]))


class _Members(Mapping[str, Any]):
    """A module's namespace, read through its view."""

    def __init__(self, view: Any) -> None:
        self._view = view

    def __getitem__(self, name: str) -> Any:
        return getattr(self._view, name)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name in dir(self._view) if not name.startswith("_")])

    def __len__(self) -> int:
        return len(list(iter(self)))


def _sys(modules: Any) -> dict[str, Any]:
    refused = (
        "settrace setprofile gettrace getprofile setrecursionlimit setswitchinterval exc_info "
        "_current_frames _current_exceptions last_traceback last_value exception meta_path "
        "path_hooks path_importer_cache displayhook excepthook unraisablehook breakpointhook "
        "addaudithook audit call_tracing monitoring _git activate_stack_trampoline stdin "
        "__stdin__ __stdout__ __stderr__ intern set_asyncgen_hooks set_int_max_str_digits"
    ).split()
    result: dict[str, Any] = dict.fromkeys(refused, REFUSED)
    result["modules"] = _LoadedModules(modules)
    result["_getframe"] = lambda depth=0: FrameStandIn(modules)
    return result


def _importlib(modules: Any) -> dict[str, Any]:
    return {"import_module": modules.import_by_name, "reload": REFUSED}


def _builtins(modules: Any) -> dict[str, Any]:
    given = modules.namespace()
    result = {n: v for n, v in given.items() if not n.startswith(("@", "_"))}
    for name in ("exec", "eval", "compile", "globals", "locals", "open", "input", "breakpoint"):
        if name not in modules.tools:
            result.pop(name, None)
    if "__import__" in modules.tools:
        result["__import__"] = modules.import_by_name
    return result


_MAKERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "time": _time,
    "itertools": _itertools,
    "sys": _sys,
    "importlib": _importlib,
    "builtins": _builtins,
}