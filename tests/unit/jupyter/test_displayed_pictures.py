"""Images from a sandbox are opened in four formats, whatever their MIME type."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from smolagents_fork.displays import display_from, image_from


def written(form: str) -> bytes:
    target = io.BytesIO()
    Image.new("RGB", (3, 2), "red").save(target, form)
    return target.getvalue()


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_four_formats(form):
    assert image_from(written(form)).size == (3, 2)
    text = base64.b64encode(written(form)).decode()
    assert display_from({"image/png": text}).value.format == form


@pytest.mark.parametrize("form", ["TIFF", "BMP", "PPM", "ICO", "TGA"])
def test_no_others(form):
    assert image_from(written(form)) is None
    text = base64.b64encode(written(form)).decode()
    assert display_from({"image/png": text, "text/plain": "words"}).value == "words"
