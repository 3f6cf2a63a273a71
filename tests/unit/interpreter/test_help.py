"""``help()`` of programs shows anything but tools as Python's does, into the logs."""

from __future__ import annotations

import pytest

from smolagents_fork.interpreter.guarded import Interpreter


def printed(code: str) -> str:
    logs = Interpreter(["json"]).run(code).logs
    # Before Python 3.12 an empty line of a description is indented, too.
    return "".join(f"{line.rstrip()}\n" for line in logs.splitlines())


def test_the_programs_own() -> None:
    code = (
        "def add(a, b=[1]):\n    '''Adds.'''\n"
        "class Point:\n    '''A point.'''\n    def __init__(self, x, y=0): pass\n"
        "help(add, Point)"
    )
    logs = printed(code)
    assert "\nadd(a, b=[1])\n    Adds.\n" in logs
    assert "\nclass Point(builtins.object)\n |  Point(x, y=0)\n |\n |  A point.\n" in logs


@pytest.mark.parametrize(
    ("value", "words"), [("len", "number of items"), ("json", "JSON"), ("'json'", "class str")]
)
def test_anything_else(value: str, words: str) -> None:
    assert words in printed(f"import json\nhelp({value})")
