"""MIME bundles, as kernels send them, to values a host can use."""

from __future__ import annotations

import base64
import binascii
import io
import sys
import warnings
from collections.abc import Mapping
from typing import Any

from ..results import PREFERRED_MIME_TYPES, Display

__all__ = ["display_from", "held_bytes", "image_from"]

# A picture of 50 megapixels unpacks to 200 MB; a small file may claim any size.
_MAX_PIXELS = 50_000_000


def display_from(bundle: Mapping[str, Any]) -> Display | None:
    """The best form of a MIME bundle, ``None`` when it holds none.

    A picture that cannot be read, or claims more than 50 million pixels, gives way to the next
    best form: the bundle comes from a sandbox.
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
    """A loaded PIL image from base64 text or bytes; ``None`` when it is none or too large."""
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


def held_bytes(display: Display) -> int:
    """Estimate the host's memory for a display: its forms as received, and its picture.

    Args:
        display: from :func:`display_from`.
    """
    value, total = display.value, 0
    if hasattr(value, "getbands"):
        # So Pillow keeps its pixels; RGB has a fourth byte that is not used.
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
