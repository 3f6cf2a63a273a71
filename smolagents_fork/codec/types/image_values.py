"""Pillow images: mode, size, palette and pixels, compressed if that makes them shorter.

No decoder of a picture format reads what a sandbox sends, and the bytes that pixels take are known
before they are unpacked. Metadata is not sent.

Figures of plotting libraries are drawn, and cross as pictures.
"""

from __future__ import annotations

import base64
import contextlib
import io
import sys
import zlib
from collections.abc import Mapping
from typing import Any

from smolagents_fork.codec.decoder import TAGS, Decoder, need_library, row
from smolagents_fork.codec.encoder import ENCODER_FINDERS, Encode, Encoder
from smolagents_fork.codec.limits import MAX_PIXELS, MAX_SIDE, Fault

# Bytes of a pixel in each mode that can be sent. Those of mode 1 are packed, eight in a byte.
_MODES = {
    "1": 1, "L": 1, "P": 1, "LA": 2, "PA": 2, "La": 2, "RGB": 3, "RGBA": 4, "RGBX": 4, "RGBa": 4,
    "CMYK": 4, "YCbCr": 3, "HSV": 3, "LAB": 3, "I": 4, "F": 4, "I;16": 2, "I;16L": 2, "I;16B": 2,
}  # fmt: skip
_FORMATS_OPENED = ("PNG", "JPEG", "GIF", "WEBP")
_PALETTES = {"RGB": 3, "RGBA": 4}


def picture_of(value: Any) -> Any:
    """Return the picture of a figure as a Pillow image; any other value as it is.

    Args:
        value: a figure of matplotlib, also a grid of seaborn, which saves itself like one, or of
            plotly, which draws with its optional package kaleido and is an HTML text without it.
    """
    # Of the class: an object of the program's may answer to any name.
    cls = type(value)
    try:
        if _saves_itself(cls):
            return _open_image(_matplotlib_png(value))
        if _is_of_plotly(cls):
            with contextlib.suppress(Exception):
                return _open_image(value.to_image(format="png"))
            return value.to_html(include_plotlyjs=True)
    except Exception:  # no Pillow, or a figure that cannot be drawn
        return value
    return value


def draw_figure(value: Any) -> Any:
    """Return the picture of a matplotlib figure, which is closed; any other value as it is.

    Open figures are displayed at the end of a run: this one would be shown twice.
    """
    if not type(value).__module__.startswith("matplotlib."):
        return value
    picture = picture_of(value)
    pyplot = sys.modules.get("matplotlib.pyplot")
    if picture is not value and pyplot is not None:
        pyplot.close(value)
    return picture


def _saves_itself(cls: type) -> bool:
    return callable(getattr(cls, "savefig", None))


def _is_of_plotly(cls: type) -> bool:
    return cls.__module__.startswith("plotly.") and hasattr(cls, "to_image")


def _figure(encoder: Encoder, value: Any) -> Any:
    drawn = picture_of(value)
    if drawn is value:
        raise Fault(f"this {type(value).__name__} cannot be drawn here; send its data or a picture")
    return encoder.value(drawn)


