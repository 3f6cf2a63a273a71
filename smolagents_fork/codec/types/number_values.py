"""Numbers: ints of any size, floats, packed lists of both, complex numbers, decimals, fractions."""

from __future__ import annotations

import array
import decimal
import fractions
import re
import sys
from typing import Any

from smolagents_fork.codec.coding import (
    Decoding,
    Encode,
    Encoding,
    Row,
    Tree,
    ints_of,
    plain_text,
    row,
    stored,
)
from smolagents_fork.codec.limits import (
    MAX_FRACTION_BITS,
    MAX_INT_BITS,
    PACKED_FROM,
    SMALL_INT,
    Fault,
)

_HEX = re.compile(r"-?0x[0-9a-f]+")


def encode_big_int(encoder: Encoding, value: int) -> Tree:
    """Encode an int of more than 64 bits, in hexadecimal."""
    bits = value.bit_length()
    if bits > MAX_INT_BITS:
        raise Fault(f"an int of {bits} bits; at most {MAX_INT_BITS} can be encoded")
    encoder.charge(bits // 4)
    return {"$": "int", "v": hex(value)}


def _int_of(_: Decoding, tree: dict[str, Tree]) -> int:
    text = plain_text(tree["v"])
    if len(text) > MAX_INT_BITS // 4 + 4 or not _HEX.fullmatch(text):
        raise Fault("not an int")
    return int(text, 16)


def _float_of(_: Decoding, tree: dict[str, Tree]) -> float:
    if tree["v"] not in ("nan", "inf", "-inf"):
        raise Fault("not a float")
    return float(tree["v"])


def encode_packed(encoder: Encoding, value: list[Any]) -> Tree:
    """Encode a long list of floats or ints as raw numbers; ``None`` for other lists.

    Digits are slow: raw numbers are ten times faster.
    """
    if len(value) < PACKED_FROM:
        return None
    types = set(map(type, value))
    whole = types == {int} and min(value) >= -SMALL_INT and max(value) < SMALL_INT
    if not (whole or types == {float}):
        return None
    encoder.count(len(value))
    packed = array.array("q" if whole else "d", value)
    if sys.byteorder == "big":
        packed.byteswap()
    return {"$": "ints" if whole else "floats", "v": encoder.raw(packed)}


def _complex(encoder: Encoding, value: complex) -> Tree:
    return {"$": "complex", "v": encoder.items([value.real, value.imag], 2)}


def _complex_of(decoder: Decoding, tree: dict[str, Tree]) -> complex:
    parts = decoder.items(tree["v"])
    if len(parts) != 2 or not all(type(part) is float for part in parts):
        raise Fault("a complex has two floats")
    return complex(*parts)


def _decimal(encoder: Encoding, value: decimal.Decimal) -> Tree:
    return {"$": "Decimal", "v": encoder.text(str(value))}


def _fraction(encoder: Encoding, value: fractions.Fraction) -> Tree:
    parts = [value.numerator, value.denominator]
    if max(part.bit_length() for part in parts) > MAX_FRACTION_BITS:
        raise Fault(f"a Fraction with more than {MAX_FRACTION_BITS} bits cannot be encoded")
    return {"$": "Fraction", "v": encoder.items(parts, 2)}


def _fraction_of(decoder: Decoding, tree: dict[str, Tree]) -> fractions.Fraction:
    parts = ints_of(decoder, tree["v"], 2)
    if parts[1] <= 0 or max(part.bit_length() for part in parts) > MAX_FRACTION_BITS:
        raise Fault("not a Fraction, or one that is too long")
    return fractions.Fraction(*parts)


NUMBER_ENCODERS: dict[type, Encode] = {
    complex: _complex,
    decimal.Decimal: _decimal,
    fractions.Fraction: _fraction,
}
NUMBER_TAGS: dict[str, Row] = {
    "int": row(_int_of),
    "float": row(_float_of),
    "ints": row(lambda d, t: d.numbers(t["v"], "q")),
    "floats": row(lambda d, t: d.numbers(t["v"], "d")),
    "complex": row(_complex_of),
    "Decimal": row(lambda _, t: decimal.Decimal(plain_text(t["v"]))),
    "Fraction": row(_fraction_of, work=10_000),
}
NUMBER_COPIES: tuple[tuple[type, Any], ...] = (
    (int, int.__int__),
    (float, float.__float__),
    (complex, complex.__pos__),
    (decimal.Decimal, lambda v: decimal.Decimal(decimal.Decimal.__str__(v))),
    (
        fractions.Fraction,
        lambda v: fractions.Fraction(*stored(fractions.Fraction, v, "numerator", "denominator")),
    ),
)
