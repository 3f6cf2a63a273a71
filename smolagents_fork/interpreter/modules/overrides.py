"""The one table of overrides: members of modules that programs get in another form.

A row is here because the member takes attribute names, prints, waits, makes classes for the
program, or makes much of little. Everything else is the library's own, shared with the host as
upstream shares it.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import math
import operator
import string
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...errors import ProgramRefusedError
from .. import policy
from ..guards.attributes import AttributeGuard, FrameProxy
from ..guards.program_classes import ProgramClasses
from ..guards.sizes import BITS, TEXT, Estimate, Sizes, width_of
from ..meter import Meter, MeteredItems
from .event_loops import EventLoops
from .streams import StandardStreams
from .threads import ProgramThreads
from .waiting import waiting_members

__all__ = ["OVERRIDES", "Overrides"]

#: Every override, with the reason for it; :class:`Overrides` makes what stands there.
OVERRIDES: Mapping[tuple[str, str], str] = {
    # take attribute names
    ("operator", "attrgetter"): "reads by name",
    ("operator", "methodcaller"): "calls by name",
    ("string", "Formatter"): "reads by name in fields",
    ("importlib", "import_module"): "imports by name",
    ("typing", "get_type_hints"): "runs annotations that are text",
    ("sys", "_getframe"): "frames are not handed out",
    ("sys", "modules"): "contains modules that are not authorised",
    # print
    ("sys", "stdout"): "the program's own stream",
    ("sys", "stderr"): "the program's own stream",
    ("contextlib", "redirect_stdout"): "redirects the program's own stream",
    ("contextlib", "redirect_stderr"): "redirects the program's own stream",
    # wait
    ("time", "sleep"): "waits",
    ("threading", "Lock"): "waits",
    ("threading", "RLock"): "waits",
    ("threading", "Condition"): "waits",
    ("threading", "Event"): "waits",
    ("threading", "Semaphore"): "waits",
    ("threading", "BoundedSemaphore"): "waits",
    ("threading", "Barrier"): "waits",
    ("threading", "Thread"): "belongs to its run",
    ("threading", "Timer"): "belongs to its run",
    ("queue", "Queue"): "waits",
    ("queue", "LifoQueue"): "waits",
    ("queue", "PriorityQueue"): "waits",
    ("queue", "SimpleQueue"): "waits",
    ("concurrent.futures", "ThreadPoolExecutor"): "its threads belong to their run",
    ("asyncio", "run"): "keeps the deadline",
    ("asyncio", "Runner"): "keeps the deadline",
    ("asyncio", "new_event_loop"): "keeps the deadline",
    ("asyncio", "get_event_loop"): "keeps the deadline",
    ("asyncio", "set_event_loop"): "the host's loop stays",
    # make classes for the program
    ("collections", "namedtuple"): "makes a class",
    ("dataclasses", "dataclass"): "may make a class anew",
    ("dataclasses", "make_dataclass"): "makes a class",
    # make much of little, or are without an end
    ("itertools", "count"): "endless",
    ("itertools", "cycle"): "endless",
    ("itertools", "repeat"): "endless",
    ("itertools", "product"): "many",
    ("itertools", "permutations"): "many",
    ("itertools", "combinations"): "many",
    ("itertools", "combinations_with_replacement"): "many",
    ("math", "factorial"): "large",
    ("math", "comb"): "large",
    ("math", "perm"): "large",
    ("operator", "mul"): "large",
    ("operator", "pow"): "large",
    ("operator", "lshift"): "large",
    ("operator", "mod"): "large",
}
#: Combinatoric iterators of up to this many results run unmetered.
_FEW = 20_000


def _named(function: Any, like: Any) -> Any:
    function.__name__ = function.__qualname__ = like.__name__
    function.__doc__, function.__module__ = like.__doc__, like.__module__
    return function


def _factorial_bits(n: Any) -> Estimate:
    n = int.__index__(n)
    return Estimate(int(n * math.log2(n / math.e)) if n > 100 else 0, BITS)


def _comb_bits(n: Any, k: Any) -> Estimate:
    n, k = int.__index__(n), int.__index__(k)
    if not 0 < k <= n:
        return Estimate(0, BITS)
    return Estimate(min(n, min(k, n - k) * n.bit_length()), BITS)


def _perm_bits(n: Any, k: Any = None) -> Estimate:
    n = int.__index__(n)
    k = n if k is None else int.__index__(k)
    return Estimate(k * n.bit_length() if 0 < k <= n else 0, BITS)


def _get_type_hints(obj: Any, *_namespaces: Any, include_extras: bool = False) -> Any:
    """Stand for ``typing.get_type_hints``, without annotations that are text."""
    for one in obj.__mro__ if isinstance(obj, type) else (obj,):
        for annotation in dict(getattr(one, "__annotations__", None) or {}).values():
            if isinstance(annotation, str) or "ForwardRef(" in repr(annotation):
                raise ProgramRefusedError(
                    f"Forbidden: annotation {str(annotation)!r} is text, which would be run as "
                    "code. Write the annotation as an expression"
                )
    return typing.get_type_hints(obj, include_extras=include_extras)


class Overrides:
    """Makes the members of :data:`OVERRIDES` for one interpreter.

    Args:
        meter: of the interpreter.
        items: meters what is gone over.
        sizes: checks estimates.
        attributes: the attribute guard.
        classes: the registry of the program's classes.
        threads: the program's threads.
        streams: the program's standard streams.
    """

    def __init__(
        self,
        meter: Meter,
        items: MeteredItems,
        sizes: Sizes,
        attributes: AttributeGuard,
        classes: ProgramClasses,
        threads: ProgramThreads,
        streams: StandardStreams,
    ) -> None:
        self._meter = meter
        self._items = items
        self._sizes = sizes
        self._attributes = attributes
        self._classes = classes
        waiting = waiting_members(meter, threads)
        self.loops = EventLoops(meter, waiting["concurrent.futures", "ThreadPoolExecutor"])
        arrangements = ("permutations", "combinations", "combinations_with_replacement")
        self._made: dict[tuple[str, str], Any] = {
            **waiting,
            **self.loops.members(),
            ("operator", "attrgetter"): self._attrgetter,
            ("operator", "methodcaller"): self._methodcaller,
            ("operator", "mul"): sizes.multiply,
            ("operator", "pow"): sizes.power,
            ("operator", "lshift"): sizes.shift,
            ("operator", "mod"): sizes.modulo,
            ("string", "Formatter"): self._formatter(),
            ("typing", "get_type_hints"): _get_type_hints,
            ("sys", "stdout"): streams.stdout,
            ("sys", "stderr"): streams.stderr,
            ("contextlib", "redirect_stdout"): streams.stdout.redirected,
            ("contextlib", "redirect_stderr"): streams.stderr.redirected,
            ("collections", "namedtuple"): self._namedtuple,
            ("dataclasses", "dataclass"): _named(self._dataclass(), dataclasses.dataclass),
            ("dataclasses", "make_dataclass"): self._make_dataclass(),
            ("itertools", "count"): self._endless(itertools.count),
            ("itertools", "cycle"): self._endless(itertools.cycle),
            ("itertools", "repeat"): _named(self._repeat(), itertools.repeat),
            ("itertools", "product"): _named(self._product(), itertools.product),
            **{
                ("itertools", name): self._arrangement(getattr(itertools, name))
                for name in arrangements
            },
            ("math", "factorial"): sizes.limited(math.factorial, _factorial_bits),
            ("math", "comb"): sizes.limited(math.comb, _comb_bits),
            ("math", "perm"): sizes.limited(math.perm, _perm_bits),
        }

    def members(
        self, module: str, import_by_name: Callable[..., Any], loaded: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Give the overrides of ``module``, by member.

        Args:
            module: the module's name.
            import_by_name: imports a module as the program may have it.
            loaded: what stands for ``sys.modules``.
        """
        made = self._made | {
            ("importlib", "import_module"): import_by_name,
            ("sys", "modules"): loaded,
            ("sys", "_getframe"): lambda _depth=0: FrameProxy(loaded),
        }
        return {member: made[home, member] for home, member in OVERRIDES if home == module}

    # -- by name --

    def _attrgetter(self, attr: str, /, *attrs: str) -> Callable[[Any], Any]:
        read = self._attributes.read
        names = []
        for name in (attr, *attrs):
            if not isinstance(name, str):
                raise TypeError("attribute name must be a string")
            names.append(str.__str__(name).split("."))
        if all(policy.is_plain(part) for parts in names for part in parts):
            return operator.attrgetter(*(".".join(parts) for parts in names))

        def get(obj: Any) -> Any:
            found = []
            for parts in names:
                value = obj
                for part in parts:
                    value = read(value, part)
                found.append(value)
            return found[0] if len(found) == 1 else tuple(found)

        return get

    def _methodcaller(self, name: str, /, *arguments: Any, **keywords: Any) -> Any:
        if not isinstance(name, str):
            raise TypeError("method name must be a string")
        plain, read = str.__str__(name), self._attributes.read
        if policy.is_plain(plain):
            return operator.methodcaller(plain, *arguments, **keywords)
        return lambda obj: read(obj, plain)(*arguments, **keywords)

    def _formatter(self) -> type:
        read, sizes = self._attributes.read, self._sizes

        class Formatter(string.Formatter):
            def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
                first, rest = __import__("_string").formatter_field_name_split(
                    str.__str__(field_name)
                )
                found = self.get_value(first, args, kwargs)
                for is_attribute, part in rest:
                    found = read(found, part) if is_attribute else found[part]
                return found, first

            def format_field(self, value: Any, format_spec: str) -> Any:
                sizes.check(Estimate(width_of(str.__str__(format_spec)), TEXT), "A format")
                return super().format_field(value, format_spec)

        Formatter.__module__, Formatter.__qualname__ = "string", "Formatter"
        return Formatter

    # -- classes --

    def _namedtuple(self, typename: str, field_names: Any, **keywords: Any) -> Any:
        keywords.setdefault("module", "__main__")
        made = collections.namedtuple(typename, field_names, **keywords)  # type: ignore[misc]
        self._classes.register(made)
        return made

    def _make_dataclass(self) -> Any:
        def make_dataclass(cls_name: str, fields: Any, **keywords: Any) -> Any:
            made = dataclasses.make_dataclass(cls_name, fields, **keywords)
            self._classes.register(made)
            return made

        return _named(make_dataclass, dataclasses.make_dataclass)

    def _dataclass(self) -> Any:
        def dataclass(cls: Any = None, /, **keywords: Any) -> Any:
            def decorate(one: Any) -> Any:
                self._attributes.writable(one, "__init__")
                made = dataclasses.dataclass(one, **keywords)
                if made is not one:
                    self._classes.register(made)  # with slots it is made anew
                return made

            return decorate if cls is None else decorate(cls)

        return dataclass

    # -- sizes --

    def _endless(self, maker: Callable[..., Any]) -> Callable[..., Any]:
        metered = self._items.metered

        def make(*arguments: Any, **keywords: Any) -> Any:
            return metered(maker(*arguments, **keywords))

        return _named(make, maker)  # type: ignore[no-any-return]

    def _repeat(self) -> Callable[..., Any]:
        metered = self._items.metered

        def repeat(*arguments: Any, **keywords: Any) -> Any:
            made = itertools.repeat(*arguments, **keywords)
            count = arguments[1] if len(arguments) > 1 else keywords.get("times")
            return made if count is not None and count <= _FEW else metered(made)

        return repeat

    def _product(self) -> Callable[..., Any]:
        meter, metered = self._meter, self._items.metered

        def product(*iterables: Iterable[Any], repeat: int = 1) -> Any:
            pools = [tuple(pool) for pool in iterables]
            if not isinstance(repeat, int):
                return itertools.product(*pools, repeat=repeat)
            if repeat * len(pools) > _FEW:
                meter.too_large(f"product() of {repeat * len(pools)} pools is too large")
            size = math.prod(len(pool) for pool in pools) ** max(repeat, 0)
            made = itertools.product(*pools, repeat=repeat)
            return made if size <= _FEW else metered(made)

        return product

    def _arrangement(self, maker: Callable[..., Any]) -> Any:
        meter, metered = self._meter, self._items.metered

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
            return made if len(pool) < 6 and 0 <= length < 6 else metered(made)

        return _named(make, maker)
