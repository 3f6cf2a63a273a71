# case: type-parameter-function
# since: 3.12 type parameter syntax (PEP 695)
def first[T](x: list[T]) -> T: return x[0]
(first([5]), first.__name__)
# case: type-parameter-class
# since: 3.12 type parameter syntax (PEP 695)
class Box[T]:
    def __init__(self, v: T): self.v = v
    def get(self) -> T: return self.v
(Box(3).get(), Box[int](4).get())
# case: type-parameter-bounds
# since: 3.12 type parameter syntax (PEP 695)
def f[T: (int, str), *Ts, **P](x: T) -> T: return x
class C[K: int, V]: pass
f(2)
# case: type-alias-statement
# since: 3.12 type statement (PEP 695)
type Pair[T] = tuple[T, T]
type Num = int | float
(Num.__name__, str(Num))
# case: type-parameter-default
# since: 3.13 type parameter defaults (PEP 696)
class C[T = int]:
    def __init__(self, v): self.v = v
C("x").v
# case: type-parameter-closure
# since: 3.12 type parameter syntax (PEP 695)
def outer(k):
    def inner[T](x: T): return x * k
    class B[T]:
        def f(self): return k
    return inner(2), B().f()
outer(5)
# case: inlined-comprehension-scope
# since: 3.12 comprehensions are inlined (PEP 709)
x = "outer"
r = [x for x in range(2)]
class C:
    n = 2
    a = [i for i in range(n)]
(x, r, C.a)
# case: except-without-parentheses
# since: 3.14 except without parentheses (PEP 758)
try:
    1 / 0
except ValueError, ZeroDivisionError:
    print("caught")
# case: except-star-without-parentheses
# since: 3.14 except without parentheses (PEP 758)
try:
    raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
except* ValueError, KeyError:
    print("caught")
# case: template-strings
# since: 3.14 template strings (PEP 750)
name = "x"
t = t"hello {name!r:>5} end"
(t.strings, t.values, t.interpolations[0].conversion, t.interpolations[0].format_spec)
# case: lazy-annotations
# since: 3.14 annotations are evaluated lazily (PEP 649)
def f(a: not_defined) -> neither: return a
class C:
    x: unknown_type = 3
(f(1), C.x)
# case: exception-notes-and-groups
# since: 3.11 exception groups (PEP 654)
e = ExceptionGroup("g", [ValueError("v")])
(str(e), e.message, len(e.exceptions))
# case: star-expression-in-index-and-annotation
# since: 3.11 variadic generics (PEP 646)
d = {(1, 2): "ok"}
k = (1, 2)
def f(*args: *tuple[int, ...]): return args
(d[*k], f(1, 2))
# case: async-comprehension-in-sync-comprehension
# since: 3.11 asynchronous comprehensions nested in others
import asyncio
async def g():
    yield 1
    yield 2
async def main(): return [[x async for x in g()] for _ in range(2)]
asyncio.run(main())
# case: batched
# since: 3.12 itertools.batched
from itertools import batched
list(batched("abcde", 2))
# case: copy-replace
# since: 3.13 copy.replace
import copy
from dataclasses import dataclass
@dataclass
class P:
    x: int
    y: int = 0
copy.replace(P(1), y=5)
# case: generic-class-bound-and-method-scope
# since: 3.12 PEP 695
class Box[T: int]:
    items: list[T]
    def map[U](self, f: "Callable[[T], U]") -> "list[U]": return [f(1)]
    def t(self): return T.__name__
(Box.__type_params__, Box[int].__origin__.__name__, Box().map(str), Box().t(), Box.map.__type_params__[0].__name__)
# case: generic-function-default-and-decorator-scope
# since: 3.12 PEP 695
def d(f):
    print("decorating", f.__name__)
    return f
@d
def f[T](x: T, y: "T" = 3) -> T: return x, y
f(1)
# case: generic-walrus-in-bound-is-syntax-error
# since: 3.12 PEP 695
class A[T: (x := int)]: pass
# case: generic-yield-in-type-alias-is-error
# since: 3.12 PEP 695
def f():
    type X = (yield)
# case: generic-duplicate-type-param
# since: 3.12 PEP 695
def f[T, T](): pass
# case: type-alias-lazy-and-recursive
# since: 3.12 PEP 695
type Tree[T] = T | list[Tree[T]]
type Late = NotYet
NotYet = int
(Late.__value__, Tree.__name__, Tree.__type_params__, Tree[int].__args__)
# case: type-alias-in-class-and-function
# since: 3.12 PEP 695
class A:
    type X = int
    def f(self):
        type Y = A.X
        return Y.__value__.__name__
(A.X.__name__, A().f())
# case: type-alias-undefined-value
# since: 3.12 PEP 695
type X = nope
X.__value__
# case: type-soft-keyword
# since: 3.12 PEP 695
type = 3
type X = int
match = [1]
case = 2
(type, X.__name__, match[0], case)
# case: generic-class-scope-with-nonlocal-and-class-cell
# since: 3.12 PEP 695
def outer():
    n = 1
    class A[T]:
        nonlocal n
        n = 5
        def f(self): return super().__repr__() != "", __class__.__name__, n
    return A().f()
outer()
# case: generic-metaclass-and-kwargs
# since: 3.12 PEP 695
class M(type):
    def __new__(m, n, b, ns, **k): return super().__new__(m, n, b, ns)
