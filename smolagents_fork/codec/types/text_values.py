"""Text, bytes, paths and identifiers."""

from __future__ import annotations

import pathlib
import uuid
from typing import Any

from smolagents_fork.codec.coding import (
    Decode,
    Decoding,
    Encode,
    Encoding,
    Row,
    Tree,
    plain_text,
    row,
    stored,
)


def well_formed(text: str) -> bool:
    """Tell whether a string has no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _bytes(encoder: Encoding, value: bytes) -> Tree:
    return {"$": "bytes", "v": encoder.raw(value)}


def _bytearray(encoder: Encoding, value: bytearray) -> Tree:
    # A copy, because a bytearray that is read in place cannot change its length.
    return {"$": "bytearray", "v": encoder.raw(bytes(value))}


def _uuid(_: Encoding, value: uuid.UUID) -> Tree:
    return {"$": "UUID", "v": value.hex}


def encode_path(encoder: Encoding, value: pathlib.PurePath) -> Tree:
    """Encode a path: one of this system, or a pure one of its kind."""
    # Every path is of a subclass, and a program's may have a __str__ of its own.
    if isinstance(value, pathlib.Path):
        name = "Path"
    else:
        windows = isinstance(value, pathlib.PureWindowsPath)
        name = "PureWindowsPath" if windows else "PurePosixPath"
    return {"$": name, "v": encoder.text(pathlib.PurePath.__str__(value))}


def _path_of(kind: type[pathlib.PurePath]) -> Decode:
    def make(decoder: Decoding, tree: dict[str, Tree]) -> pathlib.PurePath:
        text = plain_text(decoder.value(tree["v"]))
        decoder.charge(20 * len(text), 40 * len(text))  # a path keeps its parts, in two forms
        return kind(text)

    return make


TEXT_ENCODERS: dict[type, Encode] = {bytes: _bytes, bytearray: _bytearray, uuid.UUID: _uuid}
TEXT_TAGS: dict[str, Row] = {
    "str": row(lambda d, t: str(d.raw(t["v"]), "utf-8", "surrogatepass")),
    "bytes": row(lambda d, t: bytes(d.raw(t["v"]))),
    "bytearray": row(lambda d, t: bytearray(d.raw(t["v"]))),
    "UUID": row(lambda _, t: uuid.UUID(hex=plain_text(t["v"]))),
    "Path": row(_path_of(pathlib.Path), work=5_000, memory=400),
    "PurePosixPath": row(_path_of(pathlib.PurePosixPath), work=5_000, memory=400),
    "PureWindowsPath": row(_path_of(pathlib.PureWindowsPath), work=5_000, memory=400),
}
TEXT_COPIES: tuple[tuple[type, Any], ...] = (
    (str, str.__str__),
    (bytes, lambda v: bytes.__getitem__(v, slice(None))),
    (bytearray, lambda v: bytearray.__getitem__(v, slice(None))),
    (uuid.UUID, lambda v: uuid.UUID(int=stored(uuid.UUID, v, "int")[0])),
)
