"""Deeply nested and long programs: they run, or are refused before the run."""

from __future__ import annotations

import pytest

from smolagents_fork.errors import InterpreterError
from smolagents_fork.interpreter.guarded import Interpreter


def test_finally_blocks_beside_and_around_one_another_run() -> None:
    beside = "\n".join("try: pass\nfinally: x = 1" for _ in range(200))
    assert Interpreter().run(beside + "\nx").output == 1
    around = "".join(" " * n + "try:\n" for n in range(18)) + " " * 18 + "x = 1\n"
    around += "".join(" " * n + "finally: x += 1\n" for n in reversed(range(18)))
    assert Interpreter().run(around + "x").output == 19


NESTED = {
    "sum of names": ("x = 1\n" + " + ".join(["x"] * 1000), 1000),
    "sum of constants": (" + ".join(["1"] * 400), 400),
    "sum of texts": (" + ".join(["'a'"] * 400), "a" * 400),
    "product": ("x = 1\n" + " * ".join(["x"] * 400), 1),
    "remainders": ("x = 2\nx" + " % 3" * 400, 2),
    "parentheses": ("(" * 200 + "1" + ")" * 200, 1),
    "sums in parentheses": ("x = 1\n" + "x + (" * 99 + "x" + ")" * 99, 100),
    "minus signs": ("-" * 1000 + "1", 1),
    "conditions": ("x = 1\nx" + " if x else x" * 500, 1),
    "alternatives": ("x = 1\n" + " or ".join(["x - 1"] * 1000), 0),
    "method calls": ("x = []\nx" + ".copy()" * 600, []),
    "sized method calls": ("'a'" + ".replace('a', 'bb')" * 300, "bb"),
    "lambdas": ("(lambda: " * 80 + "1" + ")" * 80 + "()" * 80, 1),
    "items": ("x = " + "[" * 90 + "1" + "]" * 90 + "\nx" + "[0]" * 90, 1),
    "elif": ("x = 400\nif x == 0: r = 0\n"
             + "".join(f"elif x == {i}: r = {i}\n" for i in range(1, 401)) + "r", 400),
    "comparisons": (" < ".join(map(str, range(500))), True),
    "lines": ("x = 0\n" + "x += 1\n" * 5000 + "x", 5000),
}  # fmt: skip


@pytest.mark.parametrize(("code", "value"), NESTED.values(), ids=NESTED)
def test_long_and_deep_expressions_run(code: str, value: object) -> None:
    assert Interpreter().run(code).output == value


@pytest.mark.parametrize(
    "code",
    ["(" * 5000 + "1" + ")" * 5000, "-" * 200_000 + "1", "x" + ".a" * 100_000,
     "1" + "+1" * 100_000, "[" * 150 + "]" * 150 + "(" * 300],
)  # fmt: skip
def test_what_is_nested_too_deeply_is_an_error_before_the_run(code: str) -> None:
    with pytest.raises(InterpreterError, match="Code parsing failed") as caught:
        Interpreter().run(code)
    assert type(caught.value) is InterpreterError
