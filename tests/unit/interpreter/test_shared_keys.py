"""What a program calls ``re``, ``typing`` and their like with is not found there by the host.

Each program makes a key that says it equals one of the host's; what the host then finds is its own.
"""

from __future__ import annotations

import abc
import collections.abc
import contextlib
import datetime
import re
import string
import struct
import time
import typing
import xml.etree.ElementTree
import zoneinfo
from collections.abc import Callable
from typing import Any

import pytest

from smolagents_fork.errors import InterpreterError
from smolagents_fork.interpreter import Interpreter

LIAR = """
class Liar(BASE):
    def __hash__(self): return hash(CLAIMED)
    def __eq__(self, other): return True
"""
METACLASS = "class M(type): pass\n"


def liar(base: str, claimed: str) -> str:
    return LIAR.replace("BASE", base).replace("CLAIMED", claimed)


class Sized2(abc.ABC):  # noqa: B024 - it is asked about, and no more
    """An ABC of the host that nobody was ever asked about."""

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        return any("shared_keys" in vars(one) for one in other.__mro__)


class Named(type):
    """Found under its name, whenever it was made."""

    def __eq__(cls, other: object) -> bool:
        return other == "named"

    __hash__ = type.__hash__


def flags(pattern: str, wanted: int) -> Any:
    return re.compile(pattern, wanted).flags & ~re.U


