"""Estimates of what one operation makes, and the wrapper that ends a run before it makes too much.

:data:`ESTIMATES` is the one table: ``(type, operation)`` to a function that tells from the operands
how much the result will be. What is not in the table is bounded by its operands.
"""

from __future__ import annotations

import functools
import operator
import re
import sys
import types
from array import array
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..meter import Meter, MeteredItems

__all__ = ["BITS", "ESTIMATES", "ITEMS", "SHORT", "TEXT", "Estimate", "Sizes"]

#: Sizes below this are not worth a look: a few kilobytes.
SHORT = 4096
#: Characters of a join, or of a replacement, that need no exact estimate.
_MUCH = 1 << 16
#: Widths and precisions that are worth a look.
_DIGITS = re.compile(r"\d{4,}")
_TEXTS = (str, bytes, bytearray)
_SEQUENCES = (*_TEXTS, list, tuple, deque, array)
_EXACT = frozenset(_SEQUENCES)
_BUILT_IN = (
    types.BuiltinMethodType,
    types.MethodDescriptorType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
)
#: Formats that are remembered at once, and characters of one of them.
_FORMATS, _FORMAT = 64, 128


class Estimate(NamedTuple):
    """Size of a result: ``amount`` of ``kind`` (items, text or bits)."""

    amount: int
    kind: str


ITEMS, TEXT, BITS = "items", "text", "bits"
_NOTHING = Estimate(0, ITEMS)


_Operator = Callable[..., Any]
#: Tells from a receiver and its arguments how much an operation makes.
_Estimator = Callable[..., Estimate]


def length(value: Any) -> int:
    """Count the items of a sequence, whatever a ``__len__`` of the program's says."""
    if type(value) not in _EXACT:
        for base in _SEQUENCES:
            if issubclass(type(value), base):
                return base.__len__(value)
    return len(value)


def number(value: Any) -> int:
    """Give an integer as C code reads it, whatever an ``__int__`` of the program's says."""
    return int.__index__(value) if issubclass(type(value), int) else 0


def _is_int(value: Any) -> bool:
    return issubclass(type(value), int)


def _is_sequence(value: Any) -> bool:
    return issubclass(type(value), _SEQUENCES)


def _count(value: Any, part: Any) -> int:
    """Count how often ``part`` is in a text or bytes, whatever their class says."""
    for base in _TEXTS:
        if issubclass(type(value), base):
            return base.count(value, part)
    return 0


# -- estimates of operators --


def _repeated(left: Any, right: Any) -> Estimate:
    for sequence, count in ((left, right), (right, left)):
        if _is_sequence(sequence) and _is_int(count):
            kind = TEXT if issubclass(type(sequence), _TEXTS) else ITEMS
            return Estimate(length(sequence) * max(0, number(count)), kind)
    return _NOTHING


def _raised(base: Any, exponent: Any) -> Estimate:
    size = number(base).bit_length()
    return Estimate(size * max(0, number(exponent)) if size > 1 else 0, BITS)


def _shifted(value: Any, count: Any) -> Estimate:
    size = number(value).bit_length()
    return Estimate(size + max(0, number(count)) if size else 0, BITS)


def width_of(text: str) -> int:
    """Sum widths and precisions worth a look; one that no index can hold Python refuses."""
    return sum(n for n in map(int, _DIGITS.findall(text)) if n <= sys.maxsize)


def _formatted(template: Any, values: Any) -> Estimate:
    text = str.__str__(template) if isinstance(template, str) else bytes(template).decode("latin1")
    total = width_of(text)
    given = values if isinstance(values, tuple) else (values,)
    if "*" in text:
        total += sum(abs(number(value)) for value in given)
    if isinstance(values, dict):
        # Each may be asked for again and again.
        longest = max((length(v) for v in values.values() if _is_sequence(v)), default=0)
        total += longest * text.count("%(")
    else:
        total += sum(length(value) for value in given if _is_sequence(value))
    return Estimate(total, TEXT)


# -- estimates of methods --


