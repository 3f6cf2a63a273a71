"""Members of modules that programs get in another form, or not at all.

Each entry says why. Part of the boundary that guards.py decides by; data and small functions only.
"""

from __future__ import annotations

import importlib
import itertools
import math
import time
from collections.abc import Callable
from typing import Any

__all__ = ["REFUSED", "members"]

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


_MAKERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "time": _time,
    "itertools": _itertools,
}
assert importlib
