"""Classes, functions and modules of the host are written to by no form of target."""

from __future__ import annotations

import math
import queue
import statistics
from typing import Any

import pytest

from smolagents_fork.errors import InterpreterError, ProgramRefusedError
from smolagents_fork.interpreter.guarded import Interpreter


class HostClass:
    """A class of the host's."""

    note = 1

    def __init__(self) -> None:
        self.shown, self._hidden = 1, 2

    def method(self) -> int:
        return 1


def host_function() -> int:
    return 1


host_function.note = 1  # type: ignore[attr-defined]

#: How a program may name each of the host's things.
TARGETS = {
    "a class": "HostClass",
    "a class of an object": "type(host_object)",
    "a class of an object, by name": "host_object.__class__",
    "a function": "host_function",
    "a method of an object": "host_object.method",
    "a function of a class": "HostClass.method",
    "a tool": "tool",
    "a module": "math",
    "a class of a module": "queue.Queue",
    "a function of a module": "statistics.mean",
    "a metered class": "threading.Lock",
    "a built-in class": "int",
    "a built-in function": "len",
    "an exception class": "ValueError",
    "a guard": "getattr",
    "a base class": "Derived.__base__",
    "a base class in a tuple": "Derived.__mro__[1]",
}
FORMS = {
    "assignment": "{t}.note = 2",
    "starred assignment": "x, *{t}.note = 1, 2",
    "chained assignment": "x = {t}.note = 2",
    "annotated assignment": "{t}.note: int = 2",
    "augmented assignment": "{t}.note += 2",
    "augmented multiplication": "{t}.note *= 2",
    "deletion": "del {t}.note",
    "for target": "for {t}.note in [2]: pass",
    "comprehension target": "[0 for {t}.note in [2]]",
    "with target": "with Manager() as {t}.note: pass",
    "setattr": "setattr({t}, 'note', 2)",
    "setattr by another name": "s = setattr\ns({t}, 'note', 2)",
    "setattr in C code": "list(map(setattr, [{t}], ['note'], [2]))",
    "delattr": "delattr({t}, 'note')",
    "object.__setattr__": "object.__setattr__({t}, 'note', 2)",
    "type.__setattr__": "type.__setattr__({t}, 'note', 2)",
    "bound __setattr__": "{t}.__setattr__('note', 2)",
    "bound __delattr__": "{t}.__delattr__('note')",
    "__setattr__ by getattr": "getattr({t}, '__setattr__')('note', 2)",
    "super().__setattr__": (
        "class M(type):\n    def put(cls, t): type.__setattr__(t, 'note', 2)\n"
        "class C(metaclass=M): pass\nC.put({t})"
    ),
    "private name": "{t}._note = 2",
    "dunder name": "{t}.__doc__ = 'x'",
    "item of the namespace": "{t}.__dict__['note'] = 2",
    "item of vars": "vars({t})['note'] = 2",
    "update of vars": "vars({t}).update(note=2)",
    "in a function": "def f(): {t}.note = 2\nf()",
    "as a method's first argument": "class A:\n    def f(self): self.note = 2\nA.f({t})",
    "as a private name of it": "class A:\n    def f(self): self._note = 2\nA.f({t})",
    "in a lambda": "(lambda t: setattr(t, 'note', 2))({t})",
}


@pytest.fixture
def interpreter() -> Interpreter:
    """An interpreter that has things of the host's, and has run a program."""
    made = Interpreter(["threading"])
    made.send_tools({"tool": host_function})
    made.send_variables(
        {"HostClass": HostClass, "host_object": HostClass(), "host_function": host_function}
    )
    made.run(
        "import math, queue, statistics, threading\nclass Derived(HostClass): pass\n"
        "class Manager:\n    def __enter__(self): return (1, 2)\n    def __exit__(self, *a): pass\n"
        "class T:\n    note = 1\n    _note = 1"
    )
    return made


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_nothing_of_the_hosts_is_written(interpreter: Interpreter, target: str, form: str) -> None:
    before = _state()
    code = form.format(t=target)
    code = f"try:\n    {code.replace(chr(10), chr(10) + '    ')}\n    r = 'done'\n"
    code += "except Exception as e:\n    r = str(e)\nr"
    said = str(interpreter.run(code).output)
    assert _state() == before
    assert not hasattr(len, "note")
    # vars() of a tool or of a function gives a copy, which is the program's.
    assert said != "done" or "vars(" in form or "getattr" in target, code


def _state() -> list[Any]:
    things: list[Any] = [HostClass, host_function, HostClass.method, math, queue.Queue]
    things += [statistics.mean, int, ValueError]
    return [{k: v for k, v in vars(thing).items() if k != "__weakref__"} for thing in things]


#: Forms that write to a copy, or through a read-only view, in CPython too.
NOT_WRITING = {"item of vars", "update of vars", "item of the namespace", "bound __setattr__",
               "bound __delattr__", "__setattr__ by getattr", "super().__setattr__",
               "object.__setattr__"}  # fmt: skip


@pytest.mark.parametrize(
    "form", [form for name, form in FORMS.items() if name not in NOT_WRITING], ids=str
)
def test_the_programs_own_may_be_written(interpreter: Interpreter, form: str) -> None:
    before = dict(vars(interpreter.state["T"]))
    interpreter.run(form.format(t="T"))
    assert dict(vars(interpreter.state["T"])) != before


OWN_ONLY = "only what the program itself defines may be changed"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("math.pi = 3", "'pi' of module 'math': modules are read-only"),
        ("HostClass.note = 2", f"'note' of class 'HostClass': {OWN_ONLY}"),
        ("host_function.note = 2", f"'note' of function 'host_function': {OWN_ONLY}"),
        ("host_object._note = 2", "'_note' of 'HostClass' object: it belongs to the host"),
        ("host_object.__class__ = int", "dunder attribute: __class__"),
    ],
)
def test_words_of_a_refused_write(interpreter: Interpreter, code: str, words: str) -> None:
    with pytest.raises(ProgramRefusedError) as caught:
        interpreter.run(code)
    assert str(caught.value) == (
        f"Code execution failed at line '{code}' (line 1) due to: InterpreterError: "
        f"Cannot assign to {words}"
    )


def test_namespace_of_a_hosts_object_shows_public_names_in_a_view(
    interpreter: Interpreter,
) -> None:
    code = "[dict(vars(host_object)), type(vars(host_object)).__name__]"
    assert interpreter.run(code).output == [{"shown": 1}, "mappingproxy"]
    with pytest.raises(InterpreterError, match="does not support item assignment"):
        interpreter.run("vars(host_object)['shown'] = 3")
    with pytest.raises(InterpreterError, match="Forbidden access to dunder attribute: __dict__"):
        interpreter.run("host_object.__dict__")
