# case: descriptor-data
class Pos:
    def __set_name__(self, o, n): self.n = "_" + n
    def __get__(self, obj, cls=None):
        if obj is None: return self
        return getattr(obj, self.n)
    def __set__(self, obj, v):
        if v < 0: raise ValueError(f"{self.n[1:]} must be >= 0")
        setattr(obj, self.n, v)
class P:
    x = Pos()
    y = Pos()
    def __init__(self, x, y): self.x, self.y = x, y
p = P(1, 2)
p.x = 10
try:
    p.y = -1
except ValueError as e:
    print(e)
(p.x, p.y, type(P.x).__name__)
# case: descriptor-non-data-shadowed
class D:
    def __get__(self, o, c): return "descriptor"
class C: v = D()
c = C()
a = c.v
c.v = "instance"
(a, c.v, C.v)
# case: descriptor-delete
log = []
class D:
    def __get__(self, o, c): return "got"
    def __set__(self, o, v): log.append(("set", v))
    def __delete__(self, o): log.append("del")
class C: v = D()
c = C()
c.v = 5
del c.v
(c.v, log)
# case: function-is-a-descriptor
class C: pass
def f(self): return "self is " + type(self).__name__
class D: m = f
D().m()
# case: metaclass-call-and-attributes
class Meta(type):
    def __new__(m, name, bases, ns):
        ns["added"] = name.lower()
        return super().__new__(m, name, bases, ns)
    def hello(cls): return f"hello from {cls.__name__}"
class A(metaclass=Meta): pass
class B(A): pass
(A.added, B.added, A.hello(), type(B).__name__, B().added)
# case: metaclass-call-singleton
class Single(type):
    insts = {}
    def __call__(cls, *a, **k):
        if cls not in cls.insts:
            cls.insts[cls] = super().__call__(*a, **k)
        return cls.insts[cls]
class A(metaclass=Single):
    def __init__(self, v): self.v = v
(A(1) is A(2), A(3).v)
# case: metaclass-prepare
class M(type):
    @classmethod
    def __prepare__(m, name, bases, **k): return {"injected": k.get("v", 0)}
    def __new__(m, name, bases, ns, **k): return super().__new__(m, name, bases, dict(ns))
    def __init__(cls, name, bases, ns, **k): super().__init__(name, bases, ns)
class A(metaclass=M, v=7):
    doubled = injected * 2
(A.injected, A.doubled)
# case: metaclass-dunders
class M(type):
    def __len__(cls): return 3
    def __iter__(cls): return iter("abc")
    def __contains__(cls, x): return x == 1
    def __getitem__(cls, k): return k * 2
    def __repr__(cls): return f"<cls {cls.__name__}>"
class A(metaclass=M): pass
(len(A), list(A), 1 in A, A[4], repr(A))
# case: metaclass-instancecheck
class M(type):
    def __instancecheck__(cls, o): return hasattr(o, "quack")
class Duck(metaclass=M): pass
class X: quack = 1
(isinstance(X(), Duck), isinstance(5, Duck))
# case: metaclass-conflict
class M1(type): pass
class M2(type): pass
class A(metaclass=M1): pass
class B(metaclass=M2): pass
class C(A, B): pass
# case: init-subclass-validation
class Plugin:
    def __init_subclass__(cls, **k):
        if not hasattr(cls, "name"):
            raise TypeError(f"{cls.__name__} needs a name")
class Good(Plugin): name = "g"
class Bad(Plugin): pass
# case: class-decorator-with-arguments
def tag(**kw):
    def deco(cls):
        for k, v in kw.items():
            setattr(cls, k, v)
        return cls
    return deco
@tag(a=1, b="x")
class C: pass
(C.a, C.b)
# case: getattribute-override
class C:
    def __init__(self): self.x = 5
    def __getattribute__(self, n):
        if n == "magic": return "m"
        return super().__getattribute__(n)
(C().x, C().magic)
# case: proxy-object
class Proxy:
    def __init__(self, t): self._t = t
    def __getattr__(self, n): return getattr(self._t, n)
    def __len__(self): return len(self._t)
p = Proxy([3, 1, 2])
p.append(0)
p.sort()
(p._t, len(p), p.count(3))
# case: validator-registry
class Model:
    validators = {}
    def __init_subclass__(cls):
        cls.validators = {k[9:]: v for k in dir(cls) if k.startswith("validate_") for v in [getattr(cls, k)]}
    def __init__(self, **kw):
        for k, v in kw.items():
            if k in self.validators:
                v = self.validators[k](self, v)
            setattr(self, k, v)
class User(Model):
    def validate_age(self, v): return max(0, v)
u = User(name="x", age=-5)
(u.name, u.age)
# case: dataclass-basic
from dataclasses import dataclass, field, asdict, replace, astuple
@dataclass
class P:
    x: int
    y: int = 0
    tags: list = field(default_factory=list)
    def norm(self): return (self.x ** 2 + self.y ** 2) ** 0.5
a, b = P(3, 4), P(3, 4)
a.tags.append("t")
(a, a == b, P(3, 4) == b, a.norm(), asdict(a), replace(b, y=9), astuple(b))
# case: dataclass-order-frozen-slots
from dataclasses import dataclass
@dataclass(order=True, frozen=True)
class V:
    major: int
    minor: int = 0
