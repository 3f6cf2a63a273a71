# case: star-unpack-everywhere
a, b = [1, 2], {"k": 3}
def f(*x, **y): return x, y
t = *a, *"xy"
for i in *a, 9: print(i, end=" ")
print(f(*a, 0, *"z", **b, m=1, **{"n": 2}))
(t, [*a, *range(2)], {*a, *a}, {**b, "k": 4, **{"q": 1}}, (*a,), [*[*a]], *a)
# case: star-unpack-errors
def f(*a, **k): pass
for c in ("lambda: f(*3)", "lambda: f(**3)", "lambda: f(**{1: 2})", "lambda: f(**{'a': 1}, **{'a': 2})"):
    pass
try: f(*3)
except TypeError as e: print(e)
try: f(**3)
except TypeError as e: print(e)
try: f(**{1: 2})
except TypeError as e: print(e)
try: f(**{'a': 1}, **{'a': 2})
except TypeError as e: print(e)
try: [*3]
except TypeError as e: print(e)
try: {**3}
except TypeError as e: print(e)
try: {**[1]}
except TypeError as e: print(e)
# case: star-assign-in-for-with-and-comprehension
for a, *b in [(1, 2, 3), "xyz"]: print(a, b)
class C:
    def __enter__(self): return 1, 2, 3
    def __exit__(self, *a): pass
with C() as (x, *y): pass
d = {}
for d["k"], *d["r"] in [[1, 2, 3]]: pass
(x, y, d, [r for _, *r in ["abc"]], {k: v for k, *v in ["ab"]})
# case: star-target-alone-is-syntax-error
*a = [1]
# case: two-stars-is-syntax-error
*a, *b = [1]
# case: star-expression-statement-is-syntax-error
*[1]
# case: star-in-return-and-yield
def g():
    yield *[1, 2], 3
    return *[4], 5
i = g()
r = [next(i)]
try: next(i)
except StopIteration as e: r.append(e.value)
r
# case: star-in-subscript-and-del
# since: 3.11 star in subscript
class D(dict): pass
d = D()
k = (1, 2)
d[*k, 3] = "v"
x = d[*k, 3]
del d[*k, 3]
(x, d)
# case: star-in-subscript-old
d = {(1, 2): 3}
k = [1, 2]
d[tuple(k)]
# case: parenthesized-with-items
import contextlib
@contextlib.contextmanager
def cm(x):
    print("in", x)
    try: yield x
    finally: print("out", x)
with (cm(1) as a, cm(2) as b,):
    print(a + b)
# case: with-exit-order-on-enter-failure
class C:
    def __init__(s, n): s.n = n
    def __enter__(s):
        if s.n == 2: raise ValueError("enter")
        return s
    def __exit__(s, *a): print("exit", s.n, a[0].__name__)
try:
    with C(1), C(2): pass
except ValueError as e:
    print(e)
# case: with-missing-enter-and-exit
class A: pass
class B:
    def __enter__(self): pass
for k in (A, B):
    try:
        with k(): pass
    except (AttributeError, TypeError) as e:
        print(type(e).__name__, e)
# case: with-return-break-continue-and-swallow
class S:
    def __enter__(s): return s
    def __exit__(s, t, v, tb):
        print("x", t and t.__name__)
        return True
def f():
    for i in range(4):
        with S():
            if i == 0: continue
            if i == 1: raise KeyError(i)
            if i == 2: return "r"
    return "end"
f()
# case: with-target-attribute-and-subscript
class S:
    def __enter__(s): return 7
    def __exit__(s, *a): pass
class O: pass
o, d = O(), {}
with S() as o.x, S() as d["k"]: pass
(o.x, d)
# case: exit-raises-replaces-and-chains
class S:
    def __enter__(s): return s
    def __exit__(s, t, v, tb): raise KeyError("exit")
try:
    with S(): raise ValueError("body")
except KeyError as e:
    print(repr(e), repr(e.__context__))
# case: try-finally-return-overrides-exception
def f():
    try:
        1 / 0
    finally:
        return "swallowed"
f()
# case: try-finally-continue-in-loop
r = []
for i in range(3):
    try:
        if i == 1: raise ValueError
        r.append(i)
    except ValueError:
        continue
    finally:
        r.append(("f", i))
r
# case: try-finally-break-swallows
def f():
    for i in range(3):
        try:
            1 / 0
        finally:
            break
    return i
f()
# case: nested-finally-return-values
def f(log):
    try:
        try:
            return log.append("a") or 1
        finally:
            log.append("b")
    finally:
        log.append("c")
