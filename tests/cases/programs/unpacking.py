# case: simple-tuple
a, b = 1, 2
a, b = b, a
(a, b)
# case: list-target
[a, b] = [1, 2]
[c, (d, e)] = "x", "yz"
(a, b, c, d, e)
# case: nested-targets
(a, (b, [c, d]), e) = 1, (2, [3, 4]), 5
[a, b, c, d, e]
# case: star-middle
a, *m, z = range(6)
(a, m, z)
# case: star-first-and-last
*h, t = "abc"
f, *r = [1]
*only, = (1, 2)
(h, t, f, r, only)
# case: nested-star
(a, *b), *c = "xyz", 1, 2
(a, b, c)
# case: star-on-attribute-and-subscript
class O: pass
o = O(); d = {}
o.x, *d["rest"], o.y = 1, 2, 3, 4
(o.x, d, o.y)
# case: chained-assignment
a = b = c = [1]
x = y, z = 1, 2
(a is b is c, x, y, z)
# case: chained-assignment-order
log = []
class T:
    def __setattr__(self, k, v): log.append((k, v))
t = T()
t.a = t.b = t.c = 5
log
# case: swap-with-index
i, a = 0, [1, 0]
i, a[i] = a[i], 9
(i, a)
# case: for-target-unpacking
out = []
for i, (a, b) in enumerate([(1, 2), (3, 4)]):
    out.append(i + a * b)
for k, *rest in ["abc", (1, 2, 3)]:
    out.append((k, rest))
out
# case: for-target-subscript
a = [0, 0]
for a[1] in range(3):
    a[0] += a[1]
a
# case: for-target-attribute
class O: pass
o = O()
for o.x, o.y in [(1, 2), (3, 4)]:
    pass
(o.x, o.y)
# case: comprehension-target-unpacking
[a + b for a, b in [(1, 2), (3, 4)]], {k: v for k, (v, *_) in {"a": [1, 2]}.items()}, [x for (x, y), z in [((1, 2), 3)]]
# case: unpack-string-dict-set-generator
a, b = "xy"
c, d = {"k1": 1, "k2": 2}
e, f = (i * i for i in (3, 4))
(a, b, c, d, e, f)
# case: unpack-iterator-protocol
class It:
    def __iter__(self):
        yield from (1, 2, 3)
a, *b = It()
(a, b)
# case: unpack-too-many
a, b = 1, 2, 3
# case: unpack-too-few
a, b, c = 1, 2
# case: unpack-star-too-few
a, b, *c = [1]
# case: unpack-not-iterable
a, b = 5
# case: unpack-none-from-function
def f(): pass
x, y = f()
# case: call-star-args
def f(*a, **k): return a, k
(f(*[1, 2], 3, *"ab"), f(**{"x": 1}, y=2), f(*range(2), **{"q": 0}), f(*(), **{}))
# case: call-duplicate-keyword
def f(**k): return k
f(**{"x": 1}, **{"x": 2})
# case: call-keyword-evaluation-order
log = []
def t(v):
    log.append(v)
    return v
def f(*a, **k): return a, k
f(t(1), *[t(2)], k=t(3), **{"z": t(4)})
log
# case: return-star
def f():
    r = [2, 3]
    return 1, *r
f()
# case: subscript-star
# since: 3.11 star expressions in a subscript (PEP 646)
d = {(1, 2, 3): "v"}
i = (2, 3)
d[1, *i]
# case: star-in-for-iterable
out = []
for x in *[1, 2], *"ab":
    out.append(x)
out
# case: assignment-evaluation-order
log = []
def t(v):
    log.append(v)
    return v
class D(dict):
    def __setitem__(self, k, v):
        log.append(("set", k, v))
d = D()
t(d)[t("k")] = t("v")
log[1:] if False else [x for x in log if x is not d]
# case: augmented-evaluation-once
log = []
def key():
    log.append("key")
    return 0
a = [10]
a[key()] += 5
(a, log)
# case: augmented-attribute
class C: n = 0
c = C()
c.n += 1
C.n += 10
(c.n, C.n)
# case: augmented-on-slice
a = [1, 2, 3]
a[1:] += [4]
a[:1] *= 3
a
# case: walrus-forms
if (n := 10) > 5:
    print(n)
while (n := n - 3) > 0:
    print(n)
r = [y := 1, y ** 2, y + 5]
print(any((hit := v) > 2 for v in [1, 2, 3, 4]), hit)
(n, y, r, (z := 3) + z)
# case: walrus-in-comprehension-binds-outside
def f(data):
    r = [last := x * 2 for x in data]
    return r, last
f([1, 2, 3])
# case: walrus-in-call-and-slice
def f(a, b=0): return a + b
a = [1, 2, 3, 4]
(f((x := 5), b=x), a[(i := 1):(i + 2)], x, i)
# case: walrus-in-condition-filter
def g(x): return x * x
[(x, y) for x in range(5) if (y := g(x)) > 3]
# case: annotated-assignment
x: int = 5
y: "whatever"
z: list[int] = [x]
class C:
    a: int = 1
    b: str
(x, z, C.a, hasattr(C, "b"), "y" in dir())
# case: annotated-unbound-name
y: int
y
# case: delete-forms
a, b, c = 1, [1, 2, 3], {"k": 1, "j": 2}
del a
del b[0], c["k"]
del (b[0])
class O: pass
o = O(); o.x = 1
del o.x
out = [b, c, hasattr(o, "x")]
try:
    a
except NameError as e:
    out.append(str(e))
out
# case: delete-tuple-target
a = b = c = 1
del (a, [b, c])
try:
    print(b)
except NameError as e:
    print("gone", e)
# case: delete-unbound
del never_bound
# case: assign-to-global-class-attribute
class A: registry = []
class B(A): pass
B.registry.append(1)
B.registry = [2]
(A.registry, B.registry)
# case: unpack-in-lambda-arguments
(lambda *a, k=1, **kw: (a, k, kw))(1, 2, k=5, z=6)
# case: multiple-star-in-call-to-class
class C:
    def __init__(self, a, b, *, c): self.v = (a, b, c)
C(*[1], *[2], **{"c": 3}).v
