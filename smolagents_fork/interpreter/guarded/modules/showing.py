"""Displays of a program: open figures, displayed values and shown images, as MIME bundles."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ....system.forks import ForkSafeLock
from ...display_forms import bundle_of, give_if_changed, show_images_by
from .places import ProgramPlaces, current_places

__all__ = ["InterpreterDisplays", "note_import"]


class InterpreterDisplays:
    """Displays of one interpreter's programs.

    Args:
        places: the program's; they have its open figures, and the reader of displays.
    """

    def __init__(self, places: ProgramPlaces) -> None:
        self._places = places
        self._shown: weakref.WeakSet[Any] = weakref.WeakSet()

    def display(self, *values: Any, **_options: Any) -> None:
        """Display values, as the function of that name does in a notebook."""
        for value in values:
            self._places.show(bundle_of(value))

    def show_figures(self, *_options: Any, **_keywords: Any) -> None:
        """Display and close the program's open figures, in the place of ``pyplot.show``."""
        self._take_figures(close=True)

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Take the displays of the program that this thread runs in the block.

        Figures that are open at the end are displayed if they are new or have changed. They stay
        open, unless the host's notebook would close them.
        """
        try:
            yield
        finally:
            self._places.register_figures()
            if self._places.figures:
                self._take_figures(close="inline" in str(sys.modules["matplotlib"].get_backend()))

    def _take_figures(self, close: bool) -> None:
        for figure in [manager.canvas.figure for manager in self._places.figures.values()]:
            give_if_changed(figure, self._shown, self._places.show)
            if close:
                sys.modules["matplotlib.pyplot"].close(figure)


def note_import(module: ModuleType) -> None:
    """Prepare a library that a program imports: pyplot, and Pillow's list of viewers.

    Args:
        module: Module as the program imports it.
    """
    places = current_places()
    if places is not None:
        places.register_figures()
    if module.__name__ != "PIL.Image":
        return
    global _has_viewer
    with _viewer_lock:
        if not _has_viewer:
            show_images_by(_show_image)
            _has_viewer = True


def _show_image(image: Any) -> bool:
    """Display an image of a program; one of the host is left to the other viewers."""
    places = current_places()
    if places is not None:
        places.show(bundle_of(image))
    return places is not None


_viewer_lock = ForkSafeLock()
#: Whether Pillow has the viewer of programs.
_has_viewer = False
