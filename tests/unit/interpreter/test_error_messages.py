"""What an error says: type, message, line and its text, what led to it, and what may help."""

from __future__ import annotations

import sys

import pytest

from smolagents_fork.errors import InterpreterError, ProgramFailedError
from smolagents_fork.interpreter import Interpreter

POSITIONS = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="Python 3.10 does not know the column of what failed"
)


def failure(code: str) -> str:
    with pytest.raises(InterpreterError) as caught:
        Interpreter(["asyncio"]).run(code)
    return str(caught.value)


def test_the_failing_line_of_a_longer_statement_is_shown() -> None:
    assert failure("x = {\n    'a': 1,\n    'b': unknown,\n}").endswith(
        "NameError: name 'unknown' is not defined. The variable `unknown` is not defined\n"
        "Traceback (most recent call last):\n  Line 3, in <module>\n    'b': unknown,"
    )


@POSITIONS
def test_of_several_statements_in_a_line_the_one_that_failed_is_shown() -> None:
    assert "at line 'c = a / 0' (line 1)" in failure("a = 1; b = 2; c = a / 0; d = 3")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("'abc'.spilt()", "no attribute 'spilt'. Did you mean: 'split', 'rsplit'?"),
        ("import math\nmath.sqroot(4)", "Did you mean: 'sqrt', 'isqrt'?"),
        ("class A:\n    def __init__(self): self.value = 1\nA().vlaue", "Did you mean: 'value'?"),
        ("d = {'name': 1}\nd.name", "A dict is asked for a key in brackets: ['name']"),
        ("async def f(): return 1\nc = f()\nc.close()\nc + 1", "write `await f(...)`"),
        ("class A:\n    __slots__ = ('width',)\nA().widht", "Did you mean: 'width'?"),
    ],
)
def test_something_near_is_suggested(code: str, words: str) -> None:
    assert words in failure(code)


@POSITIONS
def test_the_brackets_that_failed_are_the_ones_explained() -> None:
    text = failure("d = {'a': {'b': 1}}\nd['a']['c']")
    assert "KeyError: 'c'. Could not index {'b': 1} with 'c'" in text
    assert "Could not index" not in failure("d = {'a': [1]}\nd['a'].remove(d['a'][0] + 1)")


def test_causes_are_told() -> None:
    caused = "try:\n    int('x')\nexcept ValueError as e:\n    raise RuntimeError('bad row') from e"
    found = "\nCaused by ValueError at line 2: invalid literal for int() with base 10: 'x'"
    assert found in failure(caused)
    handling = caused.replace(" from e", "")
    assert found.replace("Caused by", "While handling") in failure(handling)
    assert "ValueError" not in failure(caused.replace("from e", "from None")).split("due to")[1]


def test_members_of_a_group_are_told() -> None:
    if sys.version_info < (3, 11):
        pytest.skip("exception groups came with Python 3.11")
    text = failure("raise ExceptionGroup('all', [ValueError('a'), TypeError('b')])")
    assert text.endswith("ExceptionGroup: all (2 sub-exceptions)\n  ValueError: a\n  TypeError: b")


def test_the_caret_stands_below_the_place() -> None:
    assert failure("x = [1, 2").endswith("\n    x = [1, 2\n        ^")


@pytest.mark.parametrize("name", ["KeyboardInterrupt", "GeneratorExit", "SystemExit"])
def test_what_a_program_raises_itself_is_its_own_failure(name: str) -> None:
    interpreter = Interpreter()
    with pytest.raises(ProgramFailedError, match=f"{name}: stop"):
        interpreter.run(f"def f():\n    raise {name}('stop')\nf()")
    assert interpreter.run("1 + 1").output == 2


def test_an_interrupt_of_the_host_is_the_hosts() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    interpreter = Interpreter()
    interpreter.send_tools({"interrupt": interrupt})
    with pytest.raises(KeyboardInterrupt):
        interpreter.run("interrupt()")
