"""Places of the process where libraries look by default, with values of their own for programs.

While programs run, a thread of a program finds its program's values there, and every other thread
the original ones: the standard streams, the module ``__main__`` and pyplot's open figures. So
what a library prints for a program is the program's output, and what looks a class up in its
module, such as :mod:`pickle`, finds it.
Nothing here imports matplotlib.
"""

from __future__ import annotations

import io
import sys
import threading
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from ....output import BytesWriter, ignore_settings
from ....system.forks import ForkSafeLock, reset_in_child
from ...program_displays import ProgramDisplays, show_images_by

__all__ = ["ProgramPlaces", "note_import"]

#: The places of the program that runs in a thread.
_routes: dict[int, ProgramPlaces] = {}
_lock = ForkSafeLock()
_users = 0


def current_places() -> ProgramPlaces | None:
    """Return the places of the program that runs in this thread."""
    return _routes.get(threading.get_ident())


@reset_in_child
def _forget_other_threads() -> None:
    """Drop the values of threads that a forked copy of the process does not have."""
    ident = threading.get_ident()
    for other in [number for number in _routes if number != ident]:
        del _routes[other]


class OutputStream(io.TextIOBase):
    """A stream that a program may write to."""

    encoding = "utf-8"
    errors = "strict"
    reconfigure = staticmethod(ignore_settings)

    def __init__(self, name: str, write: Callable[[str], Any]) -> None:
        self.name = name
        self._write = write
        #: Takes bytes.
        self.buffer = BytesWriter(self)
        #: What takes the output instead, the newest redirection last.
        self.targets: list[Any] = []

    def write(self, text: str, /) -> int:
        """Write ``text``, to the newest redirection if there is one."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self.targets:
            self.targets[-1].write(text)
        else:
            self._write(text)
        return len(text)

    def writable(self) -> bool:
        """Tell that this can be written to."""
        return True

    @contextmanager
    def redirected(self, target: Any) -> Iterator[Any]:
        """Stand for ``contextlib.redirect_stdout``, of the program's own output."""
        self.targets.append(target)
        try:
            yield target
        finally:
            if self.targets:
                self.targets.pop()


class ProgramPlaces:
    """Values that libraries find for one interpreter's programs.

    Args:
        write: takes what is written to the standard output and error.
        variables: Variables of the program, which are those of its ``__main__``.
        real: gives what libraries find for a value of a variable.
        give_display: takes the MIME bundle of each display; ``None``: there is no reader.
    """

    def __init__(
        self,
        write: Callable[[str], Any],
        variables: dict[str, Any],
        real: Callable[[Any], Any],
        give_display: Callable[[Mapping[str, Any]], None] | None,
    ) -> None:
        self.variables = variables
        self._real = real
        self._give_display = give_display
        #: Takes the program's figures and displayed values.
        self.displays = ProgramDisplays(self._show)
        self.stdin = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        self.stdout = OutputStream("<stdout>", write)
        self.stderr = OutputStream("<stderr>", write)
        #: pyplot's managers by number, the current one last. A later run finds those left open.
        self.figures: OrderedDict[Any, Any] = OrderedDict()

    def main_namespace(self) -> dict[str, Any]:
        """Return the namespace of ``__main__`` for libraries: a copy with the real modules.

        A library that looks for ``typing.ClassVar`` in annotations compares the module.
        """
        return {name: self._real(value) for name, value in self.variables.items()}

    @contextmanager
    def routed(self) -> Iterator[None]:
        """Let libraries find this, in the thread of a run.

        Figures that are open at the end are displayed if they are new or have changed. They stay
        open, unless the host's notebook would close them.
        """
        global _users
        with _lock:
            _install()
            _users += 1
        try:
            with self.routed_thread():
                try:
                    yield
                finally:
                    self._show_open_figures()
        finally:
            with _lock:
                _users -= 1
                if _users == 0:
                    _restore()

    def routed_thread(self) -> AbstractContextManager[None]:
        """Let libraries find this in this thread, while a run is going on."""
        return _route(self)

    def suspended(self) -> AbstractContextManager[None]:
        """Let libraries find the host's values in this thread: a tool works."""
        return _route(None)

    def _show_open_figures(self) -> None:
        self.register_figures()
        if self.figures:
            backend = str(sys.modules["matplotlib"].get_backend())
            self.displays.show_changed_figures(close="inline" in backend)

    def _show(self, bundle: Mapping[str, Any]) -> None:
        if self._give_display is not None:
            with self.suspended():
                self._give_display(bundle)

    def register_figures(self) -> None:
        """Register figures that were opened before pyplot's import was noticed.

        A library has imported it for the program. With several programs it is not known for which:
        the figures are then the host's.
        """
        with _lock:
            routed = _install_figures()
            if routed is not None and all(other is self for other in _routes.values()):
                self.figures.update(routed.original)
                routed.original.clear()


