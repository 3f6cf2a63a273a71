"""Displays of a program that has its process for itself: figures, displayed values, images."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from ...codec.types.image_values import picture_of
from ..display_forms import bundle_of, give_if_changed, show_images_by

__all__ = ["ProgramDisplays", "show_all_figures"]

#: What the functions below display to; there is one engine in a process.
_current: list[ProgramDisplays] = []


class ProgramDisplays:
    """Displays of the programs of this process.

    Args:
        give: takes the MIME bundle of each display.
    """

    def __init__(self, give: Callable[[Mapping[str, Any]], None]) -> None:
        self._give = give
        self._shown: weakref.WeakSet[Any] = weakref.WeakSet()
        self._has_viewer = False
        _current[:] = [self]

    def display(self, *values: Any, **_options: Any) -> None:
        """Display values, as the function of that name does in a notebook."""
        for value in values:
            self._give(bundle_of(value))

    def drawn(self, value: Any) -> Any:
        """Return the picture of a matplotlib figure, which is closed; any other value as it is."""
        if not type(value).__module__.startswith("matplotlib."):
            return value
        picture = picture_of(value)
        pyplot = sys.modules.get("matplotlib.pyplot")
        if picture is not value and pyplot is not None:
            pyplot.close(value)
        return picture

    def show_changed_figures(self, *, close: bool = False) -> None:
        """Display pyplot's open figures that are new or have changed.

        Args:
            close: whether to close them.
        """
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None or not hasattr(pyplot, "get_fignums"):  # it failed to import
            return
        numbers = pyplot.get_fignums()
        if not numbers:
            return
        current = pyplot.gcf().number
        for number in numbers:
            figure = pyplot.figure(number)
            give_if_changed(figure, self._shown, self._give)
            if close:
                pyplot.close(figure)
        if not close:
            pyplot.figure(current)

    def prepare_libraries(self) -> None:
        """Make Pillow's ``Image.show`` a display, once the program has imported Pillow."""
        if self._has_viewer or "PIL.Image" not in sys.modules:
            return
        self._has_viewer = True
        show_images_by(self._show_image)

    def _show_image(self, image: Any) -> bool:
        self.display(image)
        return True


def show_all_figures() -> None:
    """Display and close the open figures, as ``pyplot.show`` does in a notebook."""
    for displays in _current:
        displays.show_changed_figures(close=True)
