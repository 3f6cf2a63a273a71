# case: return-inside-except-exception
# What upstream's tree walker gets silently wrong or refuses (UPSTREAM.md), one program each.
def f():
    for i in range(3):
        try:
            if i == 1:
                return i
        except Exception:
            return "swallowed"
f()
# case: specific-handler-catches
try:
    {}["missing"]
except KeyError:
    r = "caught"
r
# case: decorators-apply
def deco(f): return lambda: "decorated"
@deco
def g(): return "plain"
g()
# case: property-applies
class C:
    @property
    def x(self): return 7
C().x
# case: dataclass-applies
from dataclasses import dataclass
@dataclass
class P:
    x: int
    y: int = 2
P(1)
# case: for-else-runs
for i in range(2): pass
else: r = "else ran"
r
# case: star-in-list-display-does-not-nest
a = [1, 2]
[*a, 3]
# case: list-target-assigns
[a, b] = [1, 2]
a + b
# case: keyword-only-and-defaults-bind
def f(a, *args, k=5, **kw): return (a, args, k, kw)
(f(1), f(1, 2, k=3), f(1, z=9))
# case: misspelt-name-is-an-error-not-a-neighbour
counter = 5
print(countr)
# case: undefined-augmented-assignment-is-an-error
total_x += 1
# case: repr-conversion-in-fstring
f"{'a'!r}"
# case: print-sep-and-end
print("a", "b", sep="+", end=";")
# case: inner-function-does-not-leak
def f():
    def inner(): return 1
    return inner()
f()
inner()
# case: return-inside-with-does-not-roll-back
class R:
    def __enter__(self): return self
    def __exit__(self, *a): pass
out = []
def f():
    with R():
        out.append(1)
        return len(out)
(f(), out)
# case: walrus-is-accepted
(n := 3) + n
# case: yield-is-accepted
def g(): yield 1
list(g())
# case: dict-unpacking-is-accepted
{**{"a": 1}, "b": 2}
# case: match-is-accepted
match 1:
    case 1: print("one")
# case: global-and-nonlocal-are-accepted
n = 0
def f():
    global n
    m = 0
    def g():
        nonlocal m
        m += 1
    g()
    n = m
f()
n
# case: bare-raise-is-accepted
try:
    try:
        1 / 0
    except ZeroDivisionError:
        raise
except ZeroDivisionError as e:
    print(e)
# case: star-target-is-accepted
a, *b = 1, 2, 3
b
# case: matrix-operator-is-accepted
class M:
    def __matmul__(self, o): return "matmul"
M() @ 1
# case: bare-super-is-accepted
class A:
    def f(self): return 1
class B(A):
    def f(self): return super().f() + 1
B().f()
# case: break-inside-try-in-loop
for i in range(5):
    try:
        if i == 2: break
    except Exception:
        print("swallowed")
i
# case: comparison-chain-stops-early
def boom(): raise RuntimeError("evaluated")
1 > 2 > boom()
# case: boolean-operators-return-operands
("" or "x", 1 and 2, None or [])
# case: class-attributes-shared
class C: items = []
C().items.append(1)
C.items
# case: lambda-default-and-star
(lambda a, *b, c=1, **d: (a, b, c, d))(1, 2, c=3, e=4)
# case: nested-function-closure-updates
def f():
    x = 1
    def g(): return x
    x = 2
    return g()
f()
# case: slice-with-step-assignment
a = [0] * 6
a[::2] = [1, 2, 3]
a
# case: delete-slice-and-attribute
a = [1, 2, 3, 4]
del a[1:3]
class C: pass
c = C(); c.x = 1
del c.x
(a, hasattr(c, "x"))
# case: string-method-chain-on-literal
" A,b ".strip().lower().split(",")
# case: try-finally-without-except
def f():
    try:
        return 1
    finally:
        print("f")
f()
# case: recursion-with-default-mutable
def f(n, acc=None):
    acc = [] if acc is None else acc
    if n: acc.append(n); f(n - 1, acc)
    return acc
f(3)
