"""Forms of a value that a notebook would display, by MIME type."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakSet

from ..text.texts import class_name

__all__ = ["bundle_of", "give_if_changed", "show_images_by"]

#: Methods by which objects give their forms to notebooks, with the form's MIME type.
_FORMS = {
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_svg_": "image/svg+xml",
    "_repr_html_": "text/html",
    "_repr_latex_": "text/latex",
    "_repr_markdown_": "text/markdown",
}


def bundle_of(value: Any) -> dict[str, Any]:
    """Return the forms of a value by MIME type; the text form is always there.

    Args:
        value: Value of any class. Its methods run, within the limits of the program.
    """
    forms: dict[str, Any] = {}
    kind = type(value)
    if callable(getattr(kind, "savefig", None)):
        target = io.BytesIO()
        with contextlib.suppress(Exception):
            value.savefig(target, format="png", bbox_inches="tight")
            forms["image/png"] = target.getvalue()
    for name, mime_type in _FORMS.items():
        if mime_type not in forms and callable(getattr(kind, name, None)):
            with contextlib.suppress(Exception):
                form = getattr(value, name)()
                if isinstance(form, (str, bytes)):
                    forms[mime_type] = form
    try:
        forms["text/plain"] = str.__str__(repr(value))
    except Exception as error:
        forms["text/plain"] = f"<{class_name(value)} whose repr() raised {class_name(error)}>"
    return forms


def give_if_changed(
    figure: Any, shown: WeakSet[Any], give: Callable[[Mapping[str, Any]], None]
) -> None:
    """Display a figure of matplotlib that is new or has changed since it was displayed.

    Args:
        figure: open, of pyplot.
        shown: figures that were displayed; this one is added.
        give: takes its forms.
    """
    # One that was saved to a file is not stale any more, but has not been displayed.
    if figure.stale or figure not in shown:
        give(bundle_of(figure))
        shown.add(figure)
        # A later change of the figure or of anything in it sets it again.
        figure.stale = False


def show_images_by(show: Callable[[Any], bool]) -> None:
    """Have Pillow's ``Image.show`` call a function first; Pillow is imported.

    Args:
        show: displays an image; returns whether it did, else another viewer is asked.
    """
    from PIL import ImageShow

    class ProgramViewer(ImageShow.Viewer):
        """Displays images of programs."""

        def show(self, image: Any, **_options: Any) -> int:
            return int(show(image))

    ImageShow.register(ProgramViewer, 0)
