"""Guards of the operators whose result can be far larger than their operands.

Part of the boundary in guards.py, which binds these functions; see operators.py for where they run.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from .build import words
from .size_checks import DIGITS, SEQUENCES, SHORT, SizeChecks, length, number

__all__ = ["SizedOperators"]

_BUILT_IN = (
    types.BuiltinMethodType,
    types.MethodDescriptorType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
)
#: What the operators make large of small operands.
_LIMITED = (*SEQUENCES, int, float)
#: Characters of a format, and of a text put into it, that need no look at their sum.
_FORMAT = 128
#: Formats that are remembered at once.
_FORMATS = 64


class SizedOperators(SizeChecks):
    """``*``, ``**``, ``<<`` and ``%``, in place and as methods."""

    OPERATORS = frozenset(
        words(
            "__add__ __radd__ __iadd__ __mul__ __rmul__ __imul__ __pow__ __rpow__ __lshift__ "
            "__rlshift__ __mod__ __rmod__ "
        )
    )

    def _check_repetition(self, left: Any, right: Any) -> None:
        for sequence, count in ((left, right), (right, left)):
            if isinstance(sequence, SEQUENCES) and isinstance(count, int):
                size = length(sequence) * max(0, number(count))
                if size > SHORT:
                    text = isinstance(sequence, (str, bytes, bytearray))
                    self.check_items(size, "A repetition", text)

    def multiply(self, left: Any, right: Any, *_: Any, in_place: bool = False) -> Any:
        """``left * right``"""
        self._check_repetition(left, right)
        if in_place:
            left *= right
            return left
        result = left * right
        if type(result) is int:
            if result.bit_length() > 4096:
                self.large(result)
        elif isinstance(result, SEQUENCES) and len(result) > 64:
            # Sums with products are not looked at again: see operators._is_charged.
            self.meter.charge(len(result) >> 3)
        return result

    def imultiply(self, left: Any, right: Any, *_: Any) -> Any:
        """``left *= right``"""
        result = self.multiply(left, right, in_place=True)
        if type(result) is int and result.bit_length() > 4096:
            self.large(result)
        return result

    def _check_power(self, base: Any, exponent: Any) -> None:
        if isinstance(base, int) and isinstance(exponent, int):
            size = number(base).bit_length()
            bits = size * number(exponent)
            if bits > 4096 and size > 1:
                self.check_bits(bits, "A power")

    def power(self, base: Any, exponent: Any, *_: Any) -> Any:
        """``base ** exponent``"""
        self._check_power(base, exponent)
        return base**exponent

    def ipower(self, base: Any, exponent: Any) -> Any:
        """``base **= exponent``"""
        self._check_power(base, exponent)
        base **= exponent
        return base

    def round_off(self, function: Any, /, *arguments: Any, **keywords: Any) -> Any:
        """``round`` to a number of digits, if the name still means that."""
        digits = arguments[1] if len(arguments) > 1 else keywords.get("ndigits")
        if function is round and isinstance(digits, int) and number(digits) < 0:
            # It makes that power of ten first.
            self.check_bits(-4 * number(digits), "round()")
        return function(*arguments, **keywords)

    def _check_shift(self, value: Any, count: Any) -> None:
        if isinstance(value, int) and isinstance(count, int):
            size = number(value).bit_length()
            bits = size + max(0, number(count))
            if bits > 4096 and size:
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
            text = str.__str__(left) if isinstance(left, str) else bytes(left).decode("latin-1")
            self.specification(text)
            if "*" in text:
                values = right if isinstance(right, tuple) else (right,)
                for value in values:
                    if isinstance(value, int):
                        self.check_items(abs(number(value)), "A format", text=True)
            if isinstance(right, tuple):
                total = sum(length(value) for value in right if isinstance(value, SEQUENCES))
            elif isinstance(right, dict):
                # Each may be asked for again and again.
                longest = max(
                    (length(v) for v in right.values() if isinstance(v, SEQUENCES)), default=0
                )
                total = longest * text.count("%(")
            else:
                total = length(right) if isinstance(right, SEQUENCES) else 0
            if total > SHORT:
                self.check_items(total, "A format", text=True)

    def _is_small_format(self, text: str, values: Any) -> bool:
        """Whether nothing in a format can make it large: most are short, and used many times."""
        small = self._formats.get(text)
        if small is None:
            if len(text) > _FORMAT:
                return False
            widths = sum(map(int, DIGITS.findall(text)))
            small = widths < SHORT and "*" not in text and "%(" not in text
            if len(self._formats) >= _FORMATS:
                self._formats.clear()
            self._formats[text] = small
        if not small:
            return False
        for value in values if type(values) is tuple else (values,):
            kind = type(value)
            if not (kind is int or kind is float or (kind is str and len(value) < _FORMAT)):
                return False
        return True

    def modulo(self, left: Any, right: Any, *_: Any) -> Any:
        """``left % right``"""
        if type(left) is str and self._is_small_format(left, right):
            return left % right
        self._check_modulo(left, right)
        result = left % right
        return self.grown(result) if isinstance(result, SEQUENCES) else result

    def imodulo(self, left: Any, right: Any) -> Any:
        """``left %= right``"""
        self._check_modulo(left, right)
        left %= right
        return left

    def operator(self, value: Any, name: str) -> Callable[..., Any]:
        """``x.__mul__`` and its like of built-in types, under the same guard as the operator."""
        found = getattr(value, name)
        if not isinstance(found, _BUILT_IN):
            return found  # type: ignore[no-any-return]  # of a class of the program's
        receiver: Any = value
        if type(value) is super:
            receiver = value.__self__  # type: ignore[attr-defined]  # typeshed has no super objects
        kind = name.strip("_")
        reflected = kind.startswith("r")
        check = {
            "mul": self._check_repetition,
            "pow": self._check_power,
            "lshift": self._check_shift,
            "mod": self._check_modulo,
        }.get(kind.lstrip("ri"))

        def limited(*arguments: Any) -> Any:
            operands = arguments if isinstance(value, type) else (receiver, *arguments)
            kinds = tuple(map(type, operands[:2]))
            if len(kinds) == 2 and all(issubclass(one, _LIMITED) for one in kinds):
                left, right = operands[:2]
                if check is not None:
                    check(*((right, left) if reflected else (left, right)))
            if kind == "iadd" and len(kinds) == 2 and issubclass(kinds[0], SEQUENCES):
                arguments = (*arguments[:-1], *self._measure_extension(operands[0], operands[1:]))
            made = found(*arguments)
            if issubclass(type(made), int):
                if int.bit_length(made) > 4096:
                    self.large(number(made))
                return made
            return self.grown(made) if issubclass(type(made), SEQUENCES) else made

        return limited
