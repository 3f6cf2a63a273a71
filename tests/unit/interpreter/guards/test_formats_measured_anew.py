"""A format is looked at again when what is put into it grows, however often it was small."""

from __future__ import annotations

import pytest

from smolagents_fork.errors import LimitExceededError
from smolagents_fork.interpreter.guarded import Interpreter, Limits

LIMITS = Limits(max_text_length=10_000, timeout_seconds=20)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("'%s-%s' % ('a', 'b')", "'%s-%s' % ('a' * 9_000, 'b' * 9_000)"),
        ("'%*d' % (5, 1)", "'%*d' % (50_000, 1)"),
        ("'%(a)s%(a)s%(a)s' % {'a': 'x'}", "'%(a)s%(a)s%(a)s' % {'a': 'x' * 9_000}"),
        ("'%s%s%s' % (1, 2.5, 'x')", "'%s%s%s' % (1, 2.5, ['x' * 9_000] * 3)"),
        ("'%d' % 7", "'%50000d' % 7"),
        ("'%d' % 7", "'%.50000d' % 7"),
        ("b'%d' % 7", "b'%50000d' % 7"),
        ("'x' % ()", "('%500d' * 500) % ((1,) * 500)"),
    ],
)
def test_a_format_that_was_small_is_measured_when_it_is_not(first: str, then: str) -> None:
    interpreter = Interpreter(limits=LIMITS)
    assert interpreter.run(first).output == eval(first)
    with pytest.raises(LimitExceededError):
        interpreter.run(then)


def test_many_formats_are_right_one_after_another() -> None:
    program = "[('%d-' + 'x' * i + '%s') % (i, 'y') for i in range(300)]"
    interpreter = Interpreter(limits=LIMITS)
    assert interpreter.run(program).output == eval(program)
    assert interpreter.run(program).output == eval(program)


def test_a_text_of_ones_own_kind_formats_in_its_own_way() -> None:
    program = (
        "class S(str):\n    def __mod__(self, x): return ('own', x)\n"
        "class T(str):\n    def __str__(self): return 'mine'\n"
        "(S('%d') % 1, '%s' % T('x'), '%d' % True)"
    )
    assert Interpreter().run(program).output == (("own", 1), "mine", "1")
