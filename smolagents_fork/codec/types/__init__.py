"""Types, one subject a module: their encoders, and the decoders of their tags with what each costs.

Importing a module adds them to the encoder's and the decoder's tables.
"""

from . import (
    arrays,
    container_values,
    datetimes,
    image_values,
    number_values,
    pandas_values,
    polars_values,
    record_values,
    text_values,
)

__all__ = [
    "arrays",
    "container_values",
    "datetimes",
    "image_values",
    "number_values",
    "pandas_values",
    "polars_values",
    "record_values",
    "text_values",
]
