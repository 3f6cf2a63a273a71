"""Names and attributes: what is refused, in exact words, and what works."""

from __future__ import annotations

import re
import textwrap

import pytest

from smolagents_fork.errors import ProgramRefusedError
from smolagents_fork.interpreter.guarded import Interpreter

#: Attributes that are named by a text, or read by a method of any object.
BY_NAME = {
    "__base__": (
        "getattr(int, '__base__')",
        "'{0.__base__}'.format(int)",
        "str.format('{0.__base__}', int)",
        "'{0:{1.__base__}}'.format(1, int)",
        "'{a.__base__}'.format_map({'a': int})",
        "class S(str): pass\nS('{0.__base__}').format(int)",
        "object.__getattribute__(int, '__base__')",
    ),
    "__globals__": (
        "class A:\n    def f(self): return super().__getattribute__('f').__globals__\nA().f()",
        "getattr(lambda: 0, '__getattribute__')('__globals__')",
        "super = lambda f: f\nsuper(lambda: 0).__getattribute__('__globals__')",
        "def f(object): return object.__getattribute__('__globals__')\nf(f)",
        "class A:\n    def f(self): pass\ngetattr(A().f, '__getattribute__')('__globals__')",
    ),
    "__class__": ("getattr((), '__class__')",),
}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("__builtins__", "Forbidden access to name: __builtins__"),
        ("__loader__ = 1", "Cannot assign to name '__loader__': it belongs to the interpreter"),
        ("len.__self__", "Forbidden access to dunder attribute: __self__"),
        ("__loader__", "Forbidden access to name: __loader__"),
        ("del __builtins__", "__builtins__"),
        ("for __import__ in []: pass", "__import__"),
        ("def f(__builtins__): pass", "as the name of a parameter"),
        ("f'{x.__globals__}'", "__globals__"),
        ("''.__class__.__mro__[1]", "Forbidden access to dunder attribute: __mro__"),
        ("(lambda: 0).__get__.__reduce__()", "Forbidden call to dunder function: __reduce__"),
        ("match 1:\n    case object(__class__=c): pass", "attribute in a pattern: __class__"),
        ("class C: _A = 1\nmatch 1:\n    case C._A: pass", "attribute in a pattern: _A"),
        ("match 1:\n    case __builtins__.eval: pass", "Forbidden access to name: __builtins__"),
        ("().__\uff42ase__", "__base__"),  # as the parser reads it
        *(
            (code, f"Forbidden access to dunder attribute: {name}")
            for name, programs in BY_NAME.items()
            for code in programs
        ),
    ],
)
def test_refused_where_it_is_reached(code: str, words: str) -> None:
    """After what stands before it, once it is reached, and so that the program may catch it."""
    interpreter = Interpreter()
    with pytest.raises(ProgramRefusedError) as caught:
        interpreter.run(f"ran = True\n{code}")
    assert words in str(caught.value)
    assert re.search(r"\(line \d+\)", str(caught.value))
    assert interpreter.state["ran"] is True
    indented = textwrap.indent(code, "    ")
    interpreter = Interpreter()
    interpreter.run(f"try:\n{indented}\nexcept Exception as error:\n    seen = str(error)")
    assert words in interpreter.state["seen"]
    unreached = f"def unused():\n{indented}\nif False:\n{indented}\n'on'"
    assert Interpreter().run(unreached).output == "on"


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


def test_a_refused_attribute_is_an_attribute_error_in_the_program() -> None:
    code = "try:\n    getattr((), '__reduce__')\nexcept AttributeError:\n    r = 'fallback'\nr"
    assert Interpreter().run(code).output == "fallback"
    assert Interpreter().run("hasattr(len, '__reduce__')").output is False


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
