"""Estimates of the size of an operation's result, and the check that ends a run at the limit.

Only operations that make large results from small operands are checked: ``*``, ``**`` and ``<<``,
and the methods whose result is a product of their operands or as large as a number says. The
operands bound the result of any other operation.
"""

from __future__ import annotations

import operator
import types
from array import array
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .. import policy
from ..meter import Meter
from .text_format import check_format

__all__ = ["ESTIMATES", "Sizes"]

#: Sizes below this are not worth a look: a few kilobytes.
_SHORT = 4096
#: Integers up to the first make little in a product, or with an exponent up to the second, which as
#: a shift adds little to any.
_WORD, _FEW = 1 << 60, 64
_TEXTS = (str, bytes, bytearray)
_SEQUENCES = (*_TEXTS, list, tuple, deque, array)


class _Estimate(NamedTuple):
    """Size of a result, and the limit that applies to it."""

    amount: int
    limit: str


_ITEMS, _TEXT, _BITS = "max_items", "max_text_length", "max_integer_bits"
_UNITS = {
    _ITEMS: "{} items",
    _TEXT: "{} characters or bytes",
    _BITS: "an integer of {} bits",
}
_ADVICE = {_BITS: "Use floats, modular arithmetic (pow with three arguments) or logarithms"}
_NOTHING = _Estimate(0, _ITEMS)

_Operator = Callable[..., Any]
_IN_PLACE: Mapping[str, _Operator] = {
    "*": operator.imul,
    "**": operator.ipow,
    "<<": operator.ilshift,
}


def _length(value: Any) -> int:
    """Count the items of a sequence, whatever a ``__len__`` of the program's says."""
    for base in _SEQUENCES:
        if issubclass(type(value), base):
            return base.__len__(value)
    return 0


def _number(value: Any) -> int:
    """Give an integer as C code reads it, whatever an ``__int__`` of the program's says."""
    return int.__index__(value) if issubclass(type(value), int) else 0


def _estimate_product(left: Any, right: Any) -> _Estimate:
    if issubclass(type(left), int) and issubclass(type(right), int):
        return _Estimate(_number(left).bit_length() + _number(right).bit_length(), _BITS)
    for sequence, count in ((left, right), (right, left)):
        if issubclass(type(sequence), _SEQUENCES):
            limit = _TEXT if issubclass(type(sequence), _TEXTS) else _ITEMS
            return _Estimate(_length(sequence) * max(0, _number(count)), limit)
    return _NOTHING


def _estimate_power(base: Any, exponent: Any) -> _Estimate:
    size = _number(base).bit_length()
    return _Estimate(size * max(0, _number(exponent)) if size > 1 else 0, _BITS)


def _estimate_shift(value: Any, count: Any) -> _Estimate:
    size = _number(value).bit_length()
    return _Estimate(size + max(0, _number(count)) if size else 0, _BITS)


def _estimate_join(separator: Any, items: Any = (), *_: Any) -> _Estimate:
    if (type(items) is not list and type(items) is not tuple) or len(items) <= _FEW:
        return _NOTHING  # an iterator, or some items of what there is
    try:
        size = sum(map(str.__len__, items))
    except TypeError:
        size = sum(map(_length, items))
    return _Estimate(size + _length(separator) * len(items), _TEXT)


def _estimate_padding(_value: Any, width: Any = 0, *_: Any) -> _Estimate:
    return _Estimate(_number(width), _TEXT)


def _estimate_replacement(value: Any, old: Any = "", new: Any = "", *_: Any) -> _Estimate:
    size, more = _length(value), _length(new)
    if more <= _length(old) or size * more <= _SHORT:
        return _NOTHING
    text_type = next(base for base in _TEXTS if issubclass(type(value), base))
    return _Estimate(size + text_type.count(value, old) * more, _TEXT)


def _with_tabs(value: Any, tabsize: Any = 8, *_: Any) -> _Estimate:
    return _Estimate(_length(value) * max(1, _number(tabsize)), _TEXT)


