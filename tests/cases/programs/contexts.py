# case: enter-and-exit
log = []
class R:
    def __init__(self, n): self.n = n
    def __enter__(self): log.append(f"in {self.n}"); return self.n * 10
    def __exit__(self, t, v, tb): log.append((f"out {self.n}", t and t.__name__, str(v)))
with R(1) as a:
    log.append(a)
log
# case: multiple-items-order
log = []
class R:
    def __init__(self, n): self.n = n
    def __enter__(self): log.append(self.n); return self
    def __exit__(self, *a): log.append(-self.n)
with R(1), R(2) as b, R(3):
    log.append(b.n)
log
# case: parenthesised-items
class R:
    def __init__(self, n): self.n = n
    def __enter__(self): return self.n
    def __exit__(self, *a): return None
with (
    R(1) as a,
    R(2) as b,
):
    r = a + b
r
# case: exit-suppresses
class S:
    def __enter__(self): return self
    def __exit__(self, t, v, tb): return t is KeyError
with S():
    {}["k"]
print("after")
# case: exit-does-not-suppress-others
class S:
    def __enter__(self): return self
    def __exit__(self, t, v, tb): return t is KeyError
with S():
    [][1]
# case: return-inside-with-keeps-effects
class R:
    def __enter__(self): return self
    def __exit__(self, *a): print("exit")
x = [0]
def f():
    with R():
        x[0] = 5
        return x[0]
(f(), x)
# case: break-and-continue-inside-with
log = []
class R:
    def __enter__(self): log.append("+")
    def __exit__(self, *a): log.append("-")
for i in range(4):
    with R():
        if i == 1: continue
        if i == 2: break
        log.append(i)
log
# case: as-target-forms
class R:
    def __enter__(self): return (1, [2, 3])
    def __exit__(self, *a): pass
d = {}
class O: pass
o = O()
with R() as (a, (b, *c)), R() as d["k"], R() as o.x:
    pass
(a, b, c, d, o.x)
# case: exception-in-enter
log = []
class A:
    def __enter__(self): log.append("a"); return self
    def __exit__(self, *a): log.append(("a-out", a[0].__name__ if a[0] else None))
class B:
    def __enter__(self): raise ValueError("enter")
    def __exit__(self, *a): log.append("never")
try:
    with A(), B():
        log.append("body")
except ValueError as e:
    log.append(str(e))
log
# case: exception-in-exit-replaces
class R:
    def __enter__(self): pass
    def __exit__(self, *a): raise RuntimeError("from exit")
try:
    with R():
        raise ValueError("body")
except RuntimeError as e:
    print(e, type(e.__context__).__name__)
# case: contextmanager-exception-handling
from contextlib import contextmanager
@contextmanager
def guard():
    try:
        yield "v"
    except ZeroDivisionError:
        print("suppressed")
with guard() as v:
    print(v)
    1 / 0
print("after")
# case: contextmanager-reraises
from contextlib import contextmanager
@contextmanager
def guard():
    try:
        yield
    finally:
        print("cleanup")
with guard():
    raise KeyError("out")
# case: exit-stack
from contextlib import ExitStack, contextmanager
log = []
@contextmanager
def r(n):
    log.append(n)
    yield n
    log.append(-n)
with ExitStack() as st:
    vals = [st.enter_context(r(i)) for i in (1, 2)]
    st.callback(log.append, "cb")
(vals, log)
# case: suppress-and-nullcontext
from contextlib import suppress, nullcontext
with suppress(KeyError, IndexError):
    {}["x"]
    print("never")
with nullcontext(5) as v:
    print(v)
# case: redirect-like-own-writer
class Cap:
    def __init__(self): self.lines = []
    def write(self, s): self.lines.append(s)
    def flush(self): pass
c = Cap()
print("a", "b", sep="-", end="!", file=c)
c.lines
# case: not-a-context-manager
with 5:
    pass
# case: missing-exit
class A:
    def __enter__(self): pass
with A():
    pass
# case: nested-with-same-resource
class Lock:
    depth = 0
    def __enter__(self): self.depth += 1; return self.depth
    def __exit__(self, *a): self.depth -= 1
l = Lock()
with l as a:
    with l as b:
        inside = (a, b, l.depth)
(inside, l.depth)
# case: transaction-rollback
class Tx:
    def __init__(self, d): self.d = d
    def __enter__(self): self.saved = dict(self.d); return self.d
    def __exit__(self, t, v, tb):
        if t:
            self.d.clear(); self.d.update(self.saved)
        return True
d = {"a": 1}
with Tx(d) as t: t["a"] = 2
with Tx(d) as t:
    t["b"] = 3
    raise ValueError
d
# case: with-in-generator-closed-early
log = []
class R:
    def __enter__(self): log.append("in")
    def __exit__(self, *a): log.append("out")
def g():
    with R():
        yield 1
        yield 2
it = g()
next(it); it.close()
log
# case: with-and-lambda-expression
class R:
    def __init__(self, f): self.f = f
    def __enter__(self): return self.f
    def __exit__(self, *a): pass
with R(lambda x: x + 1) as f:
    r = [f(i) for i in range(2)]
r
