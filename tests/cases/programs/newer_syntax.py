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
