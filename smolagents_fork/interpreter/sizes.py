"""Guards against single operations that exhaust memory or time: decides by sizes alone.

Part of the boundary in guards.py, which binds these functions; nothing here looks at names.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from . import parts
from .build import words
from .meter import Meter
from .sized_types import LONG_RANGE, LongRange, SizedType

__all__ = ["Sizes"]

_DIGITS = re.compile(r"\d{5,}")
_SEQUENCES = (str, bytes, bytearray, list, tuple, deque)
_MEASURED = (
    str,
    bytes,
    bytearray,
    int,
    list,
    dict,
    set,
    deque,
    re.Pattern,
    re.Match,
)
_PLAIN_SIZED = frozenset({list, tuple, set, dict, range, str, frozenset})
#: Characters below which a result needs no second look.
_MUCH = 1 << 16
#: Sizes below this are not worth a look: a few kilobytes.
SHORT = 4096


class Sizes:
    """Size guards of one interpreter.

    Args:
        meter: stops a run; holds the limits.
    """

    OPERATORS = frozenset(
        words("__mul__ __rmul__ __imul__ __pow__ __rpow__ __lshift__ __rlshift__ __mod__ __rmod__ ")
    )

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self._types: dict[type, SizedType] = {
            cls: SizedType(self.make, cls) for cls in (range, bytes, bytearray)
        }

    # -- what all of them come down to --

    def check_items(self, count: int, what: str, text: bool = False) -> None:
        """Let an operation make ``count`` items or characters, or stop the run."""
        limits = self.meter.limits
        most = limits.max_text_length if text else limits.max_items
        if count > most:
            kind = "characters or bytes" if text else "items"
            self.meter.too_large(
                f"{what} would make {count} {kind}; a single operation may make {most}. "
                "Work in smaller pieces"
            )
        if count > SHORT:
            self.meter.charge(count >> (10 if count < 1 << 20 else 6))

    def check_bits(self, bits: int, what: str) -> None:
        """Let an operation make an integer of ``bits`` bits, or stop the run."""
        most = self.meter.limits.max_integer_bits
        if bits > most:
            self.meter.too_large(
                f"{what} would make an integer of {bits} bits; a single operation may make one of "
                f"{most}. Use floats, modular arithmetic (pow with three arguments) or logarithms"
            )
        if bits > 4096:
            self.meter.charge(bits >> 10)

    def grown(self, value: Any) -> Any:
        """A sum, after the fact: each operand was within the limits."""
        if isinstance(value, _SEQUENCES):
            size = len(value)
            if size > SHORT:
                self.check_items(size, "An addition", isinstance(value, (str, bytes, bytearray)))
        return value

    def appended(self, value: Any) -> None:
        """A sum in place: what was there costs nothing again."""
        if isinstance(value, _SEQUENCES):
            size, text = len(value), not isinstance(value, (list, tuple))
            limits = self.meter.limits
            if size > (limits.max_text_length if text else limits.max_items):
                self.check_items(size, "An addition", text)

    def addend(self, value: Any) -> Any:
        """What is added in place to an attribute or an item."""
        kind = type(value)
        if kind is int or kind is float:
            return value
        return self.grown(value)

    def large(self, value: Any) -> Any:
        """A product or a small power of numbers, after the fact."""
        if type(value) is not int:
            return value
        self.check_bits(value.bit_length(), "A multiplication")
        return value

    def multiply(self, left: Any, right: Any, in_place: bool = False) -> Any:
        """``left * right``"""
        for sequence, count in ((left, right), (right, left)):
            if isinstance(sequence, _SEQUENCES) and isinstance(count, int):
                size = len(sequence) * max(0, int(count))
                if size > SHORT:
                    text = isinstance(sequence, (str, bytes, bytearray))
                    self.check_items(size, "A repetition", text)
        if in_place:
            left *= right
            return left
        result = left * right
        if type(result) is int:
            if result.bit_length() > 4096:
                self.large(result)
        elif isinstance(result, _SEQUENCES) and len(result) > 64:
            # Sums with products are not looked at again: see operators._is_charged.
            self.meter.charge(len(result) >> 3)
        return result

    def imultiply(self, left: Any, right: Any) -> Any:
        """``left *= right``"""
        result = self.multiply(left, right, in_place=True)
        if type(result) is int and result.bit_length() > 4096:
            self.large(result)
        return result

    def _check_power(self, base: Any, exponent: Any) -> None:
        if isinstance(base, int) and isinstance(exponent, int) and exponent > 0:
            bits = int(base).bit_length() * int(exponent)
            if bits > 4096 and abs(base) > 1:
                self.check_bits(bits, "A power")

    def power(self, base: Any, exponent: Any) -> Any:
        """``base ** exponent``"""
        self._check_power(base, exponent)
        return base**exponent

    def ipower(self, base: Any, exponent: Any) -> Any:
        """``base **= exponent``"""
        self._check_power(base, exponent)
        base **= exponent
        return base

    def _check_shift(self, value: Any, count: Any) -> None:
        if isinstance(value, int) and isinstance(count, int) and value:
            bits = int(value).bit_length() + max(0, int(count))
            if bits > 4096:
                self.check_bits(bits, "A shift")

    def shift(self, value: Any, count: Any) -> Any:
        """``value << count``"""
        self._check_shift(value, count)
        return value << count

    def ishift(self, value: Any, count: Any) -> Any:
        """``value <<= count``"""
        self._check_shift(value, count)
        value <<= count
        return value

    def _check_modulo(self, left: Any, right: Any) -> None:
        if isinstance(left, (str, bytes, bytearray)):
            text = left if isinstance(left, str) else bytes(left).decode("latin-1")
            self.specification(text)
            if "*" in text:
                values = right if isinstance(right, tuple) else (right,)
                for value in values:
                    if isinstance(value, int):
                        self.check_items(abs(int(value)), "A format", text=True)

    def modulo(self, left: Any, right: Any) -> Any:
        """``left % right``"""
        self._check_modulo(left, right)
        result = left % right
        return self.grown(result) if isinstance(result, _SEQUENCES) else result

    def imodulo(self, left: Any, right: Any) -> Any:
        """``left %= right``"""
        self._check_modulo(left, right)
        left %= right
        return left

    def specification(self, text: str) -> str:
        """A format specification, if every width and precision in it is within the limits."""
        for number in _DIGITS.findall(text):
            self.check_items(int(number), "A format", text=True)
        return text

    def make(self, cls: Any, *arguments: Any, **keywords: Any) -> Any:
        """A call of ``range``, ``bytes`` or ``bytearray``, if the name still means that."""
        if cls is range:
            made = range(*arguments, **keywords)
            try:
                few = len(made) <= LONG_RANGE
            except OverflowError:
                few = False
            return made if few else LongRange(made, self.meter)
        if (cls is bytes or cls is bytearray) and arguments and isinstance(arguments[0], int):
            self.check_items(int(arguments[0]), f"{cls.__name__}()", text=True)
        return cls(*arguments, **keywords)

    def sized_type(self, cls: Any) -> Any:
        """``range``, ``bytes`` or ``bytearray`` as a value, if the name still means that."""
        return self._types.get(cls, cls) if isinstance(cls, type) else cls

    def check_substitution(self, pattern: Any, replacement: Any, text: Any) -> None:
        """Let ``re.sub`` make a result of reasonable size."""
        self.meter.look()
        if isinstance(replacement, (str, bytes)) and isinstance(text, (str, bytes)):
            most = (len(text) + 1) * len(replacement) + len(text)
            if most > self.meter.limits.max_text_length:
                found = sum(1 for _ in pattern.finditer(text))
                self.check_items(found * len(replacement) + len(text), "A substitution", text=True)

    # -- methods --

    def sized_call(self, receiver: Any, name: str, *arguments: Any, **keywords: Any) -> Any:
        """A call of one of policy.SIZED_METHODS."""
        kind = type(receiver)
        if kind is str and not keywords:
            if name == "replace" and len(arguments) == 2:
                old, new = arguments
                if type(new) is str and len(receiver) * (len(new) + 1) < _MUCH:
                    return receiver.replace(old, new)
            elif name == "join" and len(arguments) == 1:
                items = arguments[0]
                if type(items) in (list, tuple) and not self._long(receiver, items):
                    return receiver.join(items)
        elif kind is list and name == "extend" and len(arguments) == 1 and not keywords:
            items = arguments[0]
            if type(items) in _PLAIN_SIZED and len(items) < SHORT:
                return receiver.extend(items)
        if isinstance(receiver, _MEASURED):
            return self.method(receiver, name)(*arguments, **keywords)
        return getattr(receiver, name)(*arguments, **keywords)

    def _long(self, separator: str, items: Any) -> bool:
        """Whether a join gives much; items that are no strings are the join's own business."""
        try:
            return sum(map(len, items)) + len(separator) * len(items) >= _MUCH
        except TypeError:
            return True

    def method(self, receiver: Any, name: str) -> Callable[..., Any]:
        """One of policy.SIZED_METHODS of a string, bytes or integer, or of their classes."""
        found = getattr(receiver, name)
        if isinstance(receiver, type) and not issubclass(receiver, _MEASURED):
            return found  # type: ignore[no-any-return]
        unbound = isinstance(receiver, type) and name != "from_bytes"

        def limited(*arguments: Any, **keywords: Any) -> Any:
            value = arguments[0] if unbound and arguments else receiver
            rest = arguments[1:] if unbound else arguments
            # An iterator can be read once only: join gets what was measured.
            rest = self._measure(value, name, rest, keywords)
            return found(value, *rest, **keywords) if unbound else found(*rest, **keywords)

        return limited

    def _measure(self, value: Any, name: str, rest: Any, keywords: Any) -> Any:
        size = len(value) if isinstance(value, (str, bytes, bytearray)) else 0
        if name in ("extend", "extendleft", "update"):
            return self._measure_extension(value, rest)
        if name in ("sub", "subn") and isinstance(value, re.Pattern) and len(rest) > 1:
            self.check_substitution(value, rest[0], rest[1])
            return rest
        if name == "elements" and isinstance(value, Counter):
            total = sum(count for count in value.values() if isinstance(count, int) and count > 0)
            self.check_items(total, "elements()")
            return rest
        if name == "join" and rest:
            items = rest[0]
            if not isinstance(items, (list, tuple)):
                try:
                    iterator = iter(items)
                except TypeError:
                    return rest  # join's own error
                items = list(iterator)
            total = sum(len(item) for item in items if isinstance(item, _SEQUENCES))
            total += size * len(items)
            if total > SHORT:
                self.check_items(total, "join()", text=True)
            return (items, *rest[1:])
        if name == "replace" and len(rest) >= 2 and isinstance(rest[0], (str, bytes, bytearray)):
            if len(rest[1]) > len(rest[0]) and size * len(rest[1]) > SHORT:
                found = value.count(rest[0])
                self.check_items(size + found * len(rest[1]), "replace()", text=True)
        elif name == "translate" and size and rest and isinstance(rest[0], dict):
            longest = max((len(v) for v in rest[0].values() if isinstance(v, str)), default=1)
            self.check_items(size * max(1, longest), "translate()", text=True)
        elif name == "expandtabs":
            width = rest[0] if rest else keywords.get("tabsize", 8)
            if isinstance(width, int):
                self.check_items(
                    size + value.count("\t" if isinstance(value, str) else b"\t") * int(width),
                    "expandtabs()",
                    text=True,
                )
        elif name == "from_bytes" and rest and isinstance(rest[0], (bytes, bytearray)):
            self.check_bits(len(rest[0]) * 8, "from_bytes()")
        elif name in ("ljust", "rjust", "center", "zfill", "to_bytes"):
            width = rest[0] if rest else keywords.get("length", 0)
            if isinstance(width, int) and width > SHORT:
                self.check_items(int(width), f"{name}()", text=True)
        return rest

    def _measure_extension(self, value: Any, rest: Any) -> Any:
        checked = []
        for items in rest:
            if hasattr(type(items), "__len__"):
                count = len(items)
                if count > SHORT:
                    self.check_items(
                        count + len(value), "An extension", isinstance(value, bytearray)
                    )
                    self.meter.charge(count >> 3)
            checked.append(items)
        return tuple(checked)

    def operator(self, value: Any, name: str) -> Callable[..., Any]:
        """``x.__mul__`` and its like of built-in types, under the same guard as the operator."""
        found = getattr(value, name)
        checks: dict[str, Callable[[Any, Any], Any]] = {
            "mul": self.multiply,
            "pow": self.power,
            "lshift": self.shift,
            "mod": self.modulo,
        }
        kind = name.strip("_")

        def limited(*arguments: Any) -> Any:
            operands = arguments if isinstance(value, type) else (value, *arguments)
            if len(operands) >= 2 and all(
                type(operand) in (*_SEQUENCES, int, float) for operand in operands[:2]
            ):
                check = checks[kind.lstrip("ri") if kind not in checks else kind]
                left, right = operands[:2]
                check(*((right, left) if kind.startswith("r") else (left, right)))
            return found(*arguments)

        return limited

    def limited_format(self, found: Callable[[str], str]) -> Callable[..., str]:
        """``x.__format__``"""

        def format_(*arguments: Any) -> str:
            for argument in arguments:
                if isinstance(argument, str):
                    self.specification(argument)
            return found(*arguments)

        return format_

    # -- builtins --

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

        def sorted_(iterable: Any, /, *, key: Any = None, reverse: bool = False) -> list[Any]:
            made = sorted(iterable, key=key, reverse=reverse)
            if len(made) > SHORT:
                self.meter.charge(len(made) >> 1)
                self.meter.look()
            return made

        def pow_(base: Any, exp: Any, mod: Any = None) -> Any:
            if mod is None:
                return self.power(base, exp)
            return pow(base, exp, mod)

        def format_(value: Any, format_spec: str = "") -> str:
            return format(value, self.specification(format_spec))

        made = {
            "pow": pow_,
            "format": format_,
            "iter": iter_,
            "repr": repr_,
            "ascii": ascii_,
            "sorted": sorted_,
        }
        for name, function in made.items():
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
            "@sized_call": self.sized_call,
            "@attribute_part": parts.attribute_part,
            "@item_part": parts.item_part,
            "@make": self.make,
            "@sized_type": self.sized_type,
        }
