# case: defaults
def f(a, b=2, c=3): return (a, b, c)
(f(1), f(1, 5), f(1, c=9), f(c=1, a=2))
# case: default-evaluated-once
def f(x, acc=[]):
    acc.append(x)
    return acc
f(1); f(2)
f(3)
# case: default-evaluated-at-definition
n = 5
def f(x=n): return x
n = 10
f()
# case: default-evaluation-order
log = []
def t(v):
    log.append(v)
    return v
def f(a=t(1), *, b=t(2), c=t(3)): pass
log
# case: varargs
def f(*args): return args
def g(a, *rest, **kw): return (a, rest, kw)
(f(), f(1, 2), g(1), g(1, 2, 3, x=4))
# case: keyword-only
def f(a, *, b, c=3): return (a, b, c)
f(1, b=2)
# case: positional-only
def f(a, b=2, /, c=3, *, d=4): return (a, b, c, d)
(f(1), f(1, 5, 6, d=7), f(1, c=8))
# case: positional-only-name-in-kwargs
def f(a, /, **k): return (a, k)
f(1, a=2, b=3)
# case: all-parameter-kinds
def f(a, b=1, /, c=2, *args, d, e=4, **kw): return (a, b, c, args, d, e, kw)
f(0, 10, 20, 30, 40, d=5, z=6)
# case: missing-argument
def f(a, b): return a
f(1)
# case: missing-keyword-only
def f(*, key): return key
f()
# case: unexpected-keyword
def f(a): return a
f(1, bad=2)
# case: too-many-positional
def f(a): return a
f(1, 2)
# case: positional-only-by-keyword
def f(a, /): return a
f(a=1)
# case: multiple-values
def f(a): return a
f(1, a=2)
# case: method-missing-argument
class C:
    def m(self, x): return x
C().m()
# case: init-arguments
class C:
    def __init__(self, a): self.a = a
C()
# case: binding-errors-are-typeerrors
out = []
def f(a, b=1, *, c): pass
for call in (lambda: f(), lambda: f(1), lambda: f(1, 2, 3, c=1), lambda: f(1, c=1, d=2), lambda: f(1, a=2, c=3)):
    try:
        call()
    except TypeError as e:
        out.append(str(e))
out
# case: return-forms
def none(): return
def implicit(): 1
def tup(): return 1, 2
def cond(x):
    if x: return "yes"
(none(), implicit(), tup(), cond(0), cond(1))
# case: recursion
def fact(n): return 1 if n <= 1 else n * fact(n - 1)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
(fact(20), fib(15))
# case: mutual-recursion
def even(n): return True if n == 0 else odd(n - 1)
def odd(n): return False if n == 0 else even(n - 1)
(even(50), odd(7), even(9))
# case: hanoi
moves = []
def hanoi(n, a, b, c):
    if n == 0:
        return
    hanoi(n - 1, a, c, b)
    moves.append(a + c)
    hanoi(n - 1, b, a, c)
hanoi(4, "A", "B", "C")
(len(moves), moves[:5])
# case: functions-are-objects
def f(x): return x + 1
g = f
d = {"inc": f, "dbl": lambda x: x * 2}
f.tag = "attr"
(g(1), d["dbl"](4), g.tag, f.__name__, callable(f))
# case: function-attributes
def outer():
    def inner(a: int, b=2) -> str:
        """Doc line."""
    return inner
f = outer()
(f.__name__, f.__qualname__, f.__doc__, f.__module__)
# case: lambda-forms
((lambda: 1)(), (lambda x, y=2: x + y)(1), (lambda *a: a)(1, 2), (lambda **k: k)(a=1), (lambda x: lambda y: x + y)(1)(2), (lambda a, /, b, *, c: (a, b, c))(1, 2, c=3))
# case: lambda-name
f = lambda: 0
f.__name__, (lambda: 0).__qualname__
# case: lambda-default-captures
fs = [lambda i=i: i for i in range(3)]
gs = [lambda: i for i in range(3)]
([f() for f in fs], [g() for g in gs])
# case: higher-order
def compose(*fs):
    def run(x):
        for f in reversed(fs):
            x = f(x)
        return x
    return run
compose(lambda x: x + 1, lambda x: x * 2)(5)
# case: map-filter-reduce
from functools import reduce
(list(map(lambda x: x ** 2, range(5))), list(filter(lambda x: x % 2, range(6))), reduce(lambda a, b: a * b, [1, 2, 3, 4], 1), reduce(max, [3, 9, 2]))
# case: partial
from functools import partial
def f(a, b, c=0): return (a, b, c)
p = partial(f, 1, c=5)
(p(2), p(2, c=9), partial(int, base=2)("101"))
# case: function-redefinition
def f(): return 1
a = f
def f(): return 2
(a(), f())
# case: local-shadows-builtin
def f(list):
    len = 3
    return list + len
