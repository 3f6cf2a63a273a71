# case: metaclass-as-a-value
m = type
A = m("A", (), {"x": 1})
(A.x, A.__name__, m(3) is int, m(int) == type, isinstance(A, m), list(map(m, [1, "a", A])))

# case: metaclass-in-annotations-and-tables
from typing import Optional
def kind(x: type, y: Optional[type] = None) -> type:
    return {int: "number", type: "class"}.get(x, "other")
(kind(int), kind(type), kind(type(int)), kind.__annotations__["x"] == type, str(type), repr(type(str)))

# case: abstract-metaclass-called
import abc
class Base(metaclass=abc.ABCMeta):
    @abc.abstractmethod
    def f(self): ...
Made = abc.ABCMeta("Made", (Base,), {"f": lambda self: 7})
(Made().f(), isinstance(Made(), Base), type(Base) is abc.ABCMeta, type(Base) == abc.ABCMeta)

# case: enumerations-of-every-kind
import enum
from enum import Enum, IntEnum, Flag, auto
class Color(Enum):
    RED = auto()
    BLUE = 2
class Level(IntEnum):
    LOW = 1
class Mine(Enum):
    def twice(self): return self.value * 2
Kind = Mine("Kind", {"A": 1, "B": 2})
Animal = Enum("Animal", "CAT DOG")
Pair = IntEnum("Pair", [("X", 1), ("Y", 2)])
match Color.RED:
    case Enum(): seen = "an Enum"
(
    Kind.B.twice(), list(Animal), Pair.Y + 1, isinstance(Level.LOW, Enum), issubclass(Color, Enum),
    seen, Level.LOW < 2, [c.name for c in Color], Color(2), type(Color) == type(Enum), repr(Kind),
)

# case: metaclass-of-an-enumeration
import enum
class M(enum.EnumMeta):
    def __call__(cls, *given, **named):
        return super().__call__(*given, **named)
class E(enum.Enum, metaclass=M):
    A = 1
(E(1), type(E).__name__, isinstance(E, enum.EnumMeta))

# case: arrays-class-as-a-value
import numpy as np
from numpy import ndarray
c = np.ndarray
a = np.arange(6)
def f(x: np.ndarray) -> "ndarray | None": return x
match a:
    case np.ndarray(): seen = "an array"
(
    isinstance(a, c), isinstance(a, (list, np.ndarray)), type(a) is np.ndarray, type(a) == c,
    type(a) in (list, ndarray), {np.ndarray: "array"}[type(a)], a.view(np.ndarray).sum(),
    c((2, 2)).shape, np.ndarray((3,), dtype="i4", buffer=bytes(12)).tolist(), seen,
    issubclass(type(a), np.ndarray), type(a).__name__, c.sum(a), str(type(a)), f(a).shape,
)

# case: arrays-of-an-own-class
import numpy as np
class Named(np.ndarray):
    def __new__(cls, given, name=""):
        made = np.asarray(given).view(cls)
        made.name = name
        return made
    def __array_finalize__(self, other):
        self.name = getattr(other, "name", "")
n = Named([1, 2, 3], "three")
((n + 1).name, type(n).__name__, isinstance(n, np.ndarray), n.sum(), Named.__name__)

# case: hooks-in-a-class-that-is-being-made
class Field:
    def __set_name__(self, owner, name): self.name = f"{owner.__name__}.{name}"
class Record:
    x = Field()
    def __init_subclass__(cls, **named): cls.named = named
    def __getattr__(self, name): return name.upper()
class Child(Record, extra=1): pass
(Record.x.name, Child.named, Record().anything, getattr(Child(), "other"), hasattr(Child(), "y"))

# case: array-function-of-an-own-class
import numpy as np
class Mine:
    def __array_function__(self, func, types, args, kwargs):
        return func.__name__, sorted(t.__name__ for t in types)
np.concatenate([Mine(), np.zeros(1)])

# case: dataclass-made-with-a-namespace
import dataclasses
D = dataclasses.make_dataclass("D", [("x", int)], namespace={"twice": lambda self: self.x * 2})
class E(D): pass
(D(3).twice(), E(4).twice(), dataclasses.fields(D)[0].name)

# case: sample-drawn-from-the-seeded-generator
import numpy as np
import pandas as pd
s = pd.Series(range(100))
np.random.seed(4)
a = s.sample(5)
np.random.seed(4)
b = s.sample(5)
(a.equals(b), s.sample(3, random_state=1).equals(s.sample(3, random_state=1)), len(s.sample(frac=0.5)))

# case: family-of-an-own-class
class A: pass
class B(A): pass
class M(type): pass
class C(metaclass=M): pass
(B.__mro__ == (B, A, object), B.__bases__, M.__base__ == type, type(C) is M, C.__class__.__name__, [k.__name__ for k in B.mro()])

# case: metaclass-that-prepares
import enum
class M(type):
    @classmethod
    def __prepare__(metacls, name, bases, **named):
        return {"prepared": [b.__name__ for b in bases]}
    def __new__(metacls, name, bases, space, **named):
        return super().__new__(metacls, name, bases, dict(space))
    def __init__(cls, name, bases, space, **named):
        super().__init__(name, bases, space)
        cls.seen = [b.__name__ for b in bases]
class Base: pass
class A(Base, metaclass=M): pass
class Meta(type, metaclass=M): pass
class EM(enum.EnumMeta):
    @classmethod
    def __prepare__(metacls, name, bases, **named):
        return super().__prepare__(name, bases, **named)
    def __new__(metacls, name, bases, space, **named):
        return super().__new__(metacls, name, bases, space, **named)
class E(enum.Enum, metaclass=EM):
    X = 1
(A.prepared, A.seen, Meta.seen, Meta("Q", (), {"z": 1}).z, list(E), E.X.value)

# case: metaclass-that-is-a-function
def make(name, bases, space):
    return type(name, bases, {**space, "made": True})
class F(metaclass=make):
    x = 1
class G(int, metaclass=make): pass
(F.made, F.x, G(3) + 1, G.made)
