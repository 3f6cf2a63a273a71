"""A picture from a sandbox is opened only as a PNG, and only by the chunks of its pixels."""

from __future__ import annotations

import base64
import contextlib
import io
import struct
import tracemalloc
import zlib
from collections.abc import Callable, Iterator

import pytest
from PIL import Image, PngImagePlugin

from smolagents_fork.codec.types.image_values import open_pictures
from smolagents_fork.displays import display_from, image_from


def written(form: str, image: Image.Image | None = None, **options: object) -> bytes:
    target = io.BytesIO()
    (image or Image.new("RGB", (3, 2), "red")).save(target, form, **options)
    return target.getvalue()


def chunk(kind: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(*chunks: bytes, size: tuple[int, int] = (3, 2)) -> bytes:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", *size, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(chunks) + chunk(b"IEND")


PIXELS = chunk(b"IDAT", zlib.compress(b"\0abc" * 2))


def test_png_keeps_its_pixels_only():
    notes = PngImagePlugin.PngInfo()
    notes.add_text("Software", "x" * 1000, zip=True)
    data = written("PNG", pnginfo=notes, dpi=(10, 10), icc_profile=b"x" * 200)
    image = image_from(data)
    assert (image.size, image.getpixel((0, 0)), image.info) == ((3, 2), (255, 0, 0), {})
    assert image_from(base64.b64encode(data).decode()).tobytes() == image.tobytes()


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_png_of_every_mode(mode):
    colours = Image.linear_gradient("L").resize((9, 5))
    made = colours.convert("I").point(lambda n: n * 7).convert(mode) if "16" in mode else None
    made = made or colours.convert("RGB").convert(mode)
    options = {"transparency": 3} if mode == "P" else {}
    image = image_from(written("PNG", made, **options))
    assert (image.mode, image.tobytes()) == (mode, made.tobytes())
    assert image.info == options


@pytest.mark.parametrize("form", ["JPEG", "GIF", "WEBP", "TIFF", "BMP", "PPM", "ICO", "TGA"])
def test_no_other_format_is_decoded(form):
    data = written(form)
    assert image_from(data) is None
    text = base64.b64encode(data).decode()
    assert display_from({"image/png": text, "text/plain": "words"}).value == "words"


@pytest.mark.parametrize("mime_type", ["image/jpeg", "image/gif", "image/webp", "image/bmp"])
def test_other_bitmaps_stay_bytes(mime_type):
    data = written("JPEG")
    display = display_from({mime_type: data, "text/plain": "words"})
    assert (display.mime_type, display.value) == ("text/plain", "words")
    assert display.forms[mime_type] == data
    alone = display_from({mime_type: data})
    assert (alone.mime_type, alone.value, alone.is_figure) == (mime_type, data, False)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_sandbox_opens_four_formats(form):
    mime_type = f"image/{form.lower()}"
    forms = {mime_type: written(form), "text/plain": "words"}
    display = display_from(open_pictures(forms))
    assert (display.mime_type, display.is_figure, display.value.size) == (mime_type, True, (3, 2))


def test_sandbox_leaves_other_forms():
    for forms in ({"text/plain": "a"}, {"image/png": b"no picture"}, {"image/svg+xml": "<svg/>"}):
        assert open_pictures(forms) is forms


BAD: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "signature": lambda: b"\x89PNG\r\n\x1a\n",
    "chunk that ends later": lambda: png(PIXELS)[:-20] + b"\xff\xff\xff\xffIDAT",
    "no header first": lambda: png()[:8] + PIXELS + png()[8:],
    "two headers": lambda: png(PIXELS, png(size=(7000, 7000))[8:33], PIXELS),
    "no pixels": png,
    "many pixels": lambda: png(PIXELS, size=(60_000, 60_000)),
    "long side": lambda: png(PIXELS, size=(1, 60_000_000)),
    "no size": lambda: png(PIXELS, size=(0, 0)),
    "empty texts": lambda: png(chunk(b"tEXt", b"a\0") * 500_000, PIXELS),
    "a thousand pieces of pixels": lambda: png(*[chunk(b"IDAT")] * 1000, PIXELS),
}


@contextlib.contextmanager
def peak_below(size: int) -> Iterator[None]:
    """Check that the block allocates at most so many bytes at once."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", BAD)
def test_bad_png_is_none(name):
    data = BAD[name]()
    with peak_below(4 * len(data) + (1 << 20)):
        assert image_from(data) is None


def test_texts_of_a_png_cost_nothing():
    bomb = chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(1 << 24)))
    with peak_below(1 << 24):
        images = [image_from(png(*[bomb] * 50, PIXELS)) for _ in range(10)]
    assert [image.size for image in images] == [(3, 2)] * 10


def test_pixels_past_the_size_are_not_unpacked():
    data = png(chunk(b"IDAT", zlib.compress(bytes(1 << 26))))
    with peak_below(1 << 22):
        image = image_from(data)
    assert image is None or image.size == (3, 2)