l = []
(f(l), l)
# case: except-variable-deleted-then-nameerror
e = 5
try: 1 / 0
except ZeroDivisionError as e: pass
e
# case: except-variable-deleted-inside
try: 1 / 0
except ZeroDivisionError as e: del e
print("ok")
# case: except-with-tuple-variable-and-call
errs = (KeyError, IndexError)
def kinds():
    print("evaluated")
    return errs
try: [][1]
except kinds() as x: print(type(x).__name__)
# case: except-non-exception-class
try: 1 / 0
except int: pass
# case: except-clause-raising-name-error
try: 1 / 0
except Unknown: pass
# case: raise-class-not-instance-with-args
class E(Exception):
    def __init__(self): super().__init__("made")
raise E
# case: raise-from-class
try:
    raise KeyError("a") from ValueError
except KeyError as e:
    print(repr(e.__cause__), e.__suppress_context__)
# case: raise-from-non-exception
raise KeyError("a") from 3
# case: raise-non-exception-object
raise "text"
# case: exception-context-chain-and-loop
def f():
    try:
        try: 1 / 0
        except ZeroDivisionError: raise KeyError(1)
    except KeyError: raise OSError(2)
try: f()
except OSError as e:
    c, out = e, []
    while c is not None:
        out.append(repr(c))
        c = c.__context__
out
# case: exception-with-str-raising
class E(Exception):
    def __str__(self): return "custom " + repr(self.args)
raise E(1, 2)
# case: exception-subclass-with-attributes-equality
class E(ValueError):
    code = 3
    def __init__(self, a, *, b=2):
        super().__init__(a)
        self.b = b
try: raise E("x", b=5)
except ValueError as e: r = (e.args, e.b, e.code, str(e), repr(e))
r
# case: stop-iteration-in-for-body-propagates
def f():
    for i in [1]:
        raise StopIteration(3)
try: f()
except StopIteration as e: print("stop", e.value)
# case: generator-throw-class-value
def g():
    try: yield 1
    except KeyError as e: yield repr(e)
i = g()
next(i)
i.throw(KeyError("x"))
# case: generator-close-with-return
def g():
    try: yield 1
    except GeneratorExit: return 5
i = g()
next(i)
i.close()
list(i)
# case: generator-in-finally-yield
def g():
    try: yield 1
    finally: yield 2
i = g()
(next(i), next(i))
# case: generator-yield-from-subgen-exception-and-value
def a():
    try:
        x = yield 1
        print("got", x)
    except ValueError as e:
        print("ve", e)
        return "ret"
def b():
    r = yield from a()
    yield r
i = b()
(next(i), i.throw(ValueError("q")))
# case: generator-expression-late-binding
x = 1
g = (x + i for i in range(2))
x = 10
list(g)
# case: generator-in-class-body
class A:
    xs = [1, 2]
    g = (i * 2 for i in xs)
list(A.g)
# case: generator-send-non-none-first
def g(): yield
g().send(1)
# case: generator-return-none-and-values-in-for-else
def g():
    yield 1
    return 9
for x in g(): print(x)
else: print("else")
# case: recursive-generator-with-yield-from
def perms(s):
    if len(s) < 2: yield s; return
    for i, c in enumerate(s):
        for p in perms(s[:i] + s[i + 1:]): yield c + p
list(perms("abc"))
# case: lambda-forms
f = lambda a, /, b=2, *c, d, e=5, **k: (a, b, c, d, e, k)
(f(1, d=4), f(1, 2, 3, d=4, z=1), (lambda: (yield))().__class__.__name__, (lambda *, a: a)(a=1), (lambda *a: a)(1))
# case: function-signature-errors
def f(a, /, b, *, c, d=1): pass
for n, call in enumerate([lambda: f(), lambda: f(1), lambda: f(1, 2), lambda: f(1, 2, 3, c=1), lambda: f(a=1, b=2, c=3), lambda: f(1, 2, c=3, e=4), lambda: f(1, b=2, c=1) , lambda: f(1, 2, b=3, c=1)]):
    try:
        call()
        print(n, "ok")
    except TypeError as e:
        print(n, e)
# case: method-signature-errors
class A:
    def f(self, x): pass
    def g(): pass
    @staticmethod
    def s(x): pass
for c in (lambda: A().f(), lambda: A().g(), lambda: A.f(1), lambda: A.s(), lambda: A(3), lambda: A().f(1, 2)):
    try: c()
    except TypeError as e: print(e)
# case: defaults-evaluated-once-and-order
def f(a=print("a"), b=print("b"), *, c=print("c")): return a
f()
# case: function-attributes
def f(a: int, b: "str" = "x", *, c: float = 1.0) -> list:
    "doc"