def open_pictures(forms: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a MIME bundle with its best bitmap as a Pillow image; itself without one.

    Called where the program runs: its pictures are opened there, where that can be ended.

    Args:
        forms: Forms by MIME type; a bitmap is bytes or base64 text, and stays so if it cannot be
            opened.
    """
    bitmaps = (f"image/{name.lower()}" for name in _FORMATS_OPENED)
    mime_type = next(
        (mime_type for mime_type in bitmaps if isinstance(forms.get(mime_type), (str, bytes))), None
    )
    if mime_type is None:
        return forms
    data = forms[mime_type]
    try:
        image = _open_image(base64.b64decode(data) if isinstance(data, str) else data)
    except Exception:  # no Pillow, or no picture
        return forms
    return {**forms, mime_type: image}


def _open_image(data: bytes) -> Any:
    from PIL import Image

    with Image.open(io.BytesIO(data), formats=_FORMATS_OPENED) as image:
        return image.copy()


def _matplotlib_png(figure: Any) -> bytes:
    target = io.BytesIO()
    figure.savefig(target, format="png", bbox_inches="tight")
    return target.getvalue()


def _image(encoder: Encoder, value: Any) -> dict[str, Any]:
    """Encode a Pillow image: its current frame, without its metadata."""
    if not value.mode and callable(getattr(type(value), "to_raw", None)):
        value = value.to_raw()  # upstream's AgentImage, which is an empty image around another
    value.load()  # of some files this changes the mode and the size
    mode, (width, height) = value.mode, value.size
    if mode not in _MODES:
        raise Fault(f"an image of mode {mode!r} cannot be encoded; convert it to RGB or RGBA")
    _check_size(width, height)
    pixels = value.tobytes() if width and height else b""
    # Level 1 is several times faster than the default, and a quarter longer.
    packed = zlib.compress(pixels, 1)
    is_packed = len(packed) < len(pixels)
    return {
        "$": "image",
        "m": mode,
        "s": [width, height],
        "p": _palette(encoder, value),
        "t": _transparency(encoder, value),
        "z": is_packed,
        "v": encoder.raw(packed if is_packed else pixels),
    }


def _check_size(width: int, height: int) -> None:
    if width * height > MAX_PIXELS or max(width, height) > MAX_SIDE:
        raise Fault(
            f"an image of {width} x {height} pixels; send one of at most {MAX_PIXELS} pixels, and "
            f"{MAX_SIDE} a side"
        )


def _palette(encoder: Encoder, value: Any) -> list[Any] | None:
    if value.mode not in ("P", "PA") or value.palette is None:
        return None
    mode = "RGBA" if value.palette.mode == "RGBA" else "RGB"
    colours = value.getpalette(mode)
    return None if colours is None else [mode, encoder.raw(bytes(colours))]


def _transparency(encoder: Encoder, value: Any) -> Any:
    # The index of a colour, the opacity of each, or one colour: see _is_transparency().
    transparency = value.info.get("transparency")
    return encoder.value(transparency) if _is_transparency(transparency) else None


def _is_transparency(value: Any) -> bool:
    if type(value) is tuple:
        return len(value) == 3 and all(type(part) is int and 0 <= part < 1 << 16 for part in value)
    if type(value) is bytes:
        return len(value) <= 256
    return type(value) is int and 0 <= value < 1 << 16


def _image_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    """Decode the output of :func:`_image`."""
    library = need_library("PIL.Image")
    mode, size = tree["m"], tree["s"]
    if type(mode) is not str or mode not in _MODES:
        raise Fault("not a permitted image mode")
    if type(size) is not list or len(size) != 2 or not all(type(n) is int and n >= 0 for n in size):
        raise Fault("an image's size is [width, height]")
    width, height = size
    _check_size(width, height)
    decoder.charge_pixels(width * height)
    pixels = _unpack(decoder.raw(tree["v"]), tree["z"] is True, mode, width, height)
    if pixels:
        image = library.frombytes(mode, (width, height), pixels)
    else:
        image = library.new(mode, (width, height))
    if tree["p"] is not None:
        image.putpalette(*_colours(decoder, mode, tree["p"]))
    transparency = decoder.value(tree["t"])
    if transparency is not None:
        if not _is_transparency(transparency):
            raise Fault("an image's transparency is an index, opacities or a colour")
        image.info["transparency"] = transparency
    return image


def _unpack(
    data: bytes | memoryview, is_packed: bool, mode: str, width: int, height: int
) -> bytes | memoryview:
    row = (width + 7) // 8 if mode == "1" else width * _MODES[mode]
    expected = row * height
    if not is_packed or not expected:
        if len(data) != expected:
            raise Fault(f"expected {expected} bytes of pixels, there are {len(data)}")
        return data
    reader = zlib.decompressobj()
    pixels = reader.decompress(data, expected)
    if len(pixels) != expected or reader.decompress(reader.unconsumed_tail, 1):
        raise Fault(f"expected {expected} bytes of pixels, but others were compressed")
    return pixels


def _colours(decoder: Decoder, mode: str, data: Any) -> tuple[bytes, str]:
    if mode not in ("P", "PA") or type(data) is not list or len(data) != 2:
        raise Fault("a palette has a mode and colours, and an image of mode P or PA")
    form, colours = data[0], bytes(decoder.raw(data[1]))
    size = _PALETTES.get(form) if type(form) is str else None
    if size is None or len(colours) % size or len(colours) > 256 * size:
        raise Fault("a palette has at most 256 colours, RGB or RGBA")
    return colours, form


def image_encoder(kind: type) -> Encode | None:
    """Return the encoder for a picture of Pillow, or for a figure; ``None`` for other types."""
    image = getattr(sys.modules.get("PIL.Image"), "Image", None)
    if image is not None and issubclass(kind, image):
        return _image
    return _figure if _saves_itself(kind) or _is_of_plotly(kind) else None


ENCODER_FINDERS.append(image_encoder)
TAGS.update({"image": row(_image_of, "msptzv", work=10_000, memory=2_000)})
