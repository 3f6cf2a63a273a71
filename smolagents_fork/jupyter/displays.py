"""Conversion of MIME bundles from kernels to values for the host."""

from __future__ import annotations

import base64
import binascii
import io
import sys
import warnings
from collections.abc import Mapping
from typing import Any

from ..results import PREFERRED_MIME_TYPES, Display

__all__ = ["display_from", "image_from", "memory_size"]

# An image of 50 megapixels unpacks to 200 MB; a small file may declare any size.
_MAX_PIXELS = 50_000_000


def display_from(bundle: Mapping[str, Any]) -> Display | None:
    """Return the best form of a MIME bundle; ``None`` for an empty bundle.

    The bundle comes from a sandbox. If an image cannot be read, or declares more than 50 million
    pixels, the next best form is used.
    """
    forms = {str(kind): value for kind, value in bundle.items()}
    for kind in PREFERRED_MIME_TYPES:
        if kind not in forms:
            continue
        value = forms[kind]
        if kind.startswith("image/") and kind != "image/svg+xml":
            value = image_from(value)
            if value is None:
                continue
        return Display(kind, value, forms)
    return next((Display(kind, value, forms) for kind, value in forms.items()), None)


def image_from(data: Any) -> Any:
    """Load a PIL image from base64 text or bytes; ``None`` if it is invalid or too large."""
    from PIL import Image

    try:
        raw = base64.b64decode(data) if isinstance(data, str) else bytes(data)
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(raw), formats=("PNG", "JPEG", "GIF", "WEBP"))
            if image.width * image.height > _MAX_PIXELS:
                return None
            image.load()
    except (OSError, ValueError, TypeError, binascii.Error, SyntaxError, Warning):
        return None
    except Image.DecompressionBombError:
        return None
    return image


def memory_size(display: Display) -> int:
    """Estimate the host's memory for a display: its forms as received, and its image.

    Args:
        display: a result of :func:`display_from`.
    """
    value, total = display.value, 0
    if hasattr(value, "getbands"):
        # Bytes per pixel in Pillow; RGB has an unused fourth byte.
        total += value.width * value.height * (1 if value.mode in ("1", "L", "P") else 4)
    left: list[Any] = [dict(display.forms)]
    while left:
        part = left.pop()
        total += sys.getsizeof(part)
        if isinstance(part, dict):
            left += part
            left += part.values()
        elif isinstance(part, list):
            left += part
    return total
