"""The registry of program classes: whose a class is, from its first moment to its last."""

from __future__ import annotations

import gc
import sys
import types
from typing import Any

import pytest

from smolagents_fork.errors import ProgramRefusedError
from smolagents_fork.interpreter.guarded import Interpreter

MODULES = ["abc", "collections", "contextlib", "copy", "dataclasses", "enum", "functools", "types",
           "typing"]  # fmt: skip


def run(code: str) -> Any:
    return Interpreter(MODULES).run(code).output


#: Each uses what only the program's own classes may: private names, and writing to the class.
FIRST_MOMENTS = {
    "__init_subclass__": (
        "class A:\n    def __init_subclass__(cls): cls._x = 1; cls.y = 2\n"
        "class B(A): pass\n(B._x, B.y)",
        (1, 2),
    ),
    "__set_name__": (
        "class D:\n    def __set_name__(self, owner, name): owner._names = [name]; owner.z = 1\n"
        "class A: d = D()\n(A._names, A.z)",
        (["d"], 1),
    ),
    "__init__ of a metaclass": (
        "class M(type):\n    def __init__(cls, n, b, ns):\n        super().__init__(n, b, ns)\n"
        "        cls._tag = n; cls.k = 1\nclass A(metaclass=M): pass\n(A._tag, A.k)",
        ("A", 1),
    ),
    "__new__ of a metaclass": (
        "class M(type):\n    def __new__(m, n, b, ns, **k):\n"
        "        c = super().__new__(m, n, b, ns)\n        c._made = k\n        return c\n"
        "class A(metaclass=M, z=1): pass\nA._made",
        {"z": 1},
    ),
    "type.__new__ in a metaclass": (
        "class M(type):\n    def __new__(m, n, b, ns):\n"
        "        c = type.__new__(m, n, b, ns)\n        c._made = 1\n        return c\n"
        "class A(metaclass=M):\n    def __init__(self): self._q = 2\n(A._made, A()._q)",
        (1, 2),
    ),
    "members of an enumeration": (
        "from enum import Enum\nclass C(Enum):\n    A = 1\n"
        "    def __init__(self, v): self._v = v\nC.A._v",
        1,
    ),
    "__new__ of an enumeration": (
        "from enum import Enum\nclass C(Enum):\n    A = (1, 2)\n    def __new__(cls, a, b):\n"
        "        o = object.__new__(cls)\n        o._value_ = a\n        o._b = b\n"
        "        return o\n(C.A.value, C.A._b)",
        (1, 2),
    ),
    "a class decorator": (
        "def mark(cls):\n    cls._mark = 1\n    return cls\n@mark\nclass A: pass\nA._mark",
        1,
    ),
    "__class_getitem__": (
        "class A:\n    def __class_getitem__(cls, k): cls._k = k; return cls\nA[1]._k",
        1,
    ),
}


@pytest.mark.parametrize(("code", "value"), FIRST_MOMENTS.values(), ids=FIRST_MOMENTS)
def test_a_class_is_registered_before_any_code_sees_it(code: str, value: object) -> None:
    assert run(code) == value


