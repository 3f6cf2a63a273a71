"""Displays of programs on the host: MIME bundles become values, within limits.

Every bundle comes from code that may be hostile, whatever the executor: from a kernel's messages,
from a guest's frames, or from the interpreter in this process.
"""

from __future__ import annotations

import base64
import io
import re
import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from .results import PREFERRED_MIME_TYPES, Display
from .text.pages import isolated_page
from .text.short_texts import limited_text
from .text.texts import encodable

__all__ = [
    "DisplayLog",
    "display_from",
    "image_from",
    "is_picture",
    "memory_size",
    "notebook_forms",
    "png_of",
    "text_of",
    "with_png_mode",
]

# An image of 50 megapixels unpacks to 200 MB; a small file may declare any size.
_MAX_PIXELS = 50_000_000
# Chunks of a PNG that its pixels depend on; the others are not read, whatever is in them. A chunk
# costs time, even if it is empty.
_PNG_CHUNKS = frozenset({b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"})
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MOST_CHUNKS = 1000
# Longest side of a picture, in pixels: each row takes memory of its own.
_LONGEST_SIDE = 1_000_000
_MAX_DISPLAYS = 100
# Longest form for pages that a model is sent where there is no other, in characters.
_SHORT = 1000
_OF_A_PAGE = re.compile(r"<(?:style|script)\b", re.IGNORECASE)
# Text that every object has, such as "<IPython.core.display.HTML object>".
_ONLY_A_NAME = re.compile(r"<[^<>]{1,500} (?:object|at 0x[0-9a-f]+)>")
# Limit for all displays of one call, in multiples of the largest value, since images are unpacked.
_DISPLAYS_TO_VALUE = 2


def display_from(bundle: Mapping[str, Any]) -> Display | None:
    """Return the best form of a MIME bundle; ``None`` for an empty bundle.

    The bundle comes from a sandbox. A bitmap is a Pillow image, if the sandbox has opened it, or a
    PNG. Any other stays as it is in ``forms``, and the next best form is used, as it is for a PNG
    that :func:`image_from` refuses.
    """
    forms = {
        encodable(str(mime_type)): encodable(value) if isinstance(value, str) else value
        for mime_type, value in bundle.items()
    }
    for mime_type in PREFERRED_MIME_TYPES:
        if mime_type not in forms:
            continue
        value = forms[mime_type]
        if _is_bitmap(mime_type) and not is_picture(value):
            value = image_from(value) if mime_type == "image/png" else None
            if value is None:
                continue
        return Display(mime_type, value, forms)
    return next((Display(mime_type, value, forms) for mime_type, value in forms.items()), None)


def text_of(display: Display) -> Any:
    """Return what a language model reads of a display: its image, else its plainest text.

    Long HTML, styles, scripts and the data of charts are for a page: they stay in
    ``display.forms``.

    Args:
        display: a result of :func:`display_from`.
    """
    if display.is_figure:
        return display.value
    plain = display.forms.get("text/plain")
    if isinstance(plain, str) and not _ONLY_A_NAME.fullmatch(plain):
        return plain
    for mime_type in ("text/markdown", "text/latex"):
        if isinstance(display.forms.get(mime_type), str):
            return display.forms[mime_type]
    form = str(display.value)
    is_known = display.mime_type in PREFERRED_MIME_TYPES and not _is_bitmap(display.mime_type)
    if is_known and len(form) <= _SHORT and not _OF_A_PAGE.search(form):
        return display.value
    return plain if isinstance(plain, str) else f"<display of {', '.join(sorted(display.forms))}>"


def image_from(data: Any) -> Any:
    """Load a PNG that somebody else made; ``None`` if it is invalid or too large.

    Args:
        data: bytes or base64 text. Only the chunks of the pixels are read, of at most 1,000 in all,
            and the image has no metadata.
    """
    try:
        from PIL import Image
    except ImportError:  # upstream requires Pillow
        return None
    try:
        raw = base64.b64decode(data) if isinstance(data, str) else bytes(data)
        image = Image.open(io.BytesIO(_pixel_chunks(raw)), formats=("PNG",))
        image.load()
    except Exception:
        # Pillow documents several for bad data, and the user's warnings may be errors.
        return None
    return image


def _pixel_chunks(data: bytes) -> bytes:
    """Return a PNG without the chunks that are not about its pixels.

    Raises:
        ValueError: not a PNG, or too large.
        struct.error: it ends early.
    """
    parts, position = [_PNG_SIGNATURE], len(_PNG_SIGNATURE)
    if data[:position] != _PNG_SIGNATURE:
        raise ValueError("not a PNG")
    for number in range(_MOST_CHUNKS):
        length, chunk_type = struct.unpack_from(">I4s", data, position)
        end = position + 12 + length  # with its checksum, which Pillow looks at
        if (chunk_type == b"IHDR") != (number == 0) or end > len(data):
            raise ValueError("a PNG has one header, first, and whole chunks")
        if number == 0:
            width, height = struct.unpack_from(">II", data, position + 8)
            if width * height > _MAX_PIXELS or max(width, height) > _LONGEST_SIDE:
                raise ValueError(f"a PNG of {width} x {height} pixels")
        if chunk_type in _PNG_CHUNKS:
            parts.append(data[position:end])
        if chunk_type == b"IEND":
            return b"".join(parts)
        position = end
    raise ValueError(f"a PNG of more than {_MOST_CHUNKS} chunks")


def memory_size(display: Display) -> int:
    """Estimate the host's memory for a display: its forms as received, and its image.

    Args:
        display: a result of :func:`display_from`.
    """
    total = _pixel_bytes(display.value)
    remaining: list[Any] = [dict(display.forms)]
    while remaining:
        part = remaining.pop()
        total += sys.getsizeof(part)
        if isinstance(part, dict):
            remaining += part
            remaining += part.values()
        elif isinstance(part, list):
            remaining += part
    return total


def _is_bitmap(mime_type: str) -> bool:
    return mime_type.startswith("image/") and mime_type != "image/svg+xml"


def is_picture(value: Any) -> bool:
    """Tell whether a value is a Pillow image, without importing Pillow."""
    return callable(getattr(type(value), "getbands", None))


def _pixel_bytes(value: Any) -> int:
    if not is_picture(value):
        return 0
    # Bytes per pixel in Pillow; RGB has an unused fourth byte.
    return int(value.width * value.height * (1 if value.mode in ("1", "L", "P") else 4))


class DisplayLog:
    """Displays of one call, in order, within limits of number and memory.

    Args:
        max_value_bytes: largest encoded value. All displays together may have twice that, with
            images unpacked.
        save: saves an image and returns its path, or ``None`` if images are not saved. An
            ``OSError`` becomes the display's ``save_error``: the run goes on.
    """

    def __init__(
        self, max_value_bytes: int, save: Callable[[Any], str | None] = lambda _image: None
    ) -> None:
        self._max_value_bytes = max_value_bytes
        self._save = save
        self._left = _DISPLAYS_TO_VALUE * max_value_bytes
        self._dropped = self._given = 0
        self.displays: list[Display] = []

    def has_room(self) -> bool:
        """Tell whether another display may be added, before it is decoded; count it if not."""
        full = self._given >= _MAX_DISPLAYS
        self._dropped += full
        return not full

    def add(self, bundle: Any) -> None:
        """Add the display of a MIME bundle; what is not one is ignored, what is too much counted.

        Args:
            bundle: Bundle from the program, unchecked.
        """
        if not isinstance(bundle, dict) or not bundle or not self.has_room():
            return
        self._given += 1
        display = display_from(bundle)
        if display is not None:
            self._keep(display, memory_size(display))

    def add_value(self, value: Any) -> None:
        """Add the call's value if it is an image that is not displayed yet, as notebooks do.

        Args:
            value: Value of the last expression.
        """
        known = any(value is display.value for display in self.displays)
        if known or not is_picture(value):
            return
        if len(self.displays) < _MAX_DISPLAYS and _pixel_bytes(value) <= 4 * _MAX_PIXELS:
            self._keep(Display("image/png", value), _pixel_bytes(value))
        else:
            self._dropped += 1

    def _keep(self, display: Display, size: int) -> None:
        if size > self._left:
            self._dropped += 1
            return
        self._left -= size
        if display.is_figure:
            try:
                display = replace(display, path=self._save(display.value))
            except OSError as error:  # the disk is full, or the folder has gone
                display = replace(display, save_error=str(error))
        self.displays.append(display)

    def add_rich(self, bundle: Mapping[str, Any]) -> Any:
        """Add the call's value if it has more than a text.

        Args:
            bundle: forms of the value of the last expression.

        Returns:
            the image or text that stands for it.
        """
        display = display_from(bundle)
        # An image is added by add_value().
        if display is not None and not display.is_figure and display.mime_type != "text/plain":
            self.add(dict(bundle))
        return None if display is None else text_of(display)

    def note(self) -> str:
        """Return a line about displays that were dropped; empty if all were kept."""
        if not self._dropped:
            return ""
        return (
            f"\n... [{self._dropped} displays dropped: a call may give {_MAX_DISPLAYS}, of "
            f"{_DISPLAYS_TO_VALUE} * max_value_bytes={self._max_value_bytes} bytes together]"
        )


def notebook_forms(display: Display) -> dict[str, Any]:
    """Return the MIME bundle that shows a display in the host's notebook.

    A notebook runs scripts of the HTML in it and loads what it names. So a page is shown in an
    :func:`isolated_page`, and an image is encoded anew.

    Args:
        display: Display from any executor.
    """
    if display.is_figure:
        figure: dict[str, Any] = {"text/plain": f"<figure {display.value.size}>"}
        png = png_of(display.value)
        return figure if png is None else {"image/png": png, **figure}
    forms = {"text/plain": limited_text(display.forms.get("text/plain", display.value))}
    page = display.forms.get("text/html")
    element = isolated_page(page) if isinstance(page, str) else None
    if element is not None:
        forms["text/html"] = element
    return forms


def png_of(picture: Any) -> bytes | None:
    """Return a picture as a PNG that Pillow writes anew; ``None`` if it cannot be one.

    Args:
        picture: a PIL image, which may be empty, or have a mode that Pillow does not convert, or a
            transparency that is not of its mode.
    """
    target = io.BytesIO()
    try:
        with_png_mode(picture).save(target, "PNG")
    except Exception:  # Pillow documents none
        return None
    return target.getvalue()


def with_png_mode(picture: Any) -> Any:
    """Return a picture in a mode that PNG has.

    Args:
        picture: a PIL image.
    """
    has_mode = picture.mode in ("1", "L", "LA", "P", "RGB", "RGBA")
    return picture if has_mode else picture.convert("RGB")
