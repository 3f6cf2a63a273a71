"""Numbers: ints of any size, floats, packed lists of both, complex numbers, decimals, fractions."""

from __future__ import annotations

import decimal
import fractions
import re
from typing import Any

from smolagents_fork.codec.decoder import TAGS, Decoder, ints_of, plain_text, row
from smolagents_fork.codec.encoder import ENCODERS, Encoder
from smolagents_fork.codec.limits import (
    MAX_FRACTION_BITS,
    MAX_INT_BITS,
    Fault,
)

_HEX = re.compile(r"-?0x[0-9a-f]+")


def _int_of(_: Decoder, tree: dict[str, Any]) -> int:
    text = plain_text(tree["v"])
    if len(text) > MAX_INT_BITS // 4 + 4 or not _HEX.fullmatch(text):
        raise Fault("not an int")
    return int(text, 16)


def _float_of(_: Decoder, tree: dict[str, Any]) -> float:
    if tree["v"] not in ("nan", "inf", "-inf"):
        raise Fault("not a float")
    return float(tree["v"])


def _complex(encoder: Encoder, value: complex) -> Any:
    return {"$": "complex", "v": encoder.items([value.real, value.imag], 2)}


def _complex_of(decoder: Decoder, tree: dict[str, Any]) -> complex:
    parts = decoder.items(tree["v"])
    if len(parts) != 2 or not all(type(part) is float for part in parts):
        raise Fault("a complex has two floats")
    return complex(*parts)


def _decimal(encoder: Encoder, value: decimal.Decimal) -> Any:
    return {"$": "Decimal", "v": encoder.text(decimal.Decimal.__str__(value))}


def _fraction(encoder: Encoder, value: fractions.Fraction) -> Any:
    parts = [value.numerator, value.denominator]
    if max(part.bit_length() for part in parts) > MAX_FRACTION_BITS:
        raise Fault(f"a Fraction with more than {MAX_FRACTION_BITS} bits cannot be encoded")
    return {"$": "Fraction", "v": encoder.items(parts, 2)}


def _fraction_of(decoder: Decoder, tree: dict[str, Any]) -> fractions.Fraction:
    parts = ints_of(decoder, tree["v"], 2)
    if parts[1] <= 0 or max(part.bit_length() for part in parts) > MAX_FRACTION_BITS:
        raise Fault("not a Fraction, or one that is too long")
    return fractions.Fraction(*parts)


ENCODERS.update(
    {
        int: lambda encoder, value: encoder.value(int.__int__(value)),
        float: lambda encoder, value: encoder.value(float.__float__(value)),
        complex: _complex,
        decimal.Decimal: _decimal,
        fractions.Fraction: _fraction,
    }
)
TAGS.update(
    {
        "int": row(_int_of),
        "float": row(_float_of),
        "ints": row(lambda d, t: d.numbers(t["v"], "q")),
        "floats": row(lambda d, t: d.numbers(t["v"], "d")),
        "complex": row(_complex_of),
        "Decimal": row(lambda _, t: decimal.Decimal(plain_text(t["v"]))),
        "Fraction": row(_fraction_of, work=10_000),
    }
)
