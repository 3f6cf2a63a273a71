"""``help()`` of programs: tools and the program's own, bounded, and nothing of the host's."""

from __future__ import annotations

import pytest

from smolagents_fork.interpreter.guarded import Interpreter


class Secret:
    def __repr__(self) -> str:
        raise AssertionError("a default of the host's is not shown")


CLIENT = Secret()


def lookup(key, table="long-enough-to-be-a-secret", *rest, limit=5, client=CLIENT, **more):
    """Looks something up.

    In a table.
    """


def printed(code: str) -> str:
    interpreter = Interpreter(["json"])
    interpreter.send_tools({"lookup": lookup, "bare": lambda: 1})
    return interpreter.run(code).logs


def test_a_tool():
    assert printed("help(lookup)") == (
        "lookup(key, table=..., *rest, limit=5, client=..., **more)\n"
        "    Looks something up.\n\n    In a table.\n"
    )
    assert printed("help(bare)") == "bare()\n"
    assert "help(name) describes one of: bare, lookup" in printed("help()")


def test_the_programs_own():
    code = (
        "def add(a, b=[1]):\n    '''Adds.'''\n"
        "class Point:\n    '''A point.'''\n    def __init__(self, x, y=0): pass\n"
        "help(add, Point)"
    )
    assert printed(code) == "add(a, b=...)\n    Adds.\nclass Point(x, y=0)\n    A point.\n"


@pytest.mark.parametrize("value", ["print", "len", "'text'", "json", "int", "lookup.__doc__"])
def test_anything_else_is_not_looked_into(value):
    logs = printed(f"import json\nhelp({value})")
    assert logs.startswith("help() describes tools, agents, and functions and classes")


def test_what_a_program_makes_of_itself_does_no_harm():
    long = printed("def f(): pass\nf.__doc__ = 'x' * 1_000_000\nhelp(f)")
    assert len(long) < 11_000
    assert "describes" in printed("help = help\nhelp(1)")


@pytest.mark.parametrize("place", ["__signature__", "__text_signature__"])
def test_a_signature_that_is_text_is_not_read(place):
    # Python 3.12 and later evaluate the defaults in it.
    code = f"class P:\n    {place} = '(x=later)'\n    def __init__(self, y): pass\nhelp(P)"
    assert printed(code) == "class P(y)\n"
