"""Figures are saved within limits; displays of guests are checked before they are read."""

from __future__ import annotations

import functools
import os
import sys
from collections import OrderedDict
from typing import Any

import pytest
from PIL import Image

from smolagents_fork.codec import decode, encode
from smolagents_fork.displays import DisplayLog, notebook_forms
from smolagents_fork.errors import ConfigurationError, ProtocolError
from smolagents_fork.executors import figures
from smolagents_fork.executors.figures import FigureFolder
from smolagents_fork.executors.guests.frame_guest import display_bundle
from smolagents_fork.interpreter.guarded.modules.places import ProgramPlaces


def test_no_file_is_overwritten(tmp_path):
    (tmp_path / "figure-0001.png").write_text("the user's own")
    folder = FigureFolder(tmp_path)
    assert folder.save(Image.new("CMYK", (3, 2))) == str(tmp_path / "figure-0002.png")
    assert (tmp_path / "figure-0001.png").read_text() == "the user's own"
    with Image.open(tmp_path / "figure-0002.png") as image:
        assert (image.format, image.size) == ("PNG", (3, 2))


def test_files_are_limited_in_number_and_size(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "_MOST_FILES", 2)
    folder = FigureFolder(tmp_path)
    for _ in range(2):
        folder.save(Image.new("L", (3, 2)))
    with pytest.raises(OSError, match="one executor writes at most 2 figures"):
        folder.save(Image.new("L", (3, 2)))
    monkeypatch.setattr(figures, "_MOST_BYTES", 10)
    with pytest.raises(OSError, match="one executor writes at most 10 bytes of figures"):
        FigureFolder(tmp_path).save(Image.new("L", (3, 2)))
    assert len(list(tmp_path.iterdir())) == 2


def test_figure_that_cannot_be_saved_is_kept_with_the_reason(tmp_path):
    log = DisplayLog(10**6, save=FigureFolder(tmp_path / "gone").save)
    (tmp_path / "gone").touch()
    log.add_value(Image.new("L", (3, 2)))
    display = log.displays[0]
    assert (display.path, "File exists" in display.save_error) == (None, True)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")
def test_figure_on_a_full_disk_leaves_no_part_of_a_file(tmp_path, monkeypatch):
    full = functools.partial(open, "/dev/full")
    monkeypatch.setattr(
        figures, "open", lambda name, _mode: [name.touch(), full("wb")][1], raising=False
    )
    with pytest.raises(OSError, match="No space left"):
        FigureFolder(tmp_path).save(Image.new("L", (3, 2)))
    assert list(tmp_path.iterdir()) == []


def with_transparency(mode: str, transparency: Any) -> Any:
    image = Image.new(mode, (3, 2))
    image.info["transparency"] = transparency
    return image


# Pictures that a sandbox may send.
@pytest.mark.parametrize(
    "image",
    [
        Image.new("RGB", (0, 5)),
        Image.new("La", (3, 2)),
        with_transparency("L", (1, 2, 3)),
        with_transparency("RGB", 3),
        with_transparency("CMYK", b"\0"),
    ],
    ids=["empty", "mode without conversion", "L", "RGB", "CMYK"],
)
def test_picture_that_cannot_be_a_png_is_displayed_without_one(tmp_path, image):
    log = DisplayLog(10**6, FigureFolder(tmp_path).save)
    log.add({"image/png": decode(encode(image))})
    (display,) = log.displays
    assert (display.is_figure, display.path) == (True, None)
    assert list(notebook_forms(display)) == ["text/plain"]


def test_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match=r"figures_dir=.*file is not a folder"):
        FigureFolder(tmp_path / "file" / "below")


def test_folder_is_made_for_the_first_figure(tmp_path):
    folder = FigureFolder(tmp_path / "a" / "b")
    assert not (tmp_path / "a").exists()
    path = folder.save(Image.new("RGB", (2, 2)))
    assert path == str(tmp_path / "a" / "b" / "figure-0001.png")


def test_figure_of_a_library_that_imports_pyplot_while_it_draws_is_the_programs(monkeypatch):
    from matplotlib import pyplot

    helpers = sys.modules["matplotlib._pylab_helpers"]
    monkeypatch.setattr(helpers.Gcf, "figs", OrderedDict())
    monkeypatch.delitem(sys.modules, "matplotlib._pylab_helpers")
    given: list[Any] = []
    places = ProgramPlaces(lambda _text: None, {}, lambda value: value, given.append)
    with places.routed():
        monkeypatch.setitem(sys.modules, "matplotlib._pylab_helpers", helpers)
        pyplot.figure()
    assert ["image/png" in bundle for bundle in given] == [True]
    assert len(places.figures) == 1
    assert pyplot.get_fignums() == []
    with places.routed():
        pyplot.close("all")
    assert places.figures == {}


def test_large_value_is_counted_and_not_saved():
    saved = []
    log = DisplayLog(max_value_bytes=1000, save=saved.append)
    log.add_value(Image.new("RGB", (100, 100)))
    assert (log.displays, saved) == ([], [])
    words = "[1 displays dropped: a call may give 100, of 2 * max_value_bytes=1000"
    assert words in log.note()


def test_value_that_is_displayed_already_is_one_figure():
    log = DisplayLog(10**6)
    image = Image.new("RGB", (10, 10))
    log.add_value(image)
    log.add_value(image)
    log.add_value("text")
    assert len(log.displays) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"rubbish",
        encode([1]),
        encode({"image/png": 5}),
        encode({"a": {"b": "c"}}),
        encode({1: "a"}),
        encode({"image/png": [Image.new("L", (1, 1))]}),
    ],
)
def test_forged_display_frame_violates_the_protocol(body):
    with pytest.raises(ProtocolError, match="a DISPLAY frame"):
        display_bundle(body, 10**6)


def test_displays_past_the_limit_are_not_decoded():
    log = DisplayLog(max_value_bytes=10)
    for _ in range(100):
        assert log.has_room()
        log.add({"text/plain": "x" * 1000})  # dropped, but it was decoded
    assert not log.has_room()
    assert log.displays == []
    assert "[101 displays dropped" in log.note()


def test_display_frame_is_a_bundle():
    bundle = {"image/png": b"bytes", "text/plain": "text"}
    assert display_bundle(encode(bundle), 10**6) == bundle
    picture = display_bundle(encode({"image/jpeg": Image.new("L", (2, 1))}), 10**6)["image/jpeg"]
    assert (picture.size, picture.mode) == ((2, 1), "L")
