"""Error messages: type, message, line and its text, cause, and hint."""

from __future__ import annotations

import builtins
import sys

import pytest

from smolagents_fork.errors import InterpreterError
from smolagents_fork.interpreter.guarded import Interpreter
from smolagents_fork.interpreter.guarded.policy import REFUSED_BUILTINS

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
        ("d = {'name': 1}\nd.name", "Use brackets to read a key of a dict: ['name']"),
        ("async def f(): return 1\nc = f()\nc.close()\nc + 1", "write `await f(...)`"),
        ("class A:\n    __slots__ = ('width',)\nA().widht", "Did you mean: 'width'?"),
        ("from collections import Countr", "Did you mean: 'Counter'"),
        ("import random\nrandom.randnt(1, 2)", "Did you mean: 'randint'"),
        ("json.dumps(1)", "Did you forget to import 'json'?"),
        ("n = 0\ndef f():\n    n += 1\nf()", "use the one outside by `global n`"),
    ],
)
def test_something_near_is_suggested(code: str, words: str) -> None:
    assert words in failure(code)


@POSITIONS
def test_a_builtin_that_the_program_has_replaced_is_told() -> None:
    words = "The program has given `sum` another value: use another name for that, and `del sum`"
    for call in ("sum([1])", "print(sum([1]))", "[sum([n]) for n in [1]]"):
        assert words in failure(f"sum = 0\n{call}")
    assert "another value" not in failure("x = 3\nprint(x())")


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


def test_a_decorator_that_fails_is_in_the_text_of_its_line() -> None:
    text = failure("x = 1\n@wrapped\n@again\ndef f(): pass")
    assert text.startswith(
        "Code execution failed at line '@wrapped\n@again\ndef f(): pass' (line 2) due to: NameError"
    )
    assert text.endswith("  Line 2, in <module>\n    @wrapped")


def test_lines_of_nested_functions_are_their_own() -> None:
    code = (
        "def outer(rows):\n    def inner(row):\n        return [\n            1,\n"
        "            1 / row,\n        ]\n    return list(map(inner, rows))\n"
        "result = outer(\n    [0],\n)"
    )
    assert failure(code) == (
        "Code execution failed at line 'result = outer(\n    [0],\n)' (line 8) due to: "
        "ZeroDivisionError: division by zero\nTraceback (most recent call last):\n"
        "  Line 8, in <module>\n    result = outer(\n  Line 7, in outer\n"
        "    return list(map(inner, rows))\n  Line 5, in inner\n    1 / row,"
    )


def test_a_line_inside_a_comprehension_is_its_own() -> None:
    text = failure("r = [\n    int(s)\n    for s in ['1', 'x']\n]")
    assert "Line 2, in <" in text
    assert text.endswith("    int(s)")


def test_a_name_is_suggested_neither_for_itself_nor_where_python_sets_it() -> None:
    for name in ("__author__", "__file__"):
        text = failure(name)
        assert f"name '{name}' is not defined" in text
        assert "Did you mean" not in text


def test_a_misspelt_name_never_takes_the_value_of_another() -> None:
    for code in ("total = 5\ntotl + 1", "total = 5\ntotl += 1", "d = {'total': 5}\nd['totl']"):
        assert "total" in failure(code).split("due to")[1]


@pytest.mark.parametrize(("name", "advice"), REFUSED_BUILTINS.items())
def test_a_refused_builtin_says_what_to_do(name: str, advice: str) -> None:
    assert failure(f"{name}()") == (
        f"Code execution failed at line '{name}()' (line 1) due to: InterpreterError: Forbidden "
        f"function evaluation: '{name}' is not among the explicitly allowed tools or "
        f"defined/imported in the preceding code: {advice}"
    )


def test_every_harmless_builtin_is_there() -> None:
    lacking = {"credits", "copyright", "license"}  # site's, for a person at a prompt
    for name in sorted(set(dir(builtins)) - {*lacking, *REFUSED_BUILTINS}):
        if not name.startswith("_"):
            Interpreter().run(name)
