"""The registry of program classes, and that the host's are not in it.

``tests/cases/programs/own_classes.py`` writes to classes of every form.
"""

from __future__ import annotations

import gc
import types

import pytest

from smolagents_fork.errors import ProgramRefusedError
from smolagents_fork.interpreter.guarded import Interpreter

MODULES = ["dataclasses", "enum", "functools"]


class Client:
    """A class of the host's."""

    _x = 0


def test_a_class_derived_from_one_of_the_host_is_the_programs_own() -> None:
    interpreter = Interpreter(MODULES)
    interpreter.send_variables({"Client": Client})
    code = (
        "class A(Client): pass\na = A()\na._x = 1; a._x += 1; a.y = 3; A._z = 4; A.w = 5\n"
        "(a._x, a.y, A._z, A.w, vars(A)['w'])"
    )
    assert interpreter.run(code).output == (2, 3, 4, 5, 5)


def test_the_entry_of_a_class_goes_with_the_class() -> None:
    interpreter = Interpreter(MODULES)
    classes = interpreter._classes
    interpreter.run("class Kept: pass\nKept._x = 1")
    gc.collect()
    before = set(classes.identities)
    interpreter.run(
        "from dataclasses import dataclass\nfrom enum import Enum\n"
        "for i in range(50):\n    class A: pass\n    class M(type): pass\n"
        "    class B(metaclass=M): pass\n    C = type('C', (), {})\n"
        "    @dataclass(slots=True)\n    class D:\n        x: int\n"
        "    class E(Enum):\n        X = 1\n"
        "    A._x = B._x = C._x = D._x = E._x = M._x = 1\n"
        "del A, B, C, D, E, M, i, dataclass, Enum"
    )
    gc.collect()
    assert classes.identities == before
    assert id(interpreter.state["Kept"]) in before
    assert len(classes._references) == len(before)


@pytest.mark.parametrize(
    "code",
    [
        "class A: pass\nA.__module__ = Client.__module__\nClient._x",
        "class M(type):\n    def __instancecheck__(c, o): return True\n"
        "class A(metaclass=M): pass\nClient()._x",
        "class A: pass\na = Client()\na.__class__ = A",
        "class A: pass\nClient.__class__ = A",
        "class A(Client): pass\nA.__bases__ = ()",
        "class A(Client): pass\nA.__mro__[1]._x",
        "class A(Client): pass\nA.__base__.x = 1",
        "from functools import total_ordering\nClient.__lt__ = lambda a, b: True",
        "from functools import update_wrapper\nclass A: pass\n"
        "update_wrapper(lambda: 0, A)\nClient._x = 1",
        "class B:\n    def __init_subclass__(cls): Client._x = 1\nclass A(B): pass",
    ],
)
def test_the_hosts_classes_do_not_become_the_programs(code: str) -> None:
    interpreter = Interpreter(MODULES)
    interpreter.send_variables({"Client": Client})
    before = dict(vars(Client))
    with pytest.raises(ProgramRefusedError):
        interpreter.run(code)
    assert dict(vars(Client)) == before
    assert id(Client) not in interpreter._classes.identities


def test_function_is_the_programs_by_its_code_and_not_by_its_globals() -> None:
    interpreter = Interpreter()
    hosts = types.FunctionType((lambda: 0).__code__, interpreter.state, "hosts")
    interpreter.send_variables({"hosts": hosts})
    with pytest.raises(ProgramRefusedError, match="only what the program itself"):
        interpreter.run("hosts._mark = 1")
    mine = types.FunctionType(interpreter.run("def f(): pass\nf").output.__code__, {}, "mine")
    interpreter.send_variables({"mine": mine})
    assert interpreter.run("mine._mark = 1\nmine._mark").output == 1
