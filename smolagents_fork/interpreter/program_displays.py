"""Displays of programs: forms of a value by MIME type, figures and images."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakSet

from ..text.texts import class_name

__all__ = ["ProgramDisplays", "bundle_of", "show_images_by"]

#: Methods by which objects give their forms to notebooks, with the form's MIME type.
_FORMS = {
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_svg_": "image/svg+xml",
    "_repr_html_": "text/html",
    "_repr_latex_": "text/latex",
    "_repr_markdown_": "text/markdown",
}
_TEXTS = (str, bytes)


def bundle_of(value: Any) -> dict[str, Any]:
    """Return the forms of a value by MIME type; the text form is always there.

    Args:
        value: Value of any class. Its methods run, within the limits of the program.
    """
    forms: dict[str, Any] = {}
    cls = type(value)
    if callable(getattr(cls, "_repr_mimebundle_", None)):
        with contextlib.suppress(Exception):
            bundle = value._repr_mimebundle_(include=None, exclude=None)
            bundle = bundle[0] if isinstance(bundle, tuple) else bundle  # beside its metadata
            forms |= {str(key): form for key, form in bundle.items() if isinstance(form, _TEXTS)}
    if "image/png" not in forms and callable(getattr(cls, "savefig", None)):
        target = io.BytesIO()
        with contextlib.suppress(Exception):
            value.savefig(target, format="png", bbox_inches="tight")
            forms["image/png"] = target.getvalue()
    for name, mime_type in _FORMS.items():
        if mime_type not in forms and callable(getattr(cls, name, None)):
            with contextlib.suppress(Exception):
                form = getattr(value, name)()
                if isinstance(form, _TEXTS):
                    forms[mime_type] = form
    if "text/plain" not in forms:
        try:
            forms["text/plain"] = str.__str__(repr(value))
        except Exception as error:
            forms["text/plain"] = f"<{class_name(value)} whose repr() raised {class_name(error)}>"
    return forms


class ProgramDisplays:
    """Displays of programs: displayed values, pyplot's figures, and images that Pillow shows.

    Args:
        give: takes the MIME bundle of each display.
    """

    def __init__(self, give: Callable[[Mapping[str, Any]], None]) -> None:
        self._give = give
        self._shown: WeakSet[Any] = WeakSet()

    def display(self, *values: Any, **_options: Any) -> None:
        """Display values, as the function of that name does in a notebook."""
        for value in values:
            self._give(bundle_of(value))

    def show_figures(self, *_options: Any, **_keywords: Any) -> None:
        """Display and close the open figures, in the place of ``pyplot.show``."""
        self.show_changed_figures(close=True)

    def show_changed_figures(self, *, close: bool = False) -> None:
        """Display pyplot's open figures that are new or have changed since they were displayed."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None or not hasattr(pyplot, "get_fignums"):  # it failed to import
            return
        numbers = pyplot.get_fignums()
        if not numbers:
            return
        current = pyplot.gcf().number
        for number in numbers:
            figure = pyplot.figure(number)
            # One that was saved to a file is not stale any more, but has not been displayed.
            if figure.stale or figure not in self._shown:
                self._give(bundle_of(figure))
                self._shown.add(figure)
                # A later change of the figure or of anything in it sets it again.
                figure.stale = False
            if close:
                pyplot.close(figure)
        if not close:
            pyplot.figure(current)


def show_images_by(show: Callable[[Any], bool]) -> None:
    """Have Pillow's ``Image.show`` call a function first, if a program has imported Pillow.

    Args:
        show: displays an image; returns whether it did, else another viewer is asked. It is
            registered once.
    """
    if show in _viewers or "PIL.Image" not in sys.modules:
        return
    _viewers.append(show)  # a second viewer would not be asked
    from PIL import ImageShow

    class ProgramViewer(ImageShow.Viewer):
        """Displays images of programs."""

        def show(self, image: Any, **_options: Any) -> int:
            return int(show(image))

    ImageShow.register(ProgramViewer, 0)


#: Functions that Pillow's viewers call.
_viewers: list[Callable[[Any], bool]] = []
