# What libraries do with classes and functions of a program. CPython runs each in a process of its
# own, where it is the main module.
# case: a-model
from pydantic import BaseModel
class P(BaseModel): name: str
result = P(name="a"), P.model_json_schema()["required"]
# case: all-of-a-model
from typing import Annotated, ClassVar, Literal, Optional
from pydantic import (BaseModel, ConfigDict, Field, PrivateAttr, computed_field,
                      field_validator, model_validator)
class A(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    x: Annotated[int, Field(gt=0)]
    y: Optional[list[str]] = None
    kind: Literal["a", "b"] = "a"
    K: ClassVar[int] = 3
    _secret: int = PrivateAttr(default=7)
    @field_validator("x")
    @classmethod
    def refuse_13(cls, v):
        if v == 13: raise ValueError("not 13")
        return v
    @model_validator(mode="after")
    def same(self): return self
    @computed_field
    @property
    def double(self) -> int: return self.x * 2
    def secret(self): return self._secret
class B(A):
    inner: A
    def __init__(self, **values): super().__init__(**values)
try: A(x=13)
except ValueError as error: refused = str(error)
b = B(x=1, inner={"x": 2})
result = b.model_dump(), b.secret(), refused, sorted(B.model_fields), b
# case: a-generic-model
from typing import Generic, TypeVar
from pydantic import BaseModel
T = TypeVar("T")
class R(BaseModel, Generic[T]): items: list[T]
result = R[int](items=["1"]), R[int].__name__
# case: models-of-a-function
from pydantic import BaseModel
def make():
    class I(BaseModel): a: int
    class O(BaseModel):
        i: I
        j: "I"
    return O(i={"a": 1}, j={"a": 2})
result = make()
# case: annotations-of-a-model-that-are-text
from __future__ import annotations
from pydantic import BaseModel
class Leaf(BaseModel): v: int
class Tree(BaseModel):
    leaf: Leaf
    trees: list[Tree] = []
result = Tree(leaf={"v": 2}, trees=[{"leaf": {"v": 3}}])
# case: a-model-of-a-class-defined-later
from pydantic import BaseModel
class A(BaseModel): b: "B"
class B(BaseModel): v: int
A.model_rebuild()
result = A(b={"v": 2})
# case: other-forms-of-a-model
from pydantic import RootModel, TypeAdapter, create_model, validate_call
from pydantic.dataclasses import dataclass
@dataclass
class D: x: int
@dataclass(slots=True)
class E: x: int
@validate_call
def f(a: int, b: str = "x"): return a, b
class L(RootModel[list[int]]): pass
M = create_model("M", q=(int, 3))
d = D(x="1")
d.x += 1
result = d, E("2"), f("3"), TypeAdapter(list[D]).validate_python([{"x": 1}]), L(["1"]), M()
# case: attrs
import attr, attrs
@attrs.define
class A:
    x: int = attrs.field()
    y: list = attrs.field(factory=list)
    _p: int = 3
    @x.validator
    def _check(self, attribute, value):
        if value < 0: raise ValueError("negative")
    def more(self):
        self.x += 1
        self._p = 5
        return super().__repr__()[:3], self._p
@attrs.frozen
class F: a: int
@attr.s(auto_attribs=True)
class S: b: int = 1
a = A(1, p=4)
result = a.more(), a, F(1), S(), attrs.asdict(a), A.__slots__
# case: dataclasses-whose-annotations-are-text
from __future__ import annotations
import dataclasses
from dataclasses import dataclass, InitVar
from typing import ClassVar
@dataclass(slots=True)
class A:
    x: int
    k: ClassVar[int] = 5
    i: InitVar[int] = 3
    q: int = 0
    def __post_init__(self, i): self.q = i
result = A(1), A.k, [f.name for f in dataclasses.fields(A)]
# case: annotations-in-the-programs-own-words
from __future__ import annotations
class A:
    x: a._b = 1
    def f(self, y: "s".format(2), z: 2 ** n) -> A.__dict__: ...
result = A.__annotations__, A.f.__annotations__
# case: a-declarative-base
from sqlalchemy import ForeignKey, String, create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship
class Base(DeclarativeBase): pass
class User(Base):
    __tablename__ = "user"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(30))
    posts: Mapped[list["Post"]] = relationship(back_populates="user")
class Post(Base):
    __tablename__ = "post"
    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id"))
    user: Mapped["User"] = relationship(back_populates="posts")
engine = create_engine("sqlite://")
Base.metadata.create_all(engine)
with Session(engine) as session:
    session.add(User(name="x", posts=[Post()]))
    session.commit()
    result = [(u.name, len(u.posts)) for u in session.execute(select(User)).scalars()]
