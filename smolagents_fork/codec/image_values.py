"""Pillow images: PNG for modes that it preserves exactly, raw pixels for the other modes.

Figures of plotting libraries have no encoding of their own; :func:`picture_of` draws them.
"""

from __future__ import annotations

import contextlib
import io
import struct
from typing import Any

from smolagents_fork.codec.limits import Fault

# PNG preserves these. It would narrow I to 16 bits and does not support CMYK, F, HSV, LAB, YCbCr.
_PNG_MODES = frozenset({"1", "L", "LA", "P", "RGB", "RGBA"})
_RAW_MODES = {"I": 4, "F": 4, "CMYK": 4, "YCbCr": 3, "HSV": 3, "LAB": 3, "RGBX": 4, "RGBa": 4,
              "La": 2, "PA": 2, "I;16": 2, "I;16L": 2, "I;16B": 2}  # fmt: skip
_PNG_HEADER = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


def picture_of(value: Any) -> Any:
    """Return the picture of a figure as a Pillow image; any other value as it is.

    Args:
        value: a figure of matplotlib, also a grid of seaborn, which saves itself like one, or of
            plotly, which draws with its optional package kaleido and is an HTML text without it.
    """
    # Of the class: an object of the program's may answer to any name.
    kind = type(value)
    try:
        if callable(getattr(kind, "savefig", None)):
            return _opened(_matplotlib_png(value))
        if kind.__module__.startswith("plotly.") and hasattr(kind, "to_image"):
            with contextlib.suppress(Exception):
                return _opened(value.to_image(format="png"))
            return value.to_html(include_plotlyjs="cdn")
    except Exception:  # no Pillow, or a figure that cannot be drawn
        return value
    return value


def _opened(data: bytes) -> Any:
    from PIL import Image

    with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
        return image.copy()


def _matplotlib_png(figure: Any) -> bytes:
    target = io.BytesIO()
    figure.savefig(target, format="png", bbox_inches="tight")
    return target.getvalue()


def encode_image(encoder: Any, value: Any) -> dict[str, Any]:
    """Encode a Pillow image: its pixels, mode and palette; not its metadata."""
    mode, (width, height) = value.mode, value.size
    if mode in _PNG_MODES and width and height:
        buffer = io.BytesIO()
        # Level 1 writes ten times faster than the default and is a quarter larger.
        type(value).copy(value).save(buffer, format="PNG", compress_level=1)
        data = encoder.raw(buffer.getvalue())
        return {"$": "image", "m": "png", "s": [width, height], "v": data}
    if mode not in _RAW_MODES and mode not in _PNG_MODES:
        raise Fault(f"an image of mode {mode!r} cannot be encoded; convert it to RGB or RGBA")
    encoder.charge(width * height * 4)
    return {"$": "image", "m": mode, "s": [width, height], "v": encoder.raw(value.tobytes())}


def decode_image(decoder: Any, tree: dict[str, Any]) -> Any:
    """Decode the output of :func:`encode_image`; only Pillow's PNG reader parses the bytes."""
    try:
        from PIL import Image
    except ImportError:
        raise Fault("Pillow is needed to decode an image and is not installed here") from None
    mode, data = tree["m"], bytes(decoder.raw(tree["v"]))
    size = tree["s"]
    if type(size) is not list or len(size) != 2 or not all(type(n) is int and n >= 0 for n in size):
        raise Fault("an image's size is [width, height]")
    width, height = size
    decoder.charge_pixels(width * height)
    if mode == "png":
        if data[:16] != _PNG_HEADER or len(data) < 24:
            raise Fault("not a PNG image")
        if list(struct.unpack(">II", data[16:24])) != size:
            raise Fault("the size in the PNG differs from the declared size")
        with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            if list(image.size) != size:
                raise Fault("the size in the PNG differs from the declared size")
            image.load()
            out = image.copy()
        out.info = {k: v for k, v in out.info.items() if k == "transparency"}
        return out
    if type(mode) is not str or (mode not in _RAW_MODES and mode not in _PNG_MODES):
        raise Fault("not a permitted image mode")
    expected = width * height * _RAW_MODES.get(mode, 0)
    if len(data) != expected:
        raise Fault(f"{expected} bytes of pixels expected, there are {len(data)}")
    return (
        Image.frombytes(mode, (width, height), data) if data else Image.new(mode, (width, height))
    )
