"""Types, one library a module: their encoders, and the decoders of their tags with their costs.

Importing a module adds them to the encoder's and the decoder's tables.
"""

from . import (
    arrays,
    image_values,
    pandas_values,
    polars_values,
    record_values,
    standard_values,
)

__all__ = [
    "arrays",
    "image_values",
    "pandas_values",
    "polars_values",
    "record_values",
    "standard_values",
]
