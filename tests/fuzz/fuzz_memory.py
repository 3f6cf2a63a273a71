# ruff: noqa: E501 - programs, kept on one line each
"""Programs that look for memory: roads to a class whose call must be looked at, and ways to call it."""

from __future__ import annotations

import random

MODULES = ("numpy", "pandas", "types", "ast")
#: Roads to a metaclass as a value.
METACLASSES = (
    "type",
    "[type][0]",
    "type(int)",
    "type(own)",
    "own.__class__",
    "getattr(own, '__class__')",
    "object().__class__.__class__",
    "abc.ABCMeta",
    "type(abc.ABC)",
    "type(enum.Enum)",
    "M.__base__",
    "M.__bases__[0]",
    "M.__mro__[1]",
    "M.mro()[1]",
    "f.__annotations__['x']",
    "typing.get_type_hints(f)['x']",
    "typing.get_args(f.__annotations__['y'])[0]",
    "f.__annotations__['y'].__args__[0]",
    "f.__defaults__[0]",
    "typing.get_origin(typing.Type[int])",
    "typing.Type.__origin__",
    "type[int]",
    "type[int].__origin__",
    "(E() == type)",
    "(type | E())",
    "{type: type}[type]",
    "list(map(type, [int]))[0]",
    "functools.partial(type).func",
    "copy.copy(type)",
    "functools.reduce(getattr, ['__class__'], own)",
    "Meta.seen[0]",
    "G[type]",
    "(lambda t=type: t)()",
    "next(t for t in (type,))",
    "through(type)",
)
#: Roads to the class of arrays.
ARRAYS = (
    "np.ndarray",
    "type(np.zeros(1))",
    "[np.ndarray][0]",
    "type(a)",
    "getattr(a, '__class__')",
    "Own.__mro__[1]",
    "Own.mro()[1]",
    "Own.__base__",
    "(np.ndarray | None).__args__[0]",
    "np.ndarray[int, int]",
    "typing.get_args(np.ndarray | None)[0]",
    "np.ma.array([1]).baseclass",
    "Seen.bases[0]",
    "np.recarray",
    "through(np.ndarray)",
    "(E() == np.ndarray)",
)
#: Ways to call it; ``{m}`` is the class, ``{g}`` what it is given.
CALLS = (
    "{m}({g})",
    "(lambda m: m({g}))({m})",
    "(m := {m})({g})",
    "list(map({m}, *zip(({g}))))[0]",
    "list(itertools.starmap({m}, [({g})]))[0]",
    "functools.partial({m})({g})",
    "functools.partial({m}, *({g})[:2])(({g})[2])",
    "{m}.__call__({g})",
    "{m}.__call__({m}, {g})",
    "{m}.__new__({m}, {g})",
    "operator.methodcaller('__call__', {g})({m})",
    "copy.copy(Reduces({m}, ({g})))",
    "copy.deepcopy([Reduces({m}, ({g}))])[0]",
    "Calls({m})({g})",
    "pd.Series([1]).pipe(lambda _s, m: m({g}), {m})",
    "functools.lru_cache(maxsize=None)(lambda: {m}({g}))()",
    "made_by({m}, {g})",
)
NAMESPACES = (
    "space()",
    "{'__getattr__': hook}",
    "{'__getattribute__': hook}",
    "{**space(), 'x': Named()}",
    "{'__getattr__': hook, 'x': Named()}",
)
BASES = ("()", "(own,)", "(Exception,)", "(enum.Enum,)", "(int,)")
#: Objects that take attributes.
HOLDERS = (
    "types.SimpleNamespace(**space())",
    "type(types.SimpleNamespace())(**space())",
    "through(types.SimpleNamespace)(**space())",
    "ast.Name(**space())",
    "type(ast.parse('x').body[0])(**space())",
    "enum.Enum('A', {**space(), 'B': 1}).B",
    "list(map(enum.Enum, ['A'], [{**space(), 'B': 1}]))[0]",
    "Kind('A', {**space(), 'B': 1}).B",
    "enum.IntEnum('A', space())",
    "dataclasses.make_dataclass('A', [], namespace=space())()",
    "dataclasses.make_dataclass('A', ['__array_interface__'])(*space().values())",
    "type('A', (), space())()",
    "updated(own(), space())",
    "updated(ValueError(), space())",
    "functools.update_wrapper(lambda: 0, updated(own(), space()))",
)
PRELUDE = """\
import numpy as np, pandas as pd, types, ast, abc, copy, dataclasses, enum, functools, itertools, operator, typing
kept = "something to read"
def interface(): return {"data": (id(kept), True), "shape": (16,), "typestr": "|u1", "version": 3}
def space(): return {"__array_" + "interface__": interface()}
def hook(self, name):
    if name == "__array_interface__":
        return interface()
    raise AttributeError(name)
def read(made):
    for one in (made, made() if isinstance(made, type) else made):
        if np.array(one).dtype == np.uint8:
            trip("memory was read by address")
def raw(made):
    if isinstance(made, np.ndarray) and made.dtype == object and made.base is not None:
        trip("bytes are taken for references")
def updated(one, names):
    vars(one).update(names)
    return one
def through(v):
    def g():
        yield v
    return next(g())
class Named:
    def __set_name__(self, owner, name): read(owner)
class own: pass
class Own(np.ndarray): pass
class M(type): pass
class E:
    def __eq__(self, other): return other
    def __ror__(self, other): return other
class G:
    def __class_getitem__(cls, item): return item
class Kind(enum.Enum): pass
class Reduces:
    def __init__(self, make, given): self.make, self.given = make, given
    def __reduce_ex__(self, protocol): return (self.make, self.given)
def Calls(make):
    class C: __call__ = make
    return C()
def made_by(make, *given):
    class A(metaclass=lambda *_a: make(*given)): pass
    return A
class See(type):
    def __new__(m, name, bases, names):
        made = super().__new__(m, name, bases, names)
        made.seen = made.bases = bases
        return made
class Meta(type, metaclass=See): pass
class Seen(np.ndarray, metaclass=See): pass
def f(x: type = type, y: type | None = None): pass
a = np.zeros(1)
"""


def probe(source: random.Random) -> str:
    """One line that looks for memory."""
    kind = source.random()
    if kind < 0.2:
        return f"read({source.choice(HOLDERS)})"
    call = source.choice(CALLS)
    if kind < 0.4:
        given = "(1,), object, bytearray(8)"
        return f"raw({call.format(m=source.choice(ARRAYS), g=given)})"
    given = f"'A', {source.choice(BASES)}, {source.choice(NAMESPACES)}"
    return f"read({call.format(m=source.choice(METACLASSES), g=given)})"


def probes(seed: int, count: int) -> list[str]:
    """Lines of one seed, for programs that begin with ``PRELUDE``."""
    source = random.Random(seed)
    return [probe(source) for _ in range(count)]