class A[T](metaclass=M, tag=1): x = 1
(A.x, type(A).__name__)
# case: generic-dataclass
# since: 3.12 PEP 695
from dataclasses import dataclass
@dataclass
class P[T]:
    a: T
    b: list[T]
P(1, [2]), P[int](3, [])
# case: generic-async-function
# since: 3.12 PEP 695
import asyncio
async def f[T](x: T) -> T: return x
asyncio.run(f(3))
# case: generic-class-with-private-and-comprehension
# since: 3.12 PEP 695
class A[T]:
    __p = 3
    xs = [i for i in range(2)]
    def f[U](self, v=__p): return v, self.__p
(A().f(), A.xs)
# case: type-param-star-and-paramspec-repr
# since: 3.12 PEP 695
def f[*Ts, **P](*a: *Ts, **k: int): pass
(f.__type_params__, [type(p).__name__ for p in f.__type_params__])
# case: type-param-defaults-use
# since: 3.13 PEP 696
class A[T = int, *Ts = *tuple[int, ...], **P = [int]]: pass
(A.__type_params__, A().__class__.__name__)
# case: override-decorator
# since: 3.12 typing.override
from typing import override
class A:
    @override
    def f(self): return 1
A().f()
# case: fstring-nested-deep
# since: 3.12 PEP 701
f"{f"{f"{1 + 1}"}"}" + f"{'a' 'b'!r:>{6}}"
# case: comprehension-inlined-locals-isolation
# since: 3.12 PEP 709
def f():
    i = 9
    r = [i for i in range(3)], {i: i for i in "ab"}, {i for i in (1,)}
    l = [(lambda: i) for i in range(2)]
    return r, i, [g() for g in l]
f()
# case: comprehension-inlined-exception-restores
# since: 3.12 PEP 709
def f():
    i = 9
    try:
        [1 / i for i in (1, 0)]
    except ZeroDivisionError:
        return i
f()
# case: except-star-tuple-with-break-inside-function
# since: 3.11 PEP 654
def f(n):
    out = []
    for i in range(n):
        try:
            raise ExceptionGroup("g", [ValueError(i), KeyError(i)])
        except* (ValueError, KeyError) as e:
            out.append(len(e.exceptions))
        else:
            out.append("else")
        finally:
            out.append("f")
    return out
f(2)
# case: exception-notes-shown
# since: 3.11 notes
try:
    e = ValueError("x")
    e.add_note("n1")
    e.add_note("n2")
    raise e
except ValueError as x:
    print(x.__notes__)
# case: add-note-wrong-type
# since: 3.11 notes
ValueError().add_note(3)
# case: assert-type-reveal-and-self
# since: 3.11 typing
from typing import Self, assert_type, LiteralString, Never, assert_never
class A:
    def f(self) -> Self: return self
assert_type(A().f(), A)
assert_never(3)
# case: strenum-and-verify
# since: 3.11 enum
import enum
class C(enum.StrEnum):
    RED = enum.auto()
    BLUE = enum.auto()
@enum.verify(enum.UNIQUE)
class D(enum.IntEnum):
    A = 1
(C.RED, f"{C.BLUE}", C("red"), D.A + 1, enum.member)
# case: itertools-pairwise-batched
# since: 3.12 batched
import itertools
(list(itertools.pairwise("abc")), list(itertools.batched("abcde", 2)))
# case: datetime-utc-and-fromisoformat
# since: 3.11 parsing
from datetime import datetime, UTC, timedelta
d = datetime.fromisoformat("2024-01-02T03:04:05Z")
(d, d.tzinfo is UTC, (d + timedelta(days=1.5)).isoformat(), d.strftime("%Y/%j %a"))
# case: finally-return-warning-silent
def f():
    try: return 1
    finally: return 2
f()
# case: warn-is-literal-silent
x = 1
(x is 1, "a" is "a")
# case: invalid-escape-silent
"\d"
# case: template-string-forms
# since: 3.14 PEP 750
a, b = 1, "x"
t = t"{a}{b!s:>3}" t"z{a + 1=}"
([(i.value, i.expression, i.conversion, i.format_spec) for i in t.interpolations], t.strings, [p if isinstance(p, str) else p.value for p in t])
# case: template-string-nested-and-lazy
# since: 3.14 PEP 750
w = 5
t = t"{'v':{w}}{t'{w}'}"
(t.interpolations[0].format_spec, t.interpolations[1].value.values)
# case: annotations-lazy-class-and-function
# since: 3.14 PEP 649
def f(x: later) -> later: pass
class A:
    x: later
later = int
(f.__annotations__, A.__annotations__)
# case: annotations-walrus-is-error
# since: 3.14 PEP 649
def f(x: (y := int)): pass
# case: finally-control-flow-is-warned-only
# since: 3.14 PEP 765
def f():
    for i in range(2):
        try: 1 / 0
        finally: break
    return i
f()
# case: except-parenthesised-as-required
# since: 3.14 PEP 758
try: pass
except ValueError, TypeError as e: pass
# case: except-unparenthesised-three
# since: 3.14 PEP 758
def f(x):
    try: raise x
    except KeyError, IndexError, ValueError: return "c"
    except: return "o"
(f(KeyError()), f(ValueError()), f(OSError()))
