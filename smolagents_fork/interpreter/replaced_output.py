"""Members of modules that print: what they print goes where the program's ``print`` goes.

Part of the boundary that guards.py decides by: the host's own streams are out of reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .replaced import REFUSED
from .replaced_sizes import check_width

__all__ = ["MAKERS", "OutputStream"]


class OutputStream:
    """``sys.stdout`` or ``sys.stderr`` as a program sees it.

    Args:
        name: what the stream is called.
        write: takes what is written.
    """

    encoding = "utf-8"
    errors = "strict"
    closed = False

    def __init__(self, name: str, write: Callable[[str], Any]) -> None:
        self.name = name
        self._write = write
        self._targets: list[Any] = []

    def write(self, text: str, /) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self._targets:
            self._targets[-1].write(text)
        else:
            self._write(text)
        return len(text)

    def writelines(self, lines: Iterable[str], /) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Nothing is held back."""

    def isatty(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def forget_targets(self) -> None:
        """Undo redirections that a run left behind."""
        self._targets.clear()

    def redirected(self, target: Any) -> Redirection:
        return Redirection(self._targets, target)

    def __repr__(self) -> str:
        return f"<stream {self.name}>"


class Redirection:
    """``contextlib.redirect_stdout``, of the program's own output."""

    def __init__(self, targets: list[Any], target: Any) -> None:
        self._targets = targets
        self._target = target

    def __enter__(self) -> Any:
        self._targets.append(self._target)
        return self._target

    def __exit__(self, *_error: Any) -> None:
        if self._targets:
            self._targets.pop()


def _sys(modules: Any) -> dict[str, Any]:
    return {"stdout": modules.stdout, "stderr": modules.stderr}


def _contextlib(modules: Any) -> dict[str, Any]:
    return {
        "redirect_stdout": modules.stdout.redirected,
        "redirect_stderr": modules.stderr.redirected,
        # The working directory is the host's.
        "chdir": REFUSED,
    }


def _pprint(modules: Any) -> dict[str, Any]:
    import pprint as real

    class PrettyPrinter(real.PrettyPrinter):
        def __init__(
            self,
            indent: int = 1,
            width: int = 80,
            depth: int | None = None,
            stream: Any = None,
            **keywords: Any,
        ) -> None:
            check_width(modules, "PrettyPrinter", indent)
            stream = modules.stdout if stream is None else stream
            super().__init__(indent, width, depth, stream, **keywords)

    PrettyPrinter.__module__ = "pprint"
    PrettyPrinter.__qualname__ = "PrettyPrinter"

    def pprint(object: Any, stream: Any = None, *arguments: Any, **keywords: Any) -> None:
        modules.meter.look()
        sort_dicts = keywords.pop("sort_dicts", True)
        printer = PrettyPrinter(*arguments, stream=stream, sort_dicts=sort_dicts, **keywords)  # type: ignore[misc]
        printer.pprint(object)

    def pformat(object: Any, *arguments: Any, **keywords: Any) -> str:
        return PrettyPrinter(*arguments, **keywords).pformat(object)

    def pp(object: Any, *arguments: Any, sort_dicts: bool = False, **keywords: Any) -> None:
        pprint(object, *arguments, sort_dicts=sort_dicts, **keywords)

    return {"PrettyPrinter": PrettyPrinter, "pprint": pprint, "pp": pp, "pformat": pformat}


def _calendar(modules: Any) -> dict[str, Any]:
    import calendar

    def prmonth(*arguments: Any, **keywords: Any) -> None:
        modules.stdout.write(calendar.month(*arguments, **keywords))

    def prcal(*arguments: Any, **keywords: Any) -> None:
        modules.stdout.write(calendar.calendar(*arguments, **keywords))

    class TextCalendar(calendar.TextCalendar):
        def prweek(self, theweek: Any, width: int) -> None:
            modules.stdout.write(self.formatweek(theweek, width))

        def prmonth(self, theyear: int, themonth: int, w: int = 0, l: int = 0) -> None:  # noqa: E741
            modules.stdout.write(self.formatmonth(theyear, themonth, w, l))

        def pryear(self, theyear: int, w: int = 0, l: int = 0, c: int = 6, m: int = 3) -> None:  # noqa: E741
            modules.stdout.write(self.formatyear(theyear, w, l, c, m))

    TextCalendar.__module__ = "calendar"
    TextCalendar.__qualname__ = "TextCalendar"
    return {
        "prmonth": prmonth,
        "prcal": prcal,
        "TextCalendar": TextCalendar,
    }


MAKERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "sys": _sys,
    "contextlib": _contextlib,
    "pprint": _pprint,
    "calendar": _calendar,
}
