"""Displays of a program: open figures, displayed values and shown images, as MIME bundles."""

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from ....forks import ForkSafeLock
from ....open_figures import OpenFigures
from ...display_forms import bundle_of

__all__ = ["ProgramDisplays"]

#: The displays of the program that runs in a thread.
_running: dict[int, ProgramDisplays] = {}


class ProgramDisplays:
    """Displays of one interpreter's programs.

    Args:
        give: takes the MIME bundle of each display; ``None``: there is no reader.
        suspended: lets this thread write to the host's own streams while ``give`` works.
    """

    def __init__(
        self,
        give: Callable[[Mapping[str, Any]], None] | None,
        suspended: Callable[[], contextlib.AbstractContextManager[None]],
    ) -> None:
        self._give = give
        self._suspended = suspended
        self.open_figures = OpenFigures()
        self._shown: weakref.WeakSet[Any] = weakref.WeakSet()

    def display(self, *values: Any, **_options: Any) -> None:
        """Display values, as the function of that name does in a notebook."""
        for value in values:
            self._show(bundle_of(value))

    def _show(self, bundle: Mapping[str, Any]) -> None:
        if self._give is not None:
            with self._suspended():
                self._give(bundle)

    def show_figures(self, *_options: Any, **_keywords: Any) -> None:
        """Display and close the program's open figures, in the place of ``pyplot.show``."""
        self._take_figures(close=True)

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Take the displays of the program that this thread runs in the block.

        Figures that are open at the end are displayed if they are new or have changed. They stay
        open, unless the host's notebook would close them.
        """
        with self.routed():
            try:
                yield
            finally:
                self.open_figures.register()
                if self.open_figures.managers:
                    self._take_figures(
                        close="inline" in str(sys.modules["matplotlib"].get_backend())
                    )

    @contextlib.contextmanager
    def routed(self) -> Iterator[None]:
        """Let what this thread shows be a display of this interpreter's programs."""
        ident = threading.get_ident()
        outer = _running.get(ident)
        _running[ident] = self
        try:
            with self.open_figures.routed():
                yield
        finally:
            if outer is None:
                _running.pop(ident, None)
            else:
                _running[ident] = outer

    def _take_figures(self, close: bool) -> None:
        for figure in self.open_figures.figures():
            # A figure that was saved to a file is no longer stale, but has not been displayed.
            if figure.stale or figure not in self._shown:
                self._show(bundle_of(figure))
                self._shown.add(figure)
                # A later change of the figure or of anything in it sets it again.
                figure.stale = False
            if close:
                sys.modules["matplotlib.pyplot"].close(figure)


def note_import(module: ModuleType) -> None:
    """Prepare a library that a program imports: pyplot, and Pillow's list of viewers.

    Args:
        module: as the program imports it.
    """
    running = _running.get(threading.get_ident())
    if running is not None:
        running.open_figures.register()
    if module.__name__ != "PIL.Image":
        return
    from PIL import ImageShow

    class ProgramViewer(ImageShow.Viewer):
        """Displays images of programs, and leaves those of the host to the other viewers."""

        def show(self, image: Any, **_options: Any) -> int:
            displays = _running.get(threading.get_ident())
            if displays is None:
                return 0
            displays.display(image)
            return 1

    with _viewer_lock:
        if not _registered:
            ImageShow.register(ProgramViewer, 0)
            _registered.append(ProgramViewer)


_viewer_lock = ForkSafeLock()
#: The viewer, once Pillow has it.
_registered: list[type] = []
