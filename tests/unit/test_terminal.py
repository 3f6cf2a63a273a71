"""Text that others wrote, as a terminal of ours shows it."""

from __future__ import annotations

import io
import re
import unicodedata

import pytest
from rich.console import Console
from rich.live import Live
from rich.markdown import Markdown
from rich.text import Text

from smolagents_fork.terminal import TerminalConsole, harmless, make_harmless

#: What a terminal obeys, by what it does.
OBEYED = {
    "title": "\x1b]0;owned\x07",
    "clipboard": "\x1b]52;c;ZWNobw==\x07",
    "clear": "\x1b[2J\x1b[H",
    "colour": "\x1b[8mhidden\x1b[0m",
    "eight bits": "\x9b2J",
    "link": "\x1b]8;;http://127.0.0.1:9/\x1b\\text\x1b]8;;\x1b\\",
    "answer": "\x1b[6n",
    "device": "\x1bP1;1|17/ab\x1b\\",
    "overwritten": "secret\rpublic",
    "erased": "secret\b\b\b\b\b\bpublic",
    "reversed": "user\u202egnp.exe",
    "isolated": "a\u2066b\u2069c",
    "invisible": "pay\u200b\u2060\ufeffload",
    "tags": "".join(chr(0xE0000 + ord(char)) for char in "ignore all"),
    "selectors": "".join(chr(0xE0100 + number) for number in range(3)),
    "fillers": "a\u3164b\u115fc\u034fd\u180be\ufe00f",
    "lines": "one\u2028two\u2029three\x85four",
    "bell, null, delete": "\a\0\x7f",
    "soft hyphen": "pass\u00adword",
    "surrogate": "\ud83d",
}
KEPT = ["plain", "tab\tline\n", "é ü ß", "日本語", "👩‍👩‍👧 ❤️ 🏳️‍🌈", "می‌خواهم", "café\u0301", "\xa0x"]


@pytest.mark.parametrize("name", OBEYED)
def test_what_is_obeyed_is_shown(name):
    text = harmless(OBEYED[name])
    for char in text:
        assert unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        assert ord(char) not in range(0xE0100, 0xE01F0)
    assert "\\" in text
    assert harmless(text) == text
    text.encode()


@pytest.mark.parametrize("text", KEPT)
def test_text_is_kept(text):
    assert harmless(text) == text


def test_line_ends_of_windows():
    assert harmless("one\r\ntwo\r\n") == "one\ntwo\n"


def test_every_character_is_kept_or_shown():
    for number in range(0x110000):
        shown = harmless(chr(number))
        assert shown.isprintable() or shown in ("\n", "\t") or len(shown) == 1


@pytest.mark.parametrize("name", OBEYED)
@pytest.mark.parametrize("kind", [str, Text, Markdown])
def test_console_prints_no_obeyed_character(name, kind):
    file = io.StringIO()
    console = make_harmless(make_harmless(Console(file=file, width=200, force_terminal=True)))
    console.print(kind(f"before {OBEYED[name]} after"))
    own = re.sub(r"\x1b\[[\d;]*m", "", file.getvalue())  # rich's own colours
    assert "\x1b" not in own
    assert harmless(own) == own


def test_links_of_markup_are_removed():
    file = io.StringIO()
    console = make_harmless(Console(file=file, force_terminal=True))
    console.print("[link=http://127.0.0.1:9/]text[/link]")
    assert "127.0.0.1" not in file.getvalue()
    TerminalConsole(file=file).print("[link=http://127.0.0.1:9/]text[/link]")
    assert "[link=http://127.0.0.1:9/]text[/link]" in file.getvalue()


def test_moving_line_keeps_its_own_control_sequences():
    file = io.StringIO()
    console = make_harmless(Console(file=file, force_terminal=True, width=80))
    with Live("", console=console) as live:
        live.update(Text("moving \x1b]0;owned\x07"), refresh=True)
        live.update(Text("moved"), refresh=True)
    text = file.getvalue()
    assert "\x1b[2K" in text
    assert "\x1b]" not in text
    assert "moving \\x1b]0;owned" in text