CASES: dict[str, tuple[list[str], str, Callable[[], Any], Any]] = {
    "strptime": (
        ["datetime"],
        liar("str", "'%Y//%m//%d'") + "datetime.datetime.strptime('99', Liar('%y'))",
        lambda: datetime.datetime.strptime("2024//01//02", "%Y//%m//%d").day,
        2,
    ),
    "strptime-of-an-object": (
        ["datetime"],
        liar("str", "'%Y//%m'") + "f = datetime.datetime.now().strptime\nf('99', Liar('%y'))",
        lambda: datetime.datetime.strptime("2024//02", "%Y//%m").month,
        2,
    ),
    "time-strptime": (
        ["time"],
        liar("str", "'%Y/+/%m'") + "list(map(time.strptime, ['99'], [Liar('%y')]))",
        lambda: time.strptime("2024/+/03", "%Y/+/%m").tm_mon,
        3,
    ),
    "pattern-flags": (
        ["re"],
        liar("int", "0") + "re.compile('shared-flags', Liar(re.I))",
        lambda: flags("shared-flags", 0),
        0,
    ),
    "pattern-flags-of-a-template": (
        ["string", "re"],
        liar("int", "66")
        + "class F:\n    def __or__(self, other): return Liar(64)\n"
        + "class T(string.Template):\n    flags = F()\n"
        + "    pattern = '(?P<escaped>q)(?P<named>r)(?P<braced>s)(?P<invalid>t)'\n",
        lambda: flags("(?P<escaped>q)(?P<named>r)(?P<braced>s)(?P<invalid>t)", 66),
        66,
    ),
    "combined-flags": (
        ["re"],
        liar("int", "2 | 16 | 64 | 256") + "re.RegexFlag(Liar(4))",
        lambda: int.__add__((re.I | re.S | re.X | re.A).value, 0),
        2 | 16 | 64 | 256,
    ),
    "combined-flags-by-operator": (
        ["re"],
        liar("int", "8 | 16 | 64 | 256")
        + "class Wide(int):\n    def __ror__(self, other): return Liar(4)\n"
        + "re.I | Wide(1)",
        lambda: int.__add__((re.M | re.S | re.X | re.A).value, 0),
        8 | 16 | 64 | 256,
    ),
    "replacement": (
        ["re"],
        liar("str", r"r'\1-shared'") + r"re.sub('(a)', Liar(r'other\1'), 'a')",
        lambda: re.sub("(a)", r"\1-shared", "a"),
        "a-shared",
    ),
    "replacement-of-a-pattern": (
        ["re"],
        liar("str", r"r'\1+shared'") + r"re.compile('(b)').sub(repl=Liar(r'other\1'), string='b')",
        lambda: re.sub("(b)", r"\1+shared", "b"),
        "b+shared",
    ),
    "replacement-of-a-method-as-value": (
        ["re"],
        liar("str", r"r'\1*shared'") + r"f = re.compile('(c)').subn" + "\n"
        r"f(Liar(r'other\1'), 'c')",
        lambda: re.sub("(c)", r"\1*shared", "c"),
        "c*shared",
    ),
    "expansion": (
        ["re"],
        liar("str", r"r'\1/shared'") + r"re.match('(d)', 'd').expand(Liar(r'other\1'))",
        lambda: re.match("(d)", "d").expand(r"\1/shared"),  # type: ignore[union-attr]
        "d/shared",
    ),
    "generic": (
        ["typing"],
        liar("", "memoryview") + "Liar.__call__ = lambda self: 1\ntyping.List[Liar()]",
        lambda: typing.List[memoryview].__args__[0] is memoryview,  # type: ignore[attr-defined]  # noqa: UP006
        True,
    ),
    "structure": (
        ["struct"],
        liar("str", "'>hhi'") + "import struct\nstruct.calcsize(Liar('>b'))",
        lambda: struct.calcsize(">hhi"),
        8,
    ),
    "element-path": (
        ["xml.etree.ElementTree"],
        liar("str", "'shared/key'")
        + "import xml.etree.ElementTree as e\ne.fromstring('<a><b/></a>').find(Liar('./b'))",
        lambda: xml.etree.ElementTree.fromstring("<a><b/></a>").find("shared/key"),
        None,
    ),
    "time-zone": (
        ["zoneinfo"],
        liar("str", "'Africa/Abidjan'")
        + "from zoneinfo import ZoneInfo as Z\n"
        + "z = Z(Liar('Asia/Tokyo'))\ntype(z)(Liar('Asia/Tokyo'))",
        lambda: str.__str__(zoneinfo.ZoneInfo("Africa/Abidjan").key).upper(),
        "AFRICA/ABIDJAN",
    ),
    "metaclass": (
        [],
        liar("type", "int") + "class C(metaclass=Liar):\n    shared_keys = 1\nisinstance(C(), ask)",
        lambda: issubclass(int, Sized2),
        False,
    ),
    "metaclass-with-a-mixin": (
        [],
        liar("", "float")
        + "class M(Liar, type): pass\n"
        + "class C(metaclass=M):\n    shared_keys = 1\nisinstance(C(), ask)",
        lambda: issubclass(float, Sized2),
        False,
    ),
    "metaclass-set-later": (
        [],
        METACLASS
        + "M.__hash__ = lambda cls: hash(bytes)\nsetattr(M, '__eq__', lambda cls, other: True)\n"
        + "class C(metaclass=M):\n    shared_keys = 1\nisinstance(C(), ask)",
        lambda: issubclass(bytes, Sized2),
        False,
    ),
    "metaclass-of-a-mixin-set-later": (
        [],
        "class Mixin:\n    __hash__ = lambda cls: hash(list)\nclass M(Mixin, type): pass\n"
        + "Mixin.__eq__ = lambda cls, other: True\n"
        + "class C(metaclass=M):\n    shared_keys = 1\nisinstance(C(), ask)",
        lambda: issubclass(list, Sized2),
        False,
    ),
    "metaclass-by-type": (
        [],
        "M = type('M', (type,), {'__hash__': lambda c: hash(set), '__eq__': lambda c, o: True})\n"
        + "class C(metaclass=M):\n    shared_keys = 1\nisinstance(C(), ask)",
        lambda: issubclass(set, Sized2),
        False,
    ),
    "metaclass-by-map": (
        [],
        "made = map(type, ['M'], [(type,)], [{'__hash__': lambda c: hash(range), "
        + "'__eq__': lambda c, o: True}])\n"
        + "isinstance(next(made)('C', (), {'shared_keys': 1})(), ask)",
        lambda: issubclass(range, Sized2),
        False,
    ),
    "metaclass-by-an-alias-and-a-function-of-the-hosts": (
        ["difflib"],
        "said = {'__hash__': lambda c: hash(slice), '__eq__': difflib.ndiff}\n"
        + "M = type[int]('M', (type,), said)\n"
        + "isinstance(M('C', (), {'shared_keys': 1})(), ask)",
        lambda: issubclass(slice, Sized2),
        False,
    ),
    "metaclass-by-abcmeta": (
        ["abc"],
        "M = abc.ABCMeta('M', (abc.ABCMeta,), {'__hash__': lambda c: hash(super), "
        + "'__eq__': lambda c, o: True})\n"
        + "isinstance(M('C', (), {'shared_keys': 1})(), ask)",
        lambda: issubclass(super, Sized2),
        False,
    ),
    "metaclass-that-was-never-finished": (
        [],
        "kept = []\nclass Mixin:\n    __hash__ = lambda cls: hash(dict)\n"
        + "    def __init_subclass__(cls):\n        kept.append(cls)\n        raise KeyError\n"
        + "try:\n    class M(Mixin, type):\n        __hash__ = Mixin.__hash__\n"
        + "        def __eq__(cls, other): return True\n"
        + "except KeyError: pass\n"
        + "isinstance(kept[0]('C', (), {'shared_keys': 1})(), ask)",
        lambda: issubclass(dict, Sized2),
        False,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_host_finds_its_own(name: str) -> None:
    imports, program, find, expected = CASES[name]
    interpreter = Interpreter(imports)
    interpreter.send_variables({"ask": Sized2})
    start = "".join(f"import {one}\n" for one in imports if "." not in one)
    with contextlib.suppress(InterpreterError):
        interpreter.run(start + program)
    assert find() == expected


def test_texts_and_numbers_of_classes_of_ones_own_mean_what_they_mean() -> None:
    program = """
import re, time
from datetime import datetime
from zoneinfo import ZoneInfo
class Text(str): pass
class Number(int): pass
found = [
    re.sub(Text("a(.)"), Text(r"<\\1>"), Text("ab")),
    re.compile(Text("B"), Number(2)).search(Text("ab")).string.__class__.__name__,
    re.split(Text("-"), "a-b-c", 1, Number(0)),
    re.findall("a", "AbA", flags=re.I | re.M),
    datetime.strptime(Text("2024-02-03"), Text("%Y-%m-%d")).day,
    time.strptime("03", Text("%m")).tm_mon,
    str(ZoneInfo("Europe/Paris")), repr(ZoneInfo("UTC")), isinstance(zone, ZoneInfo),
    ZoneInfo("UTC") is ZoneInfo("UTC"), datetime(2024, 7, 1, tzinfo=ZoneInfo("UTC")).isoformat(),
]
"""
    interpreter = Interpreter(["zoneinfo"])
    interpreter.send_variables({"zone": zoneinfo.ZoneInfo("UTC")})
    interpreter.run(program)
    assert interpreter.state["found"] == [
        "<b>",
        "Text",
        ["a", "b-c"],
        ["A", "A"],
        3,
        3,
        "Europe/Paris",
        "zoneinfo.ZoneInfo(key='UTC')",
        True,
        True,
        "2024-07-01T00:00:00+00:00",
    ]


def test_a_metaclass_of_the_hosts_keeps_its_word() -> None:
    Interpreter().run("x = 1\nprint(x)")
    assert Named("Late", (), {}) == "named"


def test_an_abc_knows_a_class_whose_metaclass_only_hashes() -> None:
    program = METACLASS + "M.__hash__ = lambda cls: 7\nclass C(metaclass=M):\n    shared_keys = 1\n"
    interpreter = Interpreter()
    interpreter.send_variables({"ask": Sized2})
    assert interpreter.run(
        program + "isinstance(C(), ask), C == C, C == int, {C: 1}[C]"
    ).output == (
        True,
        True,
        False,
        1,
    )
    assert isinstance([], collections.abc.Sized)
    assert string.Template("$a").substitute(a=1) == "1"
