"""Names and attributes: what is refused, in exact words, and what works."""

from __future__ import annotations

import program_harness
import pytest

from smolagents_fork.errors import (
    InterpreterError,
    ProgramFailedError,
    ProgramRefusedError,
)
from smolagents_fork.interpreter.guarded import Interpreter


def refused(code: str) -> str:
    with pytest.raises(ProgramRefusedError) as caught:
        Interpreter().run(code)
    return str(caught.value)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("a = ()\na.__class__", "Forbidden access to dunder attribute: __class__; use type(x)"),
        ("().__class__.__base__", "Forbidden access to dunder attribute: __base__"),
        ("(1).__dict__", "Forbidden access to dunder attribute: __dict__; use vars(x)"),
        ("().__subclasses__()", "Forbidden call to dunder function: __subclasses__"),
        ("__builtins__", "Forbidden access to name: __builtins__"),
        ("__loader__ = 1", "Cannot assign to name '__loader__': it belongs to the interpreter"),
        ("len.__self__", "Forbidden access to dunder attribute: __self__"),
        ("def f(__x__): pass", "Cannot use '__x__' as the name of a parameter"),
        ("x = 1\nx.__class__ = int", "Cannot assign to dunder attribute: __class__"),
        ("from . import a", "Relative imports are not possible here: there is no package"),
        ("__loader__", "Forbidden access to name: __loader__"),
        ("del __builtins__", "__builtins__"),
        ("for __import__ in []: pass", "__import__"),
        ("def f(__builtins__): pass", "as the name of a parameter"),
        ("f'{x.__globals__}'", "__globals__"),
        ("(lambda: 0).__code__", "__code__"),
        ("''.__class__.__mro__[1]", "Forbidden access to dunder attribute: __mro__"),
        ("(lambda: 0).__get__.__reduce__()", "Forbidden call to dunder function: __reduce__"),
        ("match 1:\n    case object(__class__=c): pass", "attribute in a pattern: __class__"),
        ("class C: _A = 1\nmatch 1:\n    case C._A: pass", "attribute in a pattern: _A"),
        ("match 1:\n    case __builtins__.eval: pass", "Forbidden access to name: __builtins__"),
    ],
)
def test_refused_where_it_is_reached(code: str, words: str) -> None:
    program_harness.refused(code, words)


def test_a_refusal_names_its_line_and_what_stands_before_has_run() -> None:
    interpreter = Interpreter()
    with pytest.raises(ProgramRefusedError) as caught:
        interpreter.run("print('first')\nx = 1\na = ().__base__\nb = ().__mro__")
    assert str(caught.value) == (
        "Code execution failed at line 'a = ().__base__' (line 3) due to: InterpreterError: "
        "Forbidden access to dunder attribute: __base__, except on classes of your own"
    )
    assert interpreter.state["x"] == 1
    assert interpreter.output.value == "first\n"


@pytest.mark.parametrize(
    "refused_code",
    ["().__base__", "open('f')", "import os", "from . import a", "__loader__", "len.__globals__",
     "x = 1\n    x.__class__ = int", "print.__code__ = 1"],
)  # fmt: skip
def test_what_is_never_reached_is_not_refused(refused_code: str) -> None:
    code = f"def unused():\n    {refused_code}\nif False:\n    {refused_code}\n'on'"
    assert Interpreter().run(code).output == "on"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("().__base__", "AttributeError"),
        ("getattr(1, '__subclasses__')", "AttributeError"),
        ("(lambda: 0).__code__", "AttributeError"),
        ("import os", "ImportError"),
        ("open('f')", "Exception"),
        ("__loader__", "Exception"),
        ("search = 1", "Exception"),
    ],
)
def test_a_program_may_catch_a_refusal(code: str, kind: str) -> None:
    interpreter = Interpreter()
    interpreter.send_tools({"search": lambda q: q})
    program = f"try:\n    {code}\n    r = 'let through'\nexcept {kind} as e:\n    r = str(e)\nr"
    assert str(interpreter.run(program).output).split()[0] in ("Forbidden", "Import", "Cannot")


def test_the_class_of_an_object_of_the_host_is_not_read_by_name() -> None:
    assert "__class__" in refused("getattr((), '__class__')")
    assert Interpreter().run("class A: pass\ngetattr(A(), '__class__') is A").output is True


