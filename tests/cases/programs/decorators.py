# case: simple
def twice(f):
    def w(*a, **k): return f(*a, **k) * 2
    return w
@twice
def g(x): return x + 1
g(3)
# case: stacked-order
log = []
def d(n):
    log.append(f"make {n}")
    def deco(f):
        log.append(f"apply {n}")
        return f
    return deco
@d(1)
@d(2)
def f(): pass
log
# case: decorator-replaces-with-value
@lambda f: f(4)
def sq(n): return n * n
sq
# case: class-decorator
def add_repr(cls):
    cls.__repr__ = lambda self: f"<{cls.__name__}>"
    cls.extra = 5
    return cls
@add_repr
class C: pass
(repr(C()), C.extra)
# case: decorator-class
class Count:
    def __init__(self, f): self.f, self.n = f, 0
    def __call__(self, *a):
        self.n += 1
        return self.f(*a)
@Count
def f(x): return x
f(1); f(2)
(f.n, f(9))
# case: wraps
from functools import wraps
def d(f):
    @wraps(f)
    def w(*a): return f(*a)
    return w
@d
def named(): "docs"
(named.__name__, named.__doc__)
# case: with-arguments
def repeat(n):
    def deco(f):
        def w(*a): return [f(*a) for _ in range(n)]
        return w
    return deco
@repeat(3)
def f(x): return x
f("a")
# case: method-decorators
class C:
    def __init__(self): self._v = 1
    @property
    def v(self): return self._v
    @v.setter
    def v(self, x): self._v = x * 10
    @v.deleter
    def v(self): self._v = None
    @staticmethod
    def s(a): return a
    @classmethod
    def c(cls, a): return (cls.__name__, a)
c = C()
c.v = 5
r = c.v
del c.v
(r, c.v, C.s(1), c.s(2), C.c(3), c.c(4))
# case: memoize-by-hand
def memo(f):
    cache = {}
    def w(n):
        if n not in cache:
            cache[n] = f(n)
        return cache[n]
    w.cache = cache
    return w
@memo
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
(fib(80), len(fib.cache))
# case: expression-decorators
table = {"x": [lambda f: "replaced"]}
@table["x"][0]
def f(): pass
f
# case: decorator-raises
def bad(f): raise ValueError(f"cannot decorate {f.__name__}")
@bad
def f(): pass
# case: register-pattern
handlers = {}
def on(name):
    def add(f):
        handlers.setdefault(name, []).append(f)
        return f
    return add
@on("a")
@on("b")
def one(x): return x + 1
@on("a")
def two(x): return x * 2
{k: [f(10) for f in v] for k, v in handlers.items()}
# case: property-read-only
class C:
    @property
    def v(self): return 1
try:
    C().v = 2
except AttributeError as e:
    print(type(e).__name__)
C().v
# case: cached-property
from functools import cached_property
class C:
    n = 0
    @cached_property
    def v(self):
        self.n += 1
        return 42
c = C()
(c.v, c.v, c.n)
# case: contextmanager-decorator
from contextlib import contextmanager
log = []
@contextmanager
def section(n):
    log.append("in " + n)
    try:
        yield n.upper()
    finally:
        log.append("out " + n)
with section("a") as s:
    log.append(s)
log
# case: decorator-evaluation-before-default
log = []
def t(v):
    log.append(v)
    return v
@(t(1), lambda f: f)[1]
def f(a=t(2)): pass
log
# case: dispatch-on-bytes
from functools import singledispatch
@singledispatch
def kind(x): return "default"
@kind.register(str)
@kind.register(bytes)
def _(x): return "text"
(kind("a"), kind(b""), kind(1))
# case: method-defined-in-a-class-decorator
def auto_repr(cls):
    def __repr__(self): return f"{cls.__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"
    cls.__repr__ = __repr__
    return cls
def add_methods(**fns):
    def deco(cls):
        for n, f in fns.items(): setattr(cls, n, f)
        return cls
    return deco
@auto_repr
@add_methods(double=lambda self: self.x * 2, name="n")
class P:
    def __init__(self, x): self.x = x
p = P(4); print(p, p.double(), P.name, P.__repr__.__name__, P.__qualname__)
P.extra = property(lambda self: self.x + 1); print(p.extra); del P.extra; p.extra
# case: method-defined-at-the-top-level
def __len__(self): return 3
class A: pass
A.__len__ = __len__
__call__ = lambda self, x: x + 1
A.__call__ = __call__
(len(A()), A()(1), __len__(None))

# case: attributes-of-a-cached-function
from functools import cache, lru_cache
@cache
def fib(n):
    fib.calls += 1
    return n if n < 2 else fib(n - 1) + fib(n - 2)
fib.calls = 0
@lru_cache(maxsize=2)
def square(x):
    return x * x
square.note = "kept"
del square.note
(fib(30), fib.calls, hasattr(square, "note"), fib.cache_info().hits)
