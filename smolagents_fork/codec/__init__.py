"""Typed values to JSON-safe bytes and back, without pickle.

``encode`` and ``decode`` are pure and bounded; ``decode`` accepts hostile bytes.
``sandbox_source()`` returns the same codec as one self-contained module, for the other side of a
connection.
"""

from __future__ import annotations

from smolagents_fork.codec.bundle import sandbox_source
from smolagents_fork.codec.decoder import decode
from smolagents_fork.codec.encoder import encode, encode_message, encode_parts
from smolagents_fork.codec.limits import DEFAULT_MAX_BYTES, DEFAULT_MAX_DEPTH, DEFAULT_MAX_ITEMS
from smolagents_fork.codec.namespace import Variables, decode_variables, encode_variables, is_public
from smolagents_fork.codec.types.record_values import Member, Record, TupleRecord

__all__ = [
    "DEFAULT_MAX_BYTES",
    "DEFAULT_MAX_DEPTH",
    "DEFAULT_MAX_ITEMS",
    "Member",
    "Record",
    "TupleRecord",
    "Variables",
    "decode",
    "decode_variables",
    "encode",
    "encode_message",
    "encode_parts",
    "encode_variables",
    "is_public",
    "sandbox_source",
]