def test_self_of_a_method_of_the_program_is_read() -> None:
    code = "class A:\n    def f(self): pass\na = A()\n(a.f.__self__ is a, a.f.__func__ is A.f)"
    assert Interpreter().run(code).output == (True, True)


def test_names_are_judged_as_the_parser_reads_them() -> None:
    assert "__base__" in refused("().__\uff42ase__")


@pytest.mark.parametrize(
    "code",
    [
        "getattr(int, '__base__')",
        "'{0.__base__}'.format(int)",
        "str.format('{0.__base__}', int)",
        "'{0:{1.__base__}}'.format(1, int)",
        "'{a.__base__}'.format_map({'a': int})",
        "class S(str): pass\nS('{0.__base__}').format(int)",
        "object.__getattribute__(int, '__base__')",
        "class A:\n    def f(self): return super().__getattribute__('f').__globals__\nA().f()",
    ],
)
def test_attributes_by_name_go_through_the_guard(code: str) -> None:
    words = "__globals__" if "__globals__" in code else "__base__"
    assert f"Forbidden access to dunder attribute: {words}" in refused(code)


def test_a_refused_attribute_is_an_attribute_error_in_the_program() -> None:
    code = "try:\n    getattr((), '__reduce__')\nexcept AttributeError:\n    r = 'fallback'\nr"
    assert Interpreter().run(code).output == "fallback"
    assert Interpreter().run("hasattr(len, '__reduce__')").output is False


def test_private_names_work_on_the_programs_own_objects() -> None:
    code = """
class A:
    _shared = 1
    def __init__(self): self._x, self.__y = 2, 3
    def total(self): return self._x + self.__y + self._shared
(A().total(), A()._x, A._shared)
"""
    assert Interpreter().run(code).output == (6, 2, 1)


def test_private_names_of_library_objects_are_refused() -> None:
    with pytest.raises(ProgramRefusedError, match="private to the object's own library"):
        Interpreter().run("import random\nrandom.Random()._randbelow")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import math\nmath.pi = 3", "Cannot assign to 'pi' of module 'math'"),
        ("import queue\nqueue.Queue.get = 1", "Cannot assign to 'get' of class 'Queue'"),
        ("len.x = 1", "Cannot assign"),
        ("search.x = 1", "Cannot assign to 'x' of function 'search'"),
        ("setattr(search, 'x', 1)", "Cannot assign to 'x' of function 'search'"),
    ],
)
def test_what_the_host_shares_cannot_be_written(code: str, words: str) -> None:
    interpreter = Interpreter()
    interpreter.send_tools({"search": lambda q: q})
    interpreter._tools["search"].__name__ = "search"
    with pytest.raises((ProgramRefusedError, ProgramFailedError)) as caught:
        interpreter.run(code)
    if code != "len.x = 1":
        assert words in str(caught.value)


def test_what_the_program_makes_can_be_written() -> None:
    code = "class A: pass\ndef f(): pass\nA.x = 1; f.y = 2; a = A(); a.z = 3\n(A.x, f.y, a.z)"
    assert Interpreter().run(code).output == (1, 2, 3)


class Client:
    """Of a library that has no rules of its own."""

    format = "PNG"

    def query(self, text: str) -> str:
        return f"{text}!"

    def eval(self) -> str:
        return "evaluated"


def test_ordinary_names_of_other_libraries_are_theirs() -> None:
    program = """
import types
class Own(type(client)): pass
bag = types.SimpleNamespace(format="csv", query="q", modules=[1])
(client.query("a"), client.format, client.eval(), Own().query("b"), Own().eval(),
 bag.format, bag.query, bag.modules)
"""
    interpreter = Interpreter(["types"])
    interpreter.send_variables({"client": Client()})
    assert interpreter.run(program).output == (
        *("a!", "PNG", "evaluated", "b!", "evaluated"),
        *("csv", "q", [1]),
    )


@pytest.mark.parametrize(
    "program",
    [
        "import types\ntypes.SimpleNamespace(a=1).__dict__",
    ],
)
def test_a_program_does_not_pass_its_classes_off_as_a_librarys(program: str) -> None:
    with pytest.raises(InterpreterError, match="Forbidden"):
        Interpreter(["types"]).run(program)