f(4)
# case: shadow-builtin-at-top
max = lambda *a: "mine"
(max(1, 2), min(1, 2))
# case: name-resolution-at-call
def f(): return later()
def later(): return "ok"
f()
# case: call-before-definition
def f(): return not_yet()
f()
# case: local-before-assignment
x = 1
def f():
    print(x)
    x = 2
f()
# case: nested-function-is-not-global
def outer():
    def helper(): return "h"
    return helper()
print(outer())
helper()
# case: early-return-in-try
def f():
    try:
        return "try"
    finally:
        print("finally")
f()
# case: finally-overrides-return
# until: 3.13 PEP 765 warns in 3.14
def f():
    try:
        return "try"
    finally:
        return "finally"
f()
# case: return-value-captured-before-finally
def f():
    x = 1
    try:
        return x
    finally:
        x = 2
f()
# case: mutable-returned-before-finally
def f():
    x = [1]
    try:
        return x
    finally:
        x.append(2)
f()
# case: closures-counter
def counter(start=0):
    n = start
    def inc(by=1):
        nonlocal n
        n += by
        return n
    return inc
a, b = counter(), counter(10)
(a(), a(), b(5), a())
# case: callable-class
class Adder:
    def __init__(self, n): self.n = n
    def __call__(self, x, *, scale=1): return (x + self.n) * scale
add = Adder(5)
(add(1), add(1, scale=10), callable(add), list(map(add, [1, 2])))
# case: bound-and-unbound-methods
class C:
    def m(self, x): return (type(self).__name__, x)
c = C()
m = c.m
(m(1), C.m(c, 2), list(map(c.m, "ab")))
# case: argument-evaluation-order
log = []
def t(v):
    log.append(v)
    return v
def f(*a, **k): pass
t(f)(t(1), t(2), k=t(3))
log[1:]
# case: large-argument-list
def f(*a): return sum(a)
(f(*range(300)), max(*range(500)), (lambda **k: len(k))(**{f"k{i}": i for i in range(300)}))
# case: sorted-with-key-functions
words = ["banana", "Apple", "cherry"]
(sorted(words, key=str.lower), sorted(words, key=len), sorted(words, key=lambda w: w[-1]), min(words, key=len), max(words, key=lambda w: w.count("a")))
# case: cmp-to-key
from functools import cmp_to_key
sorted([3, 1, 2], key=cmp_to_key(lambda a, b: b - a))
# case: lru-cache
from functools import lru_cache, cache
calls = []
@lru_cache(maxsize=None)
def f(n):
    calls.append(n)
    return n if n < 2 else f(n - 1) + f(n - 2)
@cache
def g(n): return n * 2
(f(50), len(calls), f.cache_info().hits, g(2), g(2))
# case: singledispatch
from functools import singledispatch
@singledispatch
def show(x): return "any"
@show.register
def _(x: int): return "int"
@show.register(list)
def _(x): return "list"
(show(1), show([]), show("s"))
# case: currying
def curry(f, n):
    def step(*a):
        return f(*a) if len(a) >= n else lambda *b: step(*a, *b)
    return step
add3 = curry(lambda a, b, c: a + b + c, 3)
(add3(1)(2)(3), add3(1, 2)(3))
# case: docstring-and-first-line
def f():
    "doc"
    return f.__doc__
f()
# case: call-non-callable
x = 5
x()
# case: call-none-result
def f(): pass
f()()
# case: star-arg-not-iterable
def f(*a): pass
f(*5)
# case: double-star-not-mapping
def f(**a): pass
f(**[1])
# case: keyword-keys-must-be-strings
def f(**a): pass
f(**{1: 2})
# case: trailing-commas
def f(a, b,): return (a, b,)
f(1, 2,)
# case: print-returns-none
print(print("x"))
# case: global-function-through-container
def a(): return "a"
def b(): return "b"
table = {name: fn for name, fn in (("x", a), ("y", b))}
[table[k]() for k in "xyx"]
# case: function-in-conditional
if 1:
    def f(): return "one"
else:
    def f(): return "two"
f()
# case: nested-defaults-and-closures
def make(n):
    def f(a, b=n * 2, *, c=lambda: n): return (a, b, c())
    n += 100
    return f
make(1)(0)