vs = sorted([V(2), V(1, 5), V(1)])
try:
    vs[0].major = 9
except AttributeError as e:
    print(type(e).__name__, e)
(vs, hash(V(1)) == hash(V(1)), V(1) < V(2), {V(1): "k"}[V(1)])
# case: dataclass-post-init-and-kw-only
from dataclasses import dataclass, field, InitVar, KW_ONLY, fields
@dataclass
class R:
    w: float
    h: float
    area: float = field(init=False, repr=False)
    scale: InitVar[int] = 1
    _: KW_ONLY
    name: str = "r"
    def __post_init__(self, scale): self.area = self.w * self.h * scale
r = R(2, 3, 10, name="q")
(r, r.area, [f.name for f in fields(r)])
# case: dataclass-inheritance
from dataclasses import dataclass
@dataclass
class A:
    x: int
    y: int = 1
@dataclass
class B(A):
    z: int = 2
(B(0), B(0, 5, 6), B(0) == B(0), A(0) == B(0))
# case: dataclass-slots
from dataclasses import dataclass
@dataclass(slots=True)
class S:
    a: int
    b: str = "b"
s = S(1)
try:
    s.c = 1
except AttributeError as e:
    print(e)
s
# case: dataclass-mutable-default-error
from dataclasses import dataclass
@dataclass
class A:
    x: list = []
# case: dataclass-default-order-error
from dataclasses import dataclass
@dataclass
class A:
    x: int = 1
    y: int
# case: enum-basic
from enum import Enum, auto
class Color(Enum):
    RED = 1
    GREEN = 2
    CRIMSON = 1
class A(Enum):
    X = auto()
    Y = auto()
(Color.RED, Color(2), Color["RED"], Color.CRIMSON is Color.RED, [c.name for c in Color], Color.RED.value, A.Y.value, len(Color), Color.RED in Color)
# case: enum-methods-and-str
from enum import Enum, IntEnum
class Op(Enum):
    ADD = "+"
    SUB = "-"
    def apply(self, a, b): return a + b if self is Op.ADD else a - b
    def __str__(self): return f"op{self.value}"
class P(IntEnum):
    LOW = 1
    HIGH = 10
(Op.ADD.apply(2, 3), str(Op.SUB), f"{Op.ADD}", P.HIGH > P.LOW, P.LOW + 1, sorted([P.HIGH, P.LOW]))
# case: enum-flag
from enum import Flag, auto
class Perm(Flag):
    R = auto()
    W = auto()
    X = auto()
rw = Perm.R | Perm.W
(Perm.R in rw, Perm.X in rw, rw & Perm.R, (rw ^ Perm.R).name, bool(rw & Perm.X))
# case: enum-immutable-and-unknown
from enum import Enum
class C(Enum):
    A = 1
out = []
for f in (lambda: C(9), lambda: C["Z"]):
    try:
        f()
    except (ValueError, KeyError) as e:
        out.append((type(e).__name__, str(e)))
out
# case: enum-with-tuple-values
from enum import Enum
class Planet(Enum):
    EARTH = (5.97, 6.37)
    MARS = (0.64, 3.39)
    def __init__(self, mass, radius): self.mass, self.radius = mass, radius
    @property
    def density(self): return round(self.mass / self.radius, 3)
[(p.name, p.density) for p in Planet]
# case: typing-namedtuple-and-typeddict
from typing import NamedTuple, TypedDict
class P(NamedTuple):
    x: int
    y: int = 2
class T(TypedDict):
    a: int
(P(1), P(1).y, P(1)._replace(x=9), T(a=1), {**T(a=2)})
# case: protocol-runtime
from typing import Protocol, runtime_checkable
@runtime_checkable
class Sized(Protocol):
    def size(self) -> int: ...
class A:
    def size(self): return 1
(isinstance(A(), Sized), isinstance(5, Sized))
# case: generic-class
from typing import Generic, TypeVar
T = TypeVar("T")
class Stack(Generic[T]):
    def __init__(self): self.items: list[T] = []
    def push(self, x: T) -> None: self.items.append(x)
s: Stack[int] = Stack()
s.push(1)
t = Stack[str]()
t.push("a")
(s.items, t.items)
# case: annotations-of-function
def f(a: int, b: "str" = "x", *args: float, c: list[int] | None = None, **kw: dict) -> tuple[int, ...]:
    v: int = a
    w: undefined_is_not_evaluated
    return (v, b, args, c, kw)
f(1, "y", 2.0, c=[1], z={})
# case: annotations-are-evaluated-at-definition
# until: 3.13 annotations are lazy from 3.14 on (PEP 649)
log = []
def t(v):
    log.append(v)
    return v
def f(a: t("a"), *, b: t("b") = t("default")) -> t("ret"): pass
x: t("var") = t("value")
log
# case: future-annotations
from __future__ import annotations
def f(a: not_defined_anywhere) -> also_not: return a
class C:
    x: missing_type = 1
(f(3), C.x)
# case: typing-names-are-inert
from typing import Any, Callable, Dict, List, Optional, Tuple, Union, cast, Literal, Final
Num = Union[int, float]
def f(x: Optional[List[int]], g: Callable[[int], int]) -> Dict[str, Any]: return {"r": [g(i) for i in x or []]}
K: Final = 3
(f([1, 2], lambda v: v * K), cast(int, "s"), str(Optional[int]), list[int], dict[str, int])