def note_import(module: types.ModuleType) -> None:
    """Prepare a library that a program imports: pyplot, and Pillow's list of viewers."""
    places = current_places()
    if places is not None:
        places.register_figures()
    if module.__name__ == "PIL.Image":
        show_images_by(_show_image)


def _show_image(image: Any) -> bool:
    """Display an image of a program; one of the host is left to the other viewers."""
    places = current_places()
    if places is not None:
        places.displays.display(image)
    return places is not None


@contextmanager
def _route(places: ProgramPlaces | None) -> Iterator[None]:
    ident = threading.get_ident()
    before = _routes.pop(ident, None)
    if places is not None:
        _routes[ident] = places
    try:
        yield
    finally:
        _routes.pop(ident, None)
        if before is not None:
            _routes[ident] = before


class _RoutedStream:
    """A standard stream of the process while programs run."""

    def __init__(self, name: str, original: Any) -> None:
        self.name = name
        self.original = original

    def _target(self) -> Any:
        places = current_places()
        return self.original if places is None else getattr(places, self.name)

    def __iter__(self) -> Any:
        return iter(self._target())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target(), name)


_PLAIN_MODULE = dict.fromkeys(("__doc__", "__loader__", "__package__", "__spec__"))


class _RoutedMain(types.ModuleType):
    """The class of the module ``__main__`` while programs run; the module stays the same."""

    def __getattribute__(self, name: str) -> Any:
        places = current_places()
        if places is None or name == "__class__":
            return super().__getattribute__(name)
        if name == "__dict__":
            return places.main_namespace()
        try:
            return {**_PLAIN_MODULE, **places.variables}[name]
        except KeyError:
            raise AttributeError(f"module '__main__' has no attribute {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        places = current_places()
        if places is None or name == "__class__":
            super().__setattr__(name, value)
        else:
            places.variables[name] = value


class _RoutedFigures:
    """The attribute ``Gcf.figs`` of pyplot while programs run.

    Args:
        original: pyplot's managers of the host, by number.
    """

    def __init__(self, original: OrderedDict[Any, Any]) -> None:
        self.original = original

    def __get__(self, _instance: Any, _owner: type) -> OrderedDict[Any, Any]:
        places = current_places()
        return self.original if places is None else places.figures


_STREAMS = ("stdin", "stdout", "stderr")


def _install() -> None:
    """Route the places by thread, also those that the host has replaced while programs run."""
    for name in _STREAMS:
        if type(stream := getattr(sys, name)) is not _RoutedStream:
            setattr(sys, name, _RoutedStream(name, stream))
    main = sys.modules.get("__main__")
    if type(main) is types.ModuleType:
        main.__class__ = _RoutedMain
    _install_figures()


def _install_figures() -> _RoutedFigures | None:
    """Route pyplot's figures, if it is imported; return the route if it is new."""
    gcf = _figure_registry()
    if gcf is None or isinstance(vars(gcf)["figs"], _RoutedFigures):
        return None
    gcf.figs = routed = _RoutedFigures(vars(gcf)["figs"])
    return routed


def _figure_registry() -> Any:
    return getattr(sys.modules.get("matplotlib._pylab_helpers"), "Gcf", None)


def _restore() -> None:
    """Undo :func:`_install`, where nobody has replaced a value meanwhile: the last run ends."""
    for name in _STREAMS:
        if type(stream := getattr(sys, name)) is _RoutedStream:
            setattr(sys, name, stream.original)
    main = sys.modules.get("__main__")
    if type(main) is _RoutedMain:
        main.__class__ = types.ModuleType  # type: ignore[assignment]  # as it was before
    gcf = _figure_registry()
    if gcf is not None and isinstance(routed := vars(gcf)["figs"], _RoutedFigures):
        gcf.figs = routed.original
