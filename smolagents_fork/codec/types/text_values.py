"""Text, bytes, paths and identifiers."""

from __future__ import annotations

import pathlib
import uuid
from typing import Any

from smolagents_fork.codec.decoder import TAGS, Decode, Decoder, plain_text, row
from smolagents_fork.codec.encoder import ENCODERS, Encoder


def _bytes(encoder: Encoder, value: bytes) -> Any:
    return {"$": "bytes", "v": encoder.raw(value)}


def _bytearray(encoder: Encoder, value: bytearray) -> Any:
    # A copy, because a bytearray that is read in place cannot change its length.
    return {"$": "bytearray", "v": encoder.raw(bytes(value))}


def _path(encoder: Encoder, value: pathlib.PurePath) -> Any:
    # Of this system, or a pure one of its kind. A program's may have a __str__ of its own.
    if isinstance(value, pathlib.Path):
        name = "Path"
    else:
        windows = isinstance(value, pathlib.PureWindowsPath)
        name = "PureWindowsPath" if windows else "PurePosixPath"
    return {"$": name, "v": encoder.text(pathlib.PurePath.__str__(value))}


def _path_of(kind: type[pathlib.PurePath]) -> Decode:
    def make(decoder: Decoder, tree: dict[str, Any]) -> pathlib.PurePath:
        text = plain_text(decoder.value(tree["v"]))
        decoder.charge(20 * len(text), 40 * len(text))  # a path keeps its parts, in two forms
        return kind(text)

    return make


ENCODERS.update(
    {
        str: lambda encoder, value: encoder.value(str.__str__(value)),
        bytes: _bytes,
        bytearray: _bytearray,
        uuid.UUID: lambda _, value: {"$": "UUID", "v": value.hex},
        pathlib.PurePath: _path,
    }
)
TAGS.update(
    {
        "str": row(lambda d, t: str(d.raw(t["v"]), "utf-8", "surrogatepass")),
        "bytes": row(lambda d, t: bytes(d.raw(t["v"]))),
        "bytearray": row(lambda d, t: bytearray(d.raw(t["v"]))),
        "UUID": row(lambda _, t: uuid.UUID(hex=plain_text(t["v"]))),
        "Path": row(_path_of(pathlib.Path), work=5_000, memory=400),
        "PurePosixPath": row(_path_of(pathlib.PurePosixPath), work=5_000, memory=400),
        "PureWindowsPath": row(_path_of(pathlib.PureWindowsPath), work=5_000, memory=400),
    }
)
