"""Guards against single operations that exhaust memory or time: all of them, and their names.

Part of the boundary in guards.py, which binds these functions; nothing here looks at names.
"""

from __future__ import annotations

from typing import Any

from . import parts
from .meter import Meter
from .size_checks import SHORT, number
from .sized_callbacks import SizedCallbacks
from .sized_methods import SizedMethods
from .sized_operators import SizedOperators
from .sized_types import LONG_RANGE, LongRange, SizedType

__all__ = ["Sizes"]


#: Steps of a power with a modulus: some two seconds.
_LONG_POWER = 3e8


class Sizes(SizedOperators, SizedMethods, SizedCallbacks):
    """Size guards of one interpreter.

    Args:
        meter: stops a run; holds the limits.
    """

    def __init__(self, meter: Meter) -> None:
        super().__init__(meter)
        self._types: dict[type, SizedType] = {
            cls: SizedType(self.make, cls) for cls in (range, bytes, bytearray, map, filter)
        }
        self._extremes = {id(one): self.extreme(one) for one in (min, max)}

    def make(self, cls: Any, /, *arguments: Any, **keywords: Any) -> Any:
        """A call of ``range``, ``bytes`` or ``bytearray``, if the name still means that."""
        if cls is range:
            made = range(*arguments, **keywords)
            try:
                few = len(made) <= LONG_RANGE
            except OverflowError:
                few = False
            return made if few else LongRange(made, self.meter)
        if cls is map or cls is filter:
            return self.mapped(cls, *arguments, **keywords)
        if (cls is bytes or cls is bytearray) and arguments and isinstance(arguments[0], int):
            self.check_items(number(arguments[0]), f"{cls.__name__}()", text=True)
        return cls(*arguments, **keywords)

    def sized_type(self, found: Any) -> Any:
        """What guards such a type or function, as a value, if the name still means that."""
        if isinstance(found, type):
            return self._types.get(found, found)
        return self._extremes.get(id(found), found)

    def builtins(self) -> dict[str, Any]:
        """Builtins that make large values from small arguments."""

        def iter_(*arguments: Any) -> Any:
            made = iter(*arguments)
            return self.meter.metered(made) if len(arguments) == 2 else made

        def repr_(obj: Any, /) -> str:
            text = repr(obj)
            return text if len(text) < SHORT else self.grown(text)

        def ascii_(obj: Any, /) -> str:
            return self.grown(ascii(obj))  # type: ignore[no-any-return]

        def pow_(base: Any, exp: Any, mod: Any = None) -> Any:
            if mod is None:
                return self.power(base, exp)
            if isinstance(exp, int) and isinstance(mod, int):
                # Squarings, each as long as a product of numbers of that length takes.
                steps = int(exp).bit_length() * (int(mod).bit_length() / 30 + 1) ** 1.6
                if steps > _LONG_POWER:
                    self.meter.too_large(
                        f"pow() of numbers of {exp.bit_length()} and {mod.bit_length()} bits is "
                        "too much work"
                    )
                if steps > 10_000:
                    self.meter.charge(int(steps / 100))
            return pow(base, exp, mod)

        def format_(value: Any, format_spec: str = "") -> str:
            return format(value, self.specification(format_spec))

        made = {
            "pow": pow_,
            "format": format_,
            "iter": iter_,
            "repr": repr_,
            "ascii": ascii_,
            "sorted": self.sorted,
        }
        for name, function in made.items():
            if name != "sorted":
                function.__name__ = function.__qualname__ = name
        return made

    def hidden(self) -> dict[str, Any]:
        """The names ``transform`` and ``operators`` use."""
        limits = self.meter.limits
        return {
            "@type": type,
            "@len": len,
            "@int": int,
            "@float": float,
            "@str": str,
            "@list": list,
            "@short": SHORT,
            "@most_items": min(limits.max_items, limits.max_text_length),
            "@mul": self.multiply,
            "@imul": self.imultiply,
            "@power": self.power,
            "@ipower": self.ipower,
            "@shift": self.shift,
            "@ishift": self.ishift,
            "@modulo": self.modulo,
            "@imodulo": self.imodulo,
            "@large": self.large,
            "@grown": self.grown,
            "@appended": self.appended,
            "@addend": self.addend,
            "@specification": self.specification,
            "@sum": self.summed,
            "@round_off": self.round_off,
            "@sized_call": self.sized_call,
            "@attribute_part": parts.attribute_part,
            "@item_part": parts.item_part,
            "@make": self.make,
            "@sized_type": self.sized_type,
        }
