"""Members of math, random, itertools and operator whose one call can exhaust time or memory.

Part of the boundary that guards.py decides by: each is the original behind a size guard.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
import random
from collections.abc import Callable, Iterable
from typing import Any

from . import policy
from .size_checks import number
from .sized_callbacks import CALLING
from .sized_types import SizedType

__all__ = ["MAKERS", "guarded_random", "named"]

#: Combinatoric iterators of up to this many results run unmetered.
_FEW = 20_000


def named(function: Any, like: Any) -> Any:
    function.__name__ = function.__qualname__ = like.__name__
    function.__doc__, function.__module__ = like.__doc__, like.__module__
    return function


def _itertools(modules: Any) -> dict[str, Any]:
    meter, sizes = modules.meter, modules.sizes

    def endless(maker: Callable[..., Any]) -> Callable[..., Any]:
        def make(*arguments: Any, **keywords: Any) -> Any:
            return meter.metered(maker(*arguments, **keywords))

        return named(make, maker)  # type: ignore[no-any-return]

    def repeat(*arguments: Any, **keywords: Any) -> Any:
        made = itertools.repeat(*arguments, **keywords)
        count = arguments[1] if len(arguments) > 1 else keywords.get("times")
        return made if count is not None and count <= _FEW else meter.metered(made)

    def product(*iterables: Any, repeat: int = 1) -> Any:
        pools = [tuple(pool) for pool in iterables]
        if not isinstance(repeat, int):
            return itertools.product(*pools, repeat=repeat)
        if repeat * len(pools) > _FEW:
            meter.too_large(f"product() of {repeat * len(pools)} pools is too large")
        size = math.prod(len(pool) for pool in pools) ** max(repeat, 0)
        made = itertools.product(*pools, repeat=repeat)
        return made if size <= _FEW else meter.metered(made)

    def arrangement(maker: Callable[..., Any]) -> Any:
        def make(*arguments: Any, **keywords: Any) -> Any:
            if not arguments:
                return maker(**keywords)
            pool = tuple(arguments[0])
            length = arguments[1] if len(arguments) > 1 else keywords.get("r")
            length = length if isinstance(length, int) else len(pool)
            if length > _FEW:
                meter.too_large(f"{maker.__name__}() of length {length} is too large")
            made = maker(pool, *arguments[1:], **keywords)
            # len ** length bounds all three.
            return made if len(pool) < 6 and 0 <= length < 6 else meter.metered(made)

        return named(make, maker)

    def tee(iterable: Any, n: int = 2) -> Any:
        if n > 1000:
            meter.too_large(f"tee() into {n} iterators is too large")
        return itertools.tee(iterable, n)

    return {
        "count": endless(itertools.count),
        "cycle": endless(itertools.cycle),
        "repeat": repeat,
        **{cls.__name__: SizedType(sizes.iterating(cls, at), cls) for cls, at in CALLING},
        "product": product,
        "tee": tee,
        "permutations": arrangement(itertools.permutations),
        "combinations": arrangement(itertools.combinations),
        "combinations_with_replacement": arrangement(itertools.combinations_with_replacement),
    }


def _math(modules: Any) -> dict[str, Any]:
    sizes = modules.sizes

    def factorial(n: Any, /) -> int:
        n = number(n) if isinstance(n, int) else n
        if isinstance(n, int) and n > 100:
            sizes.check_bits(int(n * math.log2(n / math.e)), "factorial()")
        return math.factorial(n)

    def perm(n: int, k: int | None = None, /) -> int:
        n = number(n) if isinstance(n, int) else n
        k = number(k) if isinstance(k, int) else k
        length = n if k is None else k
        if isinstance(n, int) and isinstance(length, int) and 0 < length <= n:
            sizes.check_bits(length * n.bit_length(), "perm()")
        return math.perm(n, k)

    def comb(n: int, k: int, /) -> int:
        n = number(n) if isinstance(n, int) else n
        k = number(k) if isinstance(k, int) else k
        if isinstance(n, int) and isinstance(k, int) and 0 < k <= n:
            bits = min(n, min(k, n - k) * n.bit_length())
            sizes.check_bits(bits, "comb()")
            modules.meter.charge(min(k, n - k) * bits // 30_000)
        return math.comb(n, k)

    def total_bits(items: Iterable[Any], what: str) -> list[Any]:
        values = list(items)
        bits = sum(value.bit_length() for value in values if isinstance(value, int))
        sizes.check_bits(bits, what)
        return values

    def prod(iterable: Any, /, *, start: Any = 1) -> Any:
        values = total_bits(iterable, "prod()")
        for value in (start, *values):
            if not isinstance(value, (int, float)):
                # Sequences repeat and classes have methods of their own: step by step.
                return functools.reduce(sizes.multiply, values, start)
        return math.prod(values, start=start)

    def lcm(*integers: int) -> int:
        return math.lcm(*total_bits(integers, "lcm()"))

    made = {"factorial": factorial, "perm": perm, "comb": comb, "prod": prod, "lcm": lcm}
    return {name: named(function, getattr(math, name)) for name, function in made.items()}


def guarded_random(modules: Any) -> tuple[type, type]:
    """``random.Random`` and ``random.SystemRandom`` with sizes held."""
    sizes, meter = modules.sizes, modules.meter

    class Guarded:
        def getrandbits(self, k: int) -> int:
            if isinstance(k, int):
                sizes.check_bits(int(k), "getrandbits()")
            return super().getrandbits(k)  # type: ignore[misc,no-any-return]

        def randbytes(self, n: int) -> bytes:
            if isinstance(n, int):
                sizes.check_items(int(n), "randbytes()", text=True)
                meter.charge(max(0, int(n)) >> 6)
            return random.Random.getrandbits(self, n * 8).to_bytes(n, "little")  # type: ignore[arg-type]

        def sample(self, population: Any, k: int, *, counts: Any = None) -> list[Any]:
            self._many(k, "sample()")
            return super().sample(population, k, counts=counts)  # type: ignore[misc,no-any-return]

        def choices(
            self, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1
        ) -> list[Any]:
            self._many(k, "choices()")
            return super().choices(  # type: ignore[misc,no-any-return]
                population, weights, cum_weights=cum_weights, k=k
            )

        def shuffle(self, x: Any) -> None:
            self._many(len(x), "shuffle()")
            super().shuffle(x)  # type: ignore[misc]

        def _many(self, count: Any, what: str) -> None:
            if isinstance(count, int) and count > 1000:
                sizes.check_items(int(count), what)
                meter.charge(int(count))

    def made(name: str, base: type) -> type:
        return type(
            name, (Guarded, base), {"__module__": "random", "__qualname__": name, "@guards": True}
        )

    return made("Random", random.Random), made("SystemRandom", random.SystemRandom)


def _random(modules: Any) -> dict[str, Any]:
    generator, system = guarded_random(modules)
    # Its own generator: seeding it must not seed the host's.
    own = generator()
    result: dict[str, Any] = {
        name: getattr(own, name)
        for name in random.__all__
        if hasattr(random.Random, name) and not isinstance(getattr(random, name), type)
    }
    return {**result, "Random": generator, "SystemRandom": system}


def _operator(modules: Any) -> dict[str, Any]:
    sizes, guards = modules.sizes, modules.guards

    class attrgetter:  # the standard library's name
        """``operator.attrgetter``, every name through the attribute guard."""

        def __init__(self, attr: str, *attrs: str) -> None:
            self._names = [str.__str__(name) for name in (attr, *attrs)]
            parts = [part for name in self._names for part in name.split(".")]
            self._plain = None
            if all(map(policy.is_plain, parts)):
                self._plain = operator.attrgetter(*self._names)

        def __call__(self, obj: Any) -> Any:
            if self._plain is not None and id(type(obj)) in guards.own:
                return self._plain(obj)
            found = []
            for names in self._names:
                value = obj
                for name in names.split("."):
                    value = guards.read(value, name)
                found.append(value)
            return found[0] if len(found) == 1 else tuple(found)

    def methodcaller(name: str, /, *arguments: Any, **keywords: Any) -> Any:
        plain = str.__str__(name)

        def call(obj: Any) -> Any:
            return guards.read(obj, plain)(*arguments, **keywords)

        return call

    def concat(a: Any, b: Any) -> Any:
        return sizes.grown(operator.concat(a, b))

    def iconcat(a: Any, b: Any) -> Any:
        a += b  # both sequences, or Python refuses
        return sizes.grown(a)

    def add(a: Any, b: Any) -> Any:
        return sizes.grown(a + b)

    def iadd(a: Any, b: Any) -> Any:
        a += b
        return sizes.grown(a)

    return {
        "attrgetter": attrgetter,
        "methodcaller": methodcaller,
        "concat": concat,
        "iconcat": iconcat,
        "add": add,
        "iadd": iadd,
        "mul": sizes.multiply,
        "imul": sizes.imultiply,
        "pow": sizes.power,
        "ipow": sizes.ipower,
        "lshift": sizes.shift,
        "ilshift": sizes.ishift,
        "mod": sizes.modulo,
        "imod": sizes.imodulo,
    }


MAKERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "itertools": _itertools,
    "math": _math,
    "random": _random,
    "operator": _operator,
}