def _joined(separator: Any, items: Any = (), *_: Any) -> Estimate:
    if type(items) not in (list, tuple):
        return _NOTHING
    total = sum(length(item) for item in items if _is_sequence(item))
    return Estimate(total + length(separator) * len(items), TEXT)


def _padded(_value: Any, width: Any = 0, *_: Any) -> Estimate:
    return Estimate(number(width), TEXT)


def _replaced(value: Any, old: Any = "", new: Any = "", *_: Any) -> Estimate:
    if not (_is_sequence(new) and _is_sequence(old)):
        return _NOTHING
    size, more = length(value), length(new)
    if more <= length(old) or size * more <= SHORT:
        return _NOTHING
    return Estimate(size + _count(value, old) * more, TEXT)


def _translated(value: Any, table: Any = None, *_: Any) -> Estimate:
    if not isinstance(table, dict):
        return _NOTHING
    longest = max((length(v) for v in table.values() if isinstance(v, str)), default=1)
    return Estimate(length(value) * max(1, longest), TEXT)


def _tabs_expanded(value: Any, tabsize: Any = 8, *_: Any) -> Estimate:
    tab = "\t" if isinstance(value, str) else b"\t"
    return Estimate(length(value) + _count(value, tab) * max(0, number(tabsize)), TEXT)


def _extended(value: Any, items: Any = (), *_: Any) -> Estimate:
    if not hasattr(type(items), "__len__"):
        return _NOTHING
    kind = TEXT if isinstance(value, bytearray) else ITEMS
    return Estimate(len(items) + length(value), kind)


#: The one table of sizes: (type, operation) to an estimate of the result.
ESTIMATES: Mapping[tuple[type, str], _Estimator] = {
    **{(kind, "*"): _repeated for kind in _SEQUENCES},
    (int, "**"): _raised,
    (int, "<<"): _shifted,
    (int, "to_bytes"): _padded,
    **{(kind, "%"): _formatted for kind in _TEXTS},
    **{(kind, "join"): _joined for kind in _TEXTS},
    **{(kind, name): _padded for kind in _TEXTS for name in ("center", "ljust", "rjust", "zfill")},
    **{(kind, "replace"): _replaced for kind in _TEXTS},
    **{(kind, "expandtabs"): _tabs_expanded for kind in _TEXTS},
    (str, "translate"): _translated,
    **{(kind, "extend"): _extended for kind in (list, bytearray, deque, array)},
}
#: By identity: a program's metaclass may define __hash__.
_ROW_TYPES = frozenset(id(kind) for kind, _operation in ESTIMATES)


def _estimator(kind: type, operation: str) -> _Estimator | None:
    """Find the row of a type or of the built-in type it derives from."""
    bases: tuple[type, ...] = type.__dict__["__mro__"].__get__(kind)
    for base in bases:
        if id(base) in _ROW_TYPES:
            return ESTIMATES.get((base, operation))
    return None


