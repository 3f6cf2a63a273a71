"""Every type that the codec knows: its encoder, and the decoder of its tag with what that costs."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

from smolagents_fork.codec.coding import Encode, Encoding, Row, Tree
from smolagents_fork.codec.types.arrays import ARRAY_TAGS, array_encoder
from smolagents_fork.codec.types.container_values import (
    CONTAINER_COPIES,
    CONTAINER_ENCODERS,
    CONTAINER_TAGS,
)
from smolagents_fork.codec.types.datetimes import DATE_COPIES, DATE_ENCODERS, DATE_TAGS
from smolagents_fork.codec.types.image_values import IMAGE_TAGS, image_encoder
from smolagents_fork.codec.types.number_values import NUMBER_COPIES, NUMBER_ENCODERS, NUMBER_TAGS
from smolagents_fork.codec.types.pandas_values import PANDAS_TAGS, pandas_encoder
from smolagents_fork.codec.types.polars_values import POLARS_TAGS, polars_encoder
from smolagents_fork.codec.types.record_values import RECORD_ENCODERS, RECORD_TAGS, record_encoder
from smolagents_fork.codec.types.text_values import (
    TEXT_COPIES,
    TEXT_ENCODERS,
    TEXT_TAGS,
    encode_path,
)

EXACT_ENCODERS: dict[type, Encode] = {
    **NUMBER_ENCODERS,
    **TEXT_ENCODERS,
    **CONTAINER_ENCODERS,
    **DATE_ENCODERS,
    **RECORD_ENCODERS,
}
TAGS: dict[str, Row] = {
    **NUMBER_TAGS,
    **TEXT_TAGS,
    **CONTAINER_TAGS,
    **DATE_TAGS,
    **RECORD_TAGS,
    **ARRAY_TAGS,
    **IMAGE_TAGS,
    **PANDAS_TAGS,
    **POLARS_TAGS,
}


def _as_base(base: type, copy: Callable[[Any], Any]) -> Encode:
    encode_it = EXACT_ENCODERS.get(base)

    def encode_copy(encoder: Encoding, value: Any) -> Tree:
        exact = copy(value)
        return encoder.value(exact) if encode_it is None else encode_it(encoder, exact)

    return encode_copy


# An instance of a subclass without its own rule is sent as the type it is based on: a copy of that
# type's own, made by its own methods, so that an overridden __str__ or __iter__ is not called. A
# type stands before those that it is based on.
_BASES: tuple[tuple[type, Encode], ...] = (
    *(
        (base, _as_base(base, copy))
        for base, copy in (*NUMBER_COPIES, *TEXT_COPIES, *CONTAINER_COPIES, *DATE_COPIES)
    ),
    (pathlib.PurePath, encode_path),
)


def encoder_of(kind: type) -> Encode | None:
    """Return the encoder of a type, or of the type that it is based on; ``None`` without one."""
    for find in (record_encoder, array_encoder, pandas_encoder, polars_encoder, image_encoder):
        found = find(kind)
        if found is not None:
            return found
    return next((encode_it for base, encode_it in _BASES if issubclass(kind, base)), None)