f.tag = 3
(f.__name__, f.__qualname__, f.__doc__, f.__defaults__, f.__kwdefaults__, f.tag, f.__module__)
# case: nested-qualname
class A:
    class B:
        def f(self):
            def g(): pass
            return g.__qualname__, (lambda: 0).__qualname__
(A.B().f(), A.B.__qualname__, A.B.f.__qualname__)
# case: decorator-expressions
# since: 3.9 any expression
d = {"k": [lambda f: (f.__name__, 1)]}
@d["k"][0]
def g(): pass
@(lambda c: c.__name__)
class H: pass
(g, H)
# case: decorator-order-and-evaluation
def d(n):
    print("eval", n)
    def w(f):
        print("apply", n)
        return f
    return w
@d(1)
@d(2)
def f(x=print("default")): pass
# case: class-decorator-stack-and-keyword-order
def d(n):
    print("d", n)
    return lambda c: c
def base():
    print("base")
    return object
@d(1)
class A(base(), metaclass=(print("meta"), type)[1]):
    print("body")
# case: conditional-expression-nesting
[("a" if x else "b") if y else ("c" if x else "d") for x in (0, 1) for y in (0, 1)]
# case: boolean-operators-return-operands
([] or {} or 0, 1 and "a" and [], not [], None or "d", 0 and 1 / 0, 1 or 1 / 0)
# case: chained-assignment-with-unpacking-and-attribute
class O: pass
o = O()
a = (b, c) = o.x = [d, e] = (1, 2)
(a, b, c, o.x, d, e)
# case: augmented-all-operators
x = 7
x += 3; x -= 1; x *= 2; x //= 4; x **= 3; x %= 50; x <<= 2; x >>= 1; x |= 8; x &= 0xFF; x ^= 5
y = 7.0
y /= 2
(x, y)
# case: augmented-on-call-result-evaluates-once
class O: v = 1
o = O()
def get():
    print("get")
    return o
get().v += 2
d = {"k": [1]}
def key():
    print("key")
    return "k"
d[key()] += [2]
(o.v, d)
# case: augmented-undefined
undefined += 1
# case: augmented-undefined-local
x = 1
def f():
    x += 1
f()
# case: del-forms-all
class O: pass
o = O(); o.a = 1; l = [1, 2, 3, 4]; d = {"a": {"b": 1}}; x = y = 1
del o.a, l[0], l[1:], d["a"]["b"], (x, [y])
(vars(o), l, d)
# case: del-local-then-use
def f():
    x = 1
    del x
    return x
f()
# case: assert-message-forms
try: assert 0, (1, 2)
except AssertionError as e: print(e.args)
try: assert []
except AssertionError as e: print(repr(e))
assert (1 == 2), f"{1 + 1} is not"
# case: global-and-function-attribute-counter
count = 0
def f():
    global count
    count += 1
    f.n = getattr(f, "n", 0) + 1
    return count, f.n
[f(), f()]
# case: global-declared-in-nested-and-for
def f():
    def g():
        global gi
        for gi in range(3): pass
    g()
f()
gi
# case: global-import-class-def-with-except
def f():
    global math, K, fn, wv, ex
    import math
    class K: pass
    def fn(): return 1
    try: 1 / 0
    except ZeroDivisionError as ex: pass
f()
try: ex
except NameError as e: print(e)
(math.floor(2.5), K.__qualname__, fn.__qualname__, fn())
# case: comprehension-scope-in-class-with-nested-function
class A:
    n = 3
    f = [lambda: n for _ in range(1)]
try: A.f[0]()
except NameError as e: print(e)
# case: comprehension-unpack-errors-inside
[a for a, b in [(1, 2, 3)]]
# case: comprehension-conditional-chains
[(x, y, z) for x in range(4) if x % 2 if x > 0 for y in range(x) if y for z in (y, x) if z > 1]
# case: dict-comprehension-duplicate-keys-and-order
def t(x):
    print(x, end=" ")
    return x
{t(k % 2): t(k) for k in range(3)}
# case: set-comprehension-of-unhashable
{x for x in [[1]]}
# case: sum-any-all-short-circuit
def t(x):
    print(x, end=" ")
    return x
(any(t(x) for x in [0, 1, 2]), all(t(x) for x in [1, 0, 2]))
# case: slicing-forms
l = list(range(10))
l[::2] = "abcde"
l[1:1] = [0, 0]
del l[-3:]
l[2:4] *= 2
(l, l[::-1], "abc"[-1::-1], l[slice(1, 3)], l[:], (1, 2, 3)[-2:])
# case: extended-slice-size-error
l = [1, 2, 3, 4]
l[::2] = [1]
# case: slice-with-custom-getitem
class S:
    def __getitem__(self, k): return k