USE = "a._x = 1; a._x += 1; a.y = 3; A._z = 4; A.w = 5\n(a._x, a.y, A._z, A.w, vars(A)['w'])"
MADE = {
    "a class": "class A: pass\na = A()\n",
    "a nested class": "class B:\n    class A: pass\nA = B.A\na = A()\n",
    "a class made in a function": "def f():\n    class A: pass\n    return A\nA = f()\na = A()\n",
    "a subclass of a built-in": "class A(dict): pass\na = A()\n",
    "an exception": "class A(ValueError): pass\na = A('x')\n",
    "a subclass of a tool's class": "class A(Client): pass\na = A()\n",
    "Enum": "from enum import Enum\nclass A(Enum):\n    M = 1\na = A.M\n",
    "IntFlag": "from enum import IntFlag\nclass A(IntFlag):\n    M = 1\na = A.M\n",
    "ABC": (
        "from abc import ABC, abstractmethod\nclass B(ABC):\n    @abstractmethod\n"
        "    def f(self): ...\nclass A(B):\n    def f(self): return 1\na = A()\n"
    ),
    "Protocol": (
        "from typing import Protocol\nclass P(Protocol):\n    def f(self): ...\n"
        "class A(P):\n    def f(self): return 1\na = A()\n"
    ),
    "Generic": (
        "from typing import Generic, TypeVar\nT = TypeVar('T')\nclass A(Generic[T]): pass\n"
        "a = A[int]()\n"
    ),
    "dataclass": "from dataclasses import dataclass\n@dataclass\nclass A:\n"
    "    n: int = 0\na = A()\n",
    "dataclass with slots": (
        "from dataclasses import dataclass\n@dataclass(slots=True)\nclass A:\n    n: int = 0\n"
        "    _x: int = 0\n    y: int = 0\na = A()\n"
    ),
    "type()": "A = type('A', (), {})\na = A()\n",
    "a metaclass": "class M(type): pass\nclass A(metaclass=M): pass\na = A()\n",
    "a metaclass, by call": "class M(type): pass\nA = M('A', (), {})\na = A()\n",
    "a metaclass of an ABC": (
        "from abc import ABCMeta\nclass M(ABCMeta): pass\nclass A(metaclass=M): pass\na = A()\n"
    ),
    "a metaclass that is a function": (
        "def M(n, b, ns): return type(n, b, ns)\nclass A(metaclass=M): pass\na = A()\n"
    ),
    "an inherited metaclass": (
        "class M(type): pass\nclass B(metaclass=M): pass\nclass A(B): pass\na = A()\n"
    ),
    "__prepare__ with an OrderedDict": (
        "import collections\nclass M(type):\n    @classmethod\n"
        "    def __prepare__(m, n, b): return collections.OrderedDict()\n"
        "class A(metaclass=M): pass\na = A()\n"
    ),
    "__prepare__ with a dict of its own": (
        "class NS(dict):\n    def __setitem__(self, k, v): super().__setitem__(k, v)\n"
        "class M(type):\n    @classmethod\n    def __prepare__(m, n, b): return NS()\n"
        "class A(metaclass=M): pass\na = A()\n"
    ),
    "__prepare__ with a mapping": (
        "import collections\nclass M(type):\n    @classmethod\n"
        "    def __prepare__(m, n, b): return collections.UserDict()\n"
        "    def __new__(m, n, b, ns): return super().__new__(m, n, b, dict(ns))\n"
        "class A(metaclass=M): pass\na = A()\n"
    ),
    "__mro_entries__": (
        "class P:\n    def __mro_entries__(self, bases): return (dict,)\n"
        "class A(P()): pass\na = A()\n"
    ),
    "a decorator that makes another class": (
        "def d(c):\n    class N(c): pass\n    return N\n@d\nclass A: pass\na = A()\n"
    ),
    "a copy": "import copy\nclass A: pass\na = copy.deepcopy(A())\n",
    "object.__new__": "class A: pass\na = object.__new__(A)\n",
}


class Client:
    """A class of the host's."""

    _x = 0


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_classes_and_instances_of_the_program_are_its_own(made: str) -> None:
    interpreter = Interpreter(MODULES)
    interpreter.send_variables({"Client": Client})
    assert interpreter.run(made + USE).output == (2, 3, 4, 5, 5)


@pytest.mark.parametrize(
    "made",
    [
        "from typing import NamedTuple\nclass A(NamedTuple):\n    n: int\n"
        "    def _f(self): return 7\n"
        "a = A(1)\n",
        "from collections import namedtuple\nclass A(namedtuple('B', 'n')):\n"
        "    def _f(self): return 7\na = A(1)\n",
        "from collections import namedtuple\nA = namedtuple('A', 'n')\nA._f = lambda self: 7\n"
        "a = A(1)\n",
    ],
)
def test_named_tuples_of_the_program_are_its_own(made: str) -> None:
    code = made + "A._k = 2\n(a.n, a._f(), A._k, a._replace(n=3), a._asdict(), A._fields)"
    assert repr(run(code)) == "(1, 7, 2, A(n=3), {'n': 1}, ('n',))"


def test_typed_dicts_of_the_program_are_its_own() -> None:
    code = (
        "from typing import TypedDict\nclass T(TypedDict, total=False):\n    a: int\n"
        "T._k = 1\n(T(a=1), T._k, T.__total__)"
    )
    assert run(code) == ({"a": 1}, 1, False)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters came with Python 3.12")
def test_classes_with_type_parameters_are_the_programs_own() -> None:
    assert run("class A[T]:\n    def __init__(self, v: T): self._v = v\nA[int](3)._v") == 3


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