#: The one table of sizes: an operator or a method, to an estimate of its result.
ESTIMATES: Mapping[str, Callable[..., _Estimate]] = {
    "*": _estimate_product,
    "**": _estimate_power,
    "<<": _estimate_shift,
    **dict.fromkeys(("center", "ljust", "rjust", "to_bytes", "zfill"), _estimate_padding),
    "expandtabs": _with_tabs,
    "join": _estimate_join,
    "replace": _estimate_replacement,
}
_PHRASES = {"*": "A multiplication", "**": "A power", "<<": "A shift"}


class Sizes:
    """Ends a run whose next operation would make too much."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self.multiply, self.power, self.shift = self._operators()
        self.imultiply, self.ipower, self.ishift = map(self.in_place, _IN_PLACE)

    def check(self, operation: str, *operands: Any, **keywords: Any) -> None:
        """Let an operation of :data:`ESTIMATES` make what it will, or end the run."""
        try:
            amount, limit = ESTIMATES[operation](*operands, *keywords.values())
        except TypeError:
            return  # the operation says what is wrong, in Python's words
        if amount <= _SHORT:
            return
        most = getattr(self._meter.limits, limit)
        if amount > most:
            self._meter.too_large(
                f"{_PHRASES.get(operation, f'{operation}()')} would make "
                f"{_UNITS[limit].format(amount)}; a single operation may make {most} ({limit}). "
                f"{_ADVICE.get(limit, 'Work in smaller pieces')}"
            )

    # -- operators --

    def _operators(self) -> tuple[_Operator, ...]:
        """Make the guards of ``*``, ``**`` and ``<<``: what is surely small is seen first."""
        check, factor = self.check, self.factor

        def multiply(left: Any, right: Any) -> Any:
            left_type = type(left)
            if left_type is int and type(right) is int:
                if left < policy.ONE_DIGIT and left > -policy.ONE_DIGIT:
                    return left * right
            elif left_type is float or type(right) is float:
                return left * right
            return left * factor(left, right)

        def power(base: Any, exponent: Any) -> Any:
            base_type = type(base)
            if base_type is not float:
                few = type(exponent) is int and exponent <= _FEW
                if not few or base_type is not int or not -_WORD < base < _WORD:
                    check("**", base, exponent)
            return base**exponent

        def shift(value: Any, count: Any) -> Any:
            if type(count) is not int or count > _FEW:
                check("<<", value, count)
            return value << count

        return multiply, power, shift

    def factor(self, left: Any, right: Any, *_: Any) -> Any:
        """Give the right operand of a product that may be made."""
        if type(left) is int and type(right) is int:
            if -_WORD < right < _WORD:
                return right  # adds little
        elif type(left) is float or type(right) is float:
            return right  # a float repeats nothing, and makes no integer
        self.check("*", left, right)
        return right

    def in_place(self, operation: str) -> _Operator:
        """Make the guard of an augmented assignment."""
        apply = _IN_PLACE[operation]

        def check_size(value: Any, operand: Any) -> Any:
            self.check(operation, value, operand)
            return apply(value, operand)

        return check_size

    # -- methods --

    def call(self, receiver: Any, name: str, /, *arguments: Any, **keywords: Any) -> Any:
        """Call one of policy.SIZED_METHODS or policy.FORMATS."""
        if name == "join" and len(arguments) == 1 and not keywords:
            (items,) = arguments
            if type(items) is list and len(items) <= _FEW:
                return receiver.join(items)  # as most are: few items of what there is
        method = getattr(receiver, name)
        if type(method) is types.BuiltinMethodType:
            operands = (method.__self__, *arguments)
        elif type(method) is types.MethodDescriptorType:  # of a class: str.center(text, width)
            operands = arguments
        else:
            return method(*arguments, **keywords)
        if name in policy.FORMATS:
            if operands and isinstance(operands[0], str):
                check_format(str.__str__(operands[0]))
        else:
            self.check(name, *operands, **keywords)
        return method(*arguments, **keywords)

    def pow_(self, base: Any, exp: Any, mod: Any = None) -> Any:
        """Stand for ``pow``."""
        return self.power(base, exp) if mod is None else pow(base, exp, mod)