(S()[1:2], S()[1:2, ::3], S()[...], S()[:, None], S()[()], S()["a":"b":"c"])
# case: ellipsis-and-notimplemented
(..., Ellipsis is ..., NotImplemented is NotImplemented, type(...).__name__)
# case: integer-literals-and-underscores
(0x_ff, 0b1010, 0o17, 1_000, 1e3, 1_0.5e-1_0, 3j, .5, 10 ** -2, 0xFF.bit_length(), 5 .real)
# case: string-literal-kinds
(r"\n", b"\x00a", rb"\d", "a" "b" 'c', """m
l""", "\N{BULLET}", "\u00e9\x41\101", u"u", f"{1}" "x" f"{2}")
# case: bytes-nonascii-is-syntax-error
b"é"
# case: chained-string-methods-and-negative-index
" a,b ,c ".strip().split(",")[-2].strip().upper() * 2
# case: semicolons-and-oneliners
if 1: a = 1; b = 2
else: a = 3
for i in range(2): c = i; d = i
while 0: pass
else: e = 9
class Z: x = 1; y = 2
def f(): z = 1; return z
(a, b, c, d, e, Z.y, f())
# case: backslash-and-comments
x = 1 + \
    2  # comment
y = (1 +  # inner
     # another
     2)
(x, y)
# case: unicode-identifiers
été = 1
变量 = 2
ﬁ = 3
(été + 变量, fi)
# case: while-else-and-break-in-else
n = 0
while n < 3:
    n += 1
else:
    print("else", n)
for i in range(3):
    while True:
        if i == 1: break
        break
    else: print("never")
    if i == 1: break
else: print("never")
i
# case: for-over-mutating-list-and-dict
l = [1, 2, 3]
for x in l:
    if x < 3: l.append(x + 10)
    if len(l) > 6: break
d = {1: 1}
try:
    for k in d: d[k + 1] = 1
except RuntimeError as e: print(e)
l
# case: for-target-shadows-after-loop-empty
for q in []: pass
q
# case: class-annotations
class A:
    a: int
    b: list[int] = []
(A.__annotations__, hasattr(A, "a"))
# case: annotated-attribute-and-subscript
class O: pass
o = O(); d = {}
o.x: int = 1
d["k"]: str = "v"
o.y: int
(o.x, d, hasattr(o, "y"))
# case: local-annotation-not-evaluated
def f():
    x: undefined_thing = 3
    return x
f()
# case: print-errors
for k in ({"sep": 3}, {"end": 3}, {"bad": 1}):
    try: print("x", **k)
    except TypeError as e: print(e)
# case: iter-with-sentinel-and-zip-strict
it = iter([1, 2, 0, 3])
print(list(iter(lambda: next(it), 0)))
list(zip([1], [1, 2], strict=True))
# case: enumerate-zip-map-reversed-errors
for f in (lambda: enumerate(3), lambda: zip(1), lambda: list(map(1, [1])), lambda: reversed({1}), lambda: sorted([1, "a"]), lambda: max([]), lambda: min(), lambda: sum(["a"]), lambda: next(3), lambda: iter(3), lambda: len(3), lambda: abs("x"), lambda: ord("ab"), lambda: chr(-1), lambda: int("z", 36) + int("zz", 10), lambda: round("x"), lambda: divmod(1, 0), lambda: pow(2, -1, 4), lambda: bytes([300]), lambda: float("x"), lambda: complex("1+"), lambda: hash([]), lambda: setattr(3, "x", 1), lambda: getattr(3, "x"), lambda: isinstance(1, 1), lambda: issubclass(1, int), lambda: callable(), lambda: dict([1]), lambda: dict([(1, 2, 3)]), lambda: set(3), lambda: frozenset([[]]), lambda: slice(), lambda: range(1, 2, 0), lambda: bin(1.0), lambda: type("A", 3, {}), lambda: memoryview("x"), lambda: str(b"x", "bad"), lambda: bytearray("x"), lambda: format(3, "q"), lambda: vars(3), lambda: super().x, lambda: object(1), lambda: property(1, 2, 3, 4, 5), lambda: any(3)):
    try:
        print("ok", f())
    except Exception as e:
        print(type(e).__name__, e)
# case: builtins-as-values
fs = [len, abs, sorted, repr, str.upper, int, sum, max, min, list, tuple, set, dict, bool, ord]
(list(map(len, ["a", "bc"])), list(map(str.upper, "ab")), [f.__name__ for f in fs], sorted(["b", "A"], key=str.lower))
