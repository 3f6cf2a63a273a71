"""Untrusted text on the user's terminal, which would obey its control characters.

A terminal obeys control characters: they change its title, write to its clipboard, clear or
overwrite its text. Format characters reverse or hide text. What reaches a terminal of
ours, or the log of upstream's agents, passes :func:`harmless`, which shows each such character
instead.
"""

from __future__ import annotations

import unicodedata
import weakref
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

__all__ = ["TerminalConsole", "harmless", "make_harmless"]

# Joiners belong to scripts and to emoji.
_KEPT = frozenset("\n\t\u200c\u200d")
# Control, format, lone surrogate, line and paragraph separator (Unicode's general categories).
_OBEYED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Marks and letters that are invisible, by which text can be hidden in text. The two selectors of
# variants that emoji have are not among them.
_INVISIBLE = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0}
    | {*range(0x180B, 0x1810), *range(0xFE00, 0xFE0E), *range(0xE0100, 0xE01F0)}
)


class _Shown(dict[int, str]):
    """Table for :meth:`str.translate`, made as it is used."""

    def __missing__(self, number: int) -> str:
        char = chr(number)
        obeyed = number in _INVISIBLE or unicodedata.category(char) in _OBEYED
        if obeyed and char not in _KEPT:
            char = char.encode("unicode_escape").decode("ascii")
        self[number] = char
        return char


_SHOWN = _Shown()
# Several agents may log to one console.
_made_harmless: weakref.WeakSet[Console] = weakref.WeakSet()


def harmless(text: str) -> str:
    r"""Return text that a terminal shows and does not obey.

    Line ends of Windows become ``\n``. Colours and links of the text are shown as their characters,
    too: a program that may write them may hide text by them.

    Args:
        text: Text by anybody.

    Example:
        >>> harmless("\x1b]0;title\x07 one\ttwo\n")
        '\\x1b]0;title\\x07 one\ttwo\n'
    """
    if text.isascii() and text.isprintable():
        return text
    return text.replace("\r\n", "\n").translate(_SHOWN)


def make_harmless(console: Console) -> Console:
    """Have a console print harmless text, whatever is printed; return the same console.

    Its own control sequences, such as those of a moving line, stay. Links are removed: markup in a
    text can make them.

    Args:
        console: Console of rich.
    """
    if console in _made_harmless:
        return console
    _made_harmless.add(console)
    render = console.render

    def render_harmless(
        renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        return map(_segment, render(renderable, options))

    console.render = render_harmless  # type: ignore[method-assign]
    return console


class TerminalConsole(Console):
    """A console of rich for text that others wrote, without markup; see :func:`make_harmless`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "highlight": False, "emoji": False, **options})
        make_harmless(self)


def _segment(segment: Segment) -> Segment:
    if segment.control:
        return segment
    style = segment.style
    if style is not None and style.link:
        style = style.update_link(None)
    text = harmless(segment.text)
    if text is segment.text and style is segment.style:
        return segment
    return Segment(text, style)