class Sizes:
    """Ends a run whose next operation would make too much.

    Args:
        meter: ends the run; has the limits.
        items: meters what C code goes over.
    """

    def __init__(self, meter: Meter, items: MeteredItems) -> None:
        self._meter = meter
        self._items = items
        self._small_formats: dict[str, bool] = {}
        self.multiply, self.imultiply = map(self._multiplying, (operator.mul, operator.imul))
        self.modulo, self.imodulo = map(self._formatting, (operator.mod, operator.imod))
        self.power = self._checked(operator.pow, _raised, "A power")
        self.ipower = self._checked(operator.ipow, _raised, "A power")
        self.shift = self._checked(operator.lshift, _shifted, "A shift")
        self.ishift = self._checked(operator.ilshift, _shifted, "A shift")
        #: The functions of augmented assignments, by the name of the operator's node.
        self.in_place: Mapping[str, _Operator] = {
            "Mult": self.imultiply,
            "Pow": self.ipower,
            "LShift": self.ishift,
            "Mod": self.imodulo,
            "Add": operator.iadd,
            "Sub": operator.isub,
            "MatMult": operator.imatmul,
            "Div": operator.itruediv,
            "FloorDiv": operator.ifloordiv,
            "RShift": operator.irshift,
            "BitOr": operator.ior,
            "BitXor": operator.ixor,
            "BitAnd": operator.iand,
        }

    # -- the wrapper --

    def check(self, estimate: Estimate, operation: str) -> None:
        """Let an operation make what was estimated, or end the run."""
        amount, kind = estimate
        if amount <= SHORT:
            return
        limits = self._meter.limits
        if kind == BITS:
            if amount > limits.max_integer_bits:
                self._meter.too_large(
                    f"{operation} would make an integer of {amount} bits; a single operation may "
                    f"make one of {limits.max_integer_bits}. Use floats, modular arithmetic (pow "
                    "with three arguments) or logarithms"
                )
            self._meter.charge(amount >> 10)
            return
        most = limits.max_text_length if kind == TEXT else limits.max_items
        if amount > most:
            what = "characters or bytes" if kind == TEXT else "items"
            self._meter.too_large(
                f"{operation} would make {amount} {what}; a single operation may make {most}. "
                "Work in smaller pieces"
            )
        self._meter.charge(amount >> (10 if amount < 1 << 20 else 6))

    def limited(self, function: Callable[..., Any], estimate: Callable[..., Estimate]) -> Any:
        """Wrap ``function`` with an estimate from its arguments."""
        name = f"{function.__name__}()"

        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Any:
            try:
                found = estimate(*arguments, **keywords)
            except TypeError:
                return function(*arguments, **keywords)  # says what is wrong in Python's words
            self.check(found, name)
            return function(*arguments, **keywords)

        call.__dict__.pop("__wrapped__", None)
        return call

    # -- operators --

    def _multiplying(self, multiply: _Operator) -> _Operator:
        """Guard ``*`` or ``*=``."""

        def guard(left: Any, right: Any, *_: Any) -> Any:
            a, b = type(left), type(right)
            if (a is float or b is float) and (a is int or b is int):
                return multiply(left, right)
            if _is_sequence(left) or _is_sequence(right):
                self.check(_repeated(left, right), "A repetition")
            result = multiply(left, right)
            if type(result) is int:
                return self.large(result)
            if _is_sequence(result) and length(result) > 64:
                self._meter.charge(length(result) >> 3)
            return result

        return guard

    def _checked(self, apply: _Operator, estimate: _Estimator, phrase: str) -> _Operator:
        """Guard an operator that makes large integers of integers only."""

        def guard(left: Any, right: Any, *_: Any) -> Any:
            if _is_int(left) and _is_int(right):
                self.check(estimate(left, right), phrase)
            return apply(left, right)

        return guard

    def _is_small_format(self, text: str, values: Any) -> bool:
        """Tell whether nothing in a format can make it large: most are short and used often."""
        small = self._small_formats.get(text)
        if small is None:
            if len(text) > _FORMAT:
                return False
            small = width_of(text) < SHORT and "*" not in text and "%(" not in text
            if len(self._small_formats) >= _FORMATS:
                self._small_formats.clear()
            self._small_formats[text] = small
        if not small:
            return False
        for value in values if type(values) is tuple else (values,):
            kind = type(value)
            if not (kind is int or kind is float or (kind is str and len(value) < _FORMAT)):
                return False
        return True

    def _formatting(self, modulo: _Operator) -> _Operator:
        """Guard ``%`` or ``%=``."""

        def guard(left: Any, right: Any, *_: Any) -> Any:
            if type(left) is str and self._is_small_format(left, right):
                return modulo(left, right)
            if issubclass(type(left), _TEXTS):
                self.check(_formatted(left, right), "A format")
            result = modulo(left, right)
            return self.grown(result) if issubclass(type(result), _TEXTS) else result

        return guard

    def grown(self, value: Any, *_: Any) -> Any:
        """Check a sum after the fact: each operand was within the limits."""
        if _is_sequence(value) and length(value) > SHORT:
            kind = TEXT if issubclass(type(value), _TEXTS) else ITEMS
            self.check(Estimate(length(value), kind), "An addition")
        return value

    def added(self, whole: Any, value: Any, *_: Any) -> Any:
        """Check what is added in place to ``whole``; what was there costs nothing again.

        Items that C code takes one by one are counted.
        """
        if not _is_sequence(value):
            taken = issubclass(type(whole), (list, deque)) and hasattr(type(value), "__iter__")
            return self._items.metered(value, 1) if taken else value
        if _is_sequence(whole):
            kind = TEXT if issubclass(type(whole), _TEXTS) else ITEMS
            limits, size = self._meter.limits, length(whole) + length(value)
            if size > (limits.max_text_length if kind == TEXT else limits.max_items):
                self.check(Estimate(size, kind), "An addition")
        return value

    def addend(self, value: Any, *_: Any) -> Any:
        """Check what is added in place to an attribute or an item."""
        return self.grown(self._items.fed(value))

    def large(self, value: Any) -> Any:
        """Check a product or a small power of numbers after the fact."""
        if type(value) is int and value.bit_length() > SHORT:
            self.check(Estimate(value.bit_length(), BITS), "A multiplication")
        return value

    def specification(self, text: str) -> str:
        """Check the widths and precisions of a format specification; give it back."""
        if len(text) > 3:
            self.check(Estimate(width_of(text), TEXT), "A format")
        return text

    # -- methods --

    def call(self, receiver: Any, name: str, /, *arguments: Any, **keywords: Any) -> Any:
        """Call one of policy.SIZED_METHODS."""
        if type(receiver) is str and name == "join" and len(arguments) == 1:
            items = arguments[0]
            if (type(items) is list or type(items) is tuple) and _is_short_join(receiver, items):
                return receiver.join(items)
        return self._limited(getattr(receiver, name), name, arguments, keywords)

    def method(self, receiver: Any, name: str) -> Any:
        """Give one of policy.SIZED_METHODS as a value: of an object, a class, or ``super()``."""
        found = getattr(receiver, name)
        if not isinstance(found, _BUILT_IN):
            return found

        def limited(*arguments: Any, **keywords: Any) -> Any:
            return self._limited(found, name, arguments, keywords)

        limited.__name__ = name
        limited.__qualname__ = getattr(found, "__qualname__", name)
        return limited

    def _limited(
        self, method: Any, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        """Call ``method`` within the limits; one of a program or a library as it is."""
        estimate = None
        if isinstance(method, _BUILT_IN):
            bound = getattr(method, "__self__", None)
            if bound is None or isinstance(bound, (type, types.ModuleType)):
                receiver, given = arguments[:1], arguments[1:]
            else:
                receiver, given = (bound,), arguments
            estimate = _estimator(type(receiver[0]), name) if receiver else None
        if estimate is None:
            return method(*arguments, **keywords)
        if given and name == "extend":
            given = (self._items.fed(given[0]), *given[1:])
        elif given and name == "join" and hasattr(type(given[0]), "__iter__"):
            # An iterator can be read once only: join gets what was measured.
            given = (given[0] if type(given[0]) in (list, tuple) else list(given[0]), *given[1:])
        self.check(estimate(*receiver, *given, *keywords.values()), f"{name}()")
        return method(*(given if len(given) == len(arguments) else (*receiver, *given)), **keywords)

    # -- built-ins --

    def builtins(self) -> dict[str, Callable[..., Any]]:
        """Give the builtins that make much of small arguments."""

        def iter_(*arguments: Any) -> Any:
            made = iter(*arguments)
            return self._items.metered(made) if len(arguments) == 2 else made

        def pow_(base: Any, exp: Any, mod: Any = None) -> Any:
            return self.power(base, exp) if mod is None else pow(base, exp, mod)

        def format_(value: Any, spec: str = "", /) -> str:
            return format(value, self.specification(spec))

        made: dict[str, Callable[..., Any]] = {"pow": pow_, "format": format_, "iter": iter_}
        for name, function in made.items():
            function.__name__ = function.__qualname__ = name
        return made


def _is_short_join(separator: str, items: Any) -> bool:
    """Tell whether a join gives little; what is not a string needs another look."""
    try:
        return sum(map(str.__len__, items)) + len(separator) * len(items) < _MUCH
    except TypeError:
        return False