engine.dispose()
# case: a-structure
import ctypes
class S(ctypes.Structure): _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_double)]
s = S(1, 2.0)
s.x = 5
result = s.x, s.y
# case: pickle
import collections, dataclasses, enum, pickle, typing
class A:
    def __init__(self): self.x = 1
def f(): return 3
class C(enum.Enum): RED = 1
class N(typing.NamedTuple): y: int
P = collections.namedtuple("P", "x")
@dataclasses.dataclass
class D: z: int
class Error(ValueError): pass
back = pickle.loads(pickle.dumps((A, A(), f, C.RED, N(2), P(1), D(3), Error("x"))))
result = back[0] is A, back[1].x, back[2]() , back[3:]
# case: tests
import doctest, io, unittest
def f(x):
    '''
    >>> f(1)
    2
    '''
    return x + 1
class T(unittest.TestCase):
    def test_right(self): self.assertEqual(f(1), 2)
    def test_wrong(self): self.assertEqual(f(1), 3)
runner = unittest.TextTestRunner(stream=io.StringIO())
done = unittest.main(exit=False, testRunner=runner, argv=[""]).result
result = done.testsRun, len(done.failures), doctest.testmod()
# case: every-statement-in-a-class
import contextlib
class Namespace(dict):
    log = []
    def __setitem__(self, key, value):
        self.log.append(key)
        dict.__setitem__(self, key, value)
class Meta(type):
    @classmethod
    def __prepare__(m, n, b): return Namespace()
    def __new__(m, n, b, ns):
        ns.log.append(list(ns))
        return super().__new__(m, n, b, ns)
class A(metaclass=Meta):
    x: int = 1
    x += 2
    x *= 3
    t = "a" * x
    q = f"{x}{t}{x:>{x}}"
    n = 0
    while n < 3:
        n += 1
        if n == 5: break
    else: n = 7
    for i in range(3):
        while i:
            i -= 1
            if i == 1: break
        else: continue
    match n:
        case int(v): pass
        case [a, *b]: pass
    l = [j for j in range(3)]
    l[0:1] = [3]
    l += [2]
    s = [*l, *l]
    y = 2 ** 3 % 4 << 2
    with contextlib.nullcontext() as cm: pass
    try: 1 / 0
    except ZeroDivisionError as e: pass
    def f(self): return __class__
    @property
    def p(self): return 1
    class Inner: pass
    lam = lambda: 3
    del l
result = [[k for k in one if k[:8] not in ("__static", "__firstl")] if type(one) is list
          else one for one in Namespace.log if str(one)[:8] not in ("__static", "__firstl")]
# case: while-and-match-in-an-enumeration
import enum
class C(enum.Enum):
    RED = 1
    while True:
        while False: pass
        else: break
    match RED:
        case int(_): pass
result = list(C.__members__)
# case: hints
import typing
from typing import Optional, get_type_hints
class A:
    x: "list[A]"
    y: Optional["typing.Sequence[str]"] = None
def f(a: "A", b: list["A"] = ()) -> "A | None": ...
result = get_type_hints(A), get_type_hints(f)
# case: frames
import enum
E = enum.Enum("E", "A B")
result = E.__module__, list(E), type("T", (), {}).__module__
# case: annotations-that-name-no-fields
from __future__ import annotations
import dataclasses, typing
import dataclasses as d, typing as t
from dataclasses import InitVar, KW_ONLY
from typing import ClassVar
@dataclasses.dataclass
class Bare:
    x: int
    y: ClassVar[int] = 3
    z: InitVar[int] = 4
    _: KW_ONLY
    w: int = 1
@dataclasses.dataclass
class OfTyping:
    x: int
    y: typing.ClassVar[int] = 3
    z: InitVar[int] = 4
    _: KW_ONLY
    w: int = 1
@dataclasses.dataclass
class Renamed:
    x: int
    y: t.ClassVar[int] = 3
    z: d.InitVar[int] = 4
    _: d.KW_ONLY
    w: int = 1
@dataclasses.dataclass
class OfDataclasses:
    x: int
    y: ClassVar[int] = 3
    z: dataclasses.InitVar[int] = 4
    _: dataclasses.KW_ONLY
    w: int = 1
result = [([f.name for f in dataclasses.fields(A)], A(1, 2, w=5))
          for A in (Bare, OfTyping, Renamed, OfDataclasses)]
# case: pickled-builtins-and-iterators
import pickle
numbers = iter([1, 2, 3])
next(numbers)
values = [pickle.loads(pickle.dumps(x)) for x in ({1}, bytearray(b"a"), enumerate, int)]
result = values, list(pickle.loads(pickle.dumps(numbers)))
