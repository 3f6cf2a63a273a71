# case: function-dict-with-wraps
import functools
def d(f):
    @functools.wraps(f)
    def w(*a): return f(*a)
    return w
@d
def g(x):
    "doc g"
    return x
g.k = 2
(g.__name__, g.__doc__, g.__wrapped__(3), vars(g).keys() - {"__wrapped__"})
# case: decorator-returning-int-on-def-and-class
@lambda f: 5
def a(): pass
@lambda c: None
class B: pass
(a, B)
# case: def-decorated-with-property-at-module
@property
def p(self): return 1
type(p).__name__
# case: function-named-like-builtin-and-restored
def len(x): return "mine"
a = len([1])
del len
(a, len([1]))
# case: builtin-names-rebound-in-every-way
def f(list, *, dict=None): return list, dict
for str in [1]: pass
import math as sum
with open if False else __import__ if False else None or (lambda: None) and type("C", (), {"__enter__": lambda s: 3, "__exit__": lambda s, *a: None})() as abs: pass
try: 1 / 0
except ZeroDivisionError as min: pass
(max := 4)
match 5:
    case print_: pass
(f(1), str, sum.floor(1.5), abs, max)
# case: range-rebound
def range(n): return ["mine", n]
[x for x in range(3)]
# case: range-as-parameter-and-attribute
def f(range): return [i for i in range]
class A:
    def range(self): return [1]
    def g(self):
        for i in self.range(): return i
(f([1, 2]), A().g())
# case: range-local-variable
def f():
    range = [5, 6]
    for i in range: print(i)
    r = 0
    for i in enumerate(range): r += i[1]
    return r
f()
# case: enumerate-and-zip-rebound
zip = lambda *a: "z"
enumerate = lambda x: [("e", x)]
(zip(1), [i for i in enumerate(3)])
# case: int-and-str-rebound-in-function
def f(int, str): return int + str, [int for int in str]
f("a", "b")
# case: type-rebound
type = lambda x: "T"
(type(3), type("x"))
# case: min-max-rebound-with-key
def min(*a, key=None): return ("mymin", a, key)
min(1, 2, key=3)
# case: print-rebound
def print(*a): return ("p", a)
print(1, 2)
# case: super-like-names-in-class
class A:
    def __init__(self, type, id): self.type, self.id = type, id
    def int(self): return self.type
    def sum(self, *a): return a
    def range(self, n): return n
    def sort(self, key=None): return key
    def join(self, *a): return ("join", a)
    def update(self, **k): return k
    def format(self, *a): return ("fmt", a)
    def replace(self): return "rep"
    def extend(self, *a, **k): return (a, k)
a = A(1, 2)
(a.int(), a.sum(1, 2), a.range(9), a.sort(key=4), a.join("x"), a.update(b=1), a.format(3), a.replace(), a.extend(1, k=2), a.id)
# case: guarded-attribute-names-on-own-objects
class O:
    def __init__(self):
        self.modules, self.system, self.loader, self.obj, self.lib, self.core = range(6)
        self.query = lambda s: "q" + s
        self.register = self.dump = self.eval = lambda *a: a
    def run_forever(self): return "rf"
    def mro(self): return "m"
    @property
    def environ(self): return "env"
    def format_map(self, x): return x
o = O()
(o.modules, o.system, o.loader, o.obj, o.lib, o.core, o.query("x"), o.register(1), o.dump(2), o.eval("3"), o.run_forever(), o.mro(), o.environ, o.format_map(4))
# case: guarded-attribute-names-written-and-deleted
class O: pass
o = O()
o.system = 1
o.f_globals = 2
o.gi_frame = [3]
o.gi_frame += [4]
setattr(o, "modules", 5)
del o.system
(vars(o), getattr(o, "f_globals"), getattr(o, "gone", "d"), hasattr(o, "system"))
# case: sized-methods-bound
s = "a-b"
j, c, r = "-".join, s.center, s.replace
u = {}.update
l = []
e = l.extend
e([1, 2])
(j(["x", "y"]), c(7, "*"), r("a", "b"), u(a=1), l, list(map("".join, [["a"], ["b"]])), sorted([[2], [1]], key=lambda x: x))
# case: unbound-str-and-list-methods
(str.join("-", ["a", "b"]), list.sort([2, 1]), str.replace("aa", "a", "b", 1), dict.update({}, {1: 2}), str.center("a", 3), int.to_bytes(5, 2, "big"), int.from_bytes(b"\x01\x00", "big"), str.zfill("7", 3), bytes.join(b"-", [b"a", b"b"]), str.format("{}-{a}", 1, a=2), str.translate("ab", {97: "x"}))
# case: private-methods-mangled-across-classes
class A:
    def __init__(self): self.__x = 1; self._y = 2
    def __h(self): return self.__x
    def h(self): return self.__h()
    def cmp(self, o): return self.__x == o.__x
class B(A):
    def __init__(self): super().__init__(); self.__x = 5
    def __h(self): return "B"
b = B()
(b.h(), b._A__x, b._B__x, b._A__h(), sorted(vars(b)), A().cmp(b))
# case: private-missing-attribute-message
class A:
    def f(self): return self.__nope
A().f()
# case: private-names-in-functions-of-class
class A:
    def f(self):
        __loc = 3
        def __inner(__p): return __p + __loc
        return __inner(1), [__q for __q in (1, 2)]
A().f()
# case: private-class-name-with-underscores
class __A:
    def __init__(self): self.__v = 1
    def __get(self): return self.__v
    def g(self): return self.__get()
(__A().g(), __A()._A__v)
# case: private-keyword-argument-and-global
class A:
    def f(self, *, __k=1): return __k
    def g(self): return self.f(__k=5)
A().g()
# case: private-import-in-class
class A:
    import math as __m
    def f(self): return self.__m.floor(2.5)
A().f()
# case: underscore-variables
_ = 3
_x, __y = 1, 2
def _f(_a): return _a + _x
for _ in range(2): pass
class _C:
    _z = 4
    __slots__ = ()
(_, _x, __y, _f(1), _C._z)
# case: exception-in-property-of-own-getattr
class A:
    def __getattr__(self, n):
        if n == "a": return 1
        raise AttributeError(f"no {n} here")
(A().a, getattr(A(), "b", 2), hasattr(A(), "c"), A().d)
# case: attribute-error-name
class A: pass
a = A()
try: a.missing
except AttributeError as e: print(e.name)
try: undefined_x
except NameError as e: print(e.name)
try: import nothing_here_x
except ModuleNotFoundError: print("no module")
# case: key-error-message-and-args
try: {}[(1, "a")]
except KeyError as e: print(e, e.args, repr(e))
{"a": 1}["b"]
# case: unicode-error-attributes
try: b"\xff".decode()
except UnicodeDecodeError as e: print(e.reason, e.start, e.end, e.encoding, e)
"é".encode("ascii")
# case: os-error-forms
try: raise OSError(2, "no such", "f")
except FileNotFoundError as e: print(e.errno, e.strerror, e.filename, e)
raise OSError(13, "denied")
# case: system-exit-in-function-caught
def f(): raise SystemExit(3)
try: f()
except SystemExit as e: print(e.code)
# case: keyboard-interrupt-by-program-caught
try: raise KeyboardInterrupt("k")
except BaseException as e: print(type(e).__name__, e)
# case: nested-functions-with-same-names
def f(x):
    def f(y):
        def f(z): return x, y, z
        return f
    return f
f(1)(2)(3)
# case: closure-cell-in-class-in-loop
cs = []
for i in range(3):
    class C:
        v = i
        def get(self): return i, self.v
    cs.append(C)
[c().get() for c in cs]
# case: closures-in-comprehension-in-function
def f(): return [lambda: i for i in range(3)], [lambda i=i: i for i in range(3)]
a, b = f()
([x() for x in a], [x() for x in b])
# case: mutual-recursion-and-forward-reference
def even(n): return n == 0 or odd(n - 1)
def odd(n): return n != 0 and even(n - 1)
class A:
    def b(self): return B()
class B: pass
(even(10), type(A().b()).__name__)
# case: recursion-in-lambda-and-y-combinator
fact = lambda n: 1 if n < 2 else n * fact(n - 1)
Y = lambda f: (lambda x: x(x))(lambda x: f(lambda *a: x(x)(*a)))
(fact(20), Y(lambda s: lambda n: 1 if n < 2 else n * s(n - 1))(5))
# case: object-identity-caches
a = 256; b = 256; x = "ab"; y = "a" + "b"
(a is b, x is y, () is (), None is None, [] is [], id(a) == id(b))
# case: int-str-limits-and-float-repr
(repr(0.1 + 0.2), 1e16, 1e15, float("inf"), -0.0, 1e-5, 123456789012345678, round(2.5), round(-1.5), round(1234.5, -2), round(2.675, 2), int("0x1f", 16), int(" 12 "), float("1_0.5"))
# case: integer-division-negative
(-7 // 2, -7 % 3, 7 % -3, divmod(-7, 2), -7.5 // 2, 2 ** -1, (-8) ** (1 / 3), 0 ** 0, 5 // 0.3)
# case: zero-division-messages
for f in (lambda: 1 / 0, lambda: 1 // 0, lambda: 1 % 0, lambda: 1.0 / 0, lambda: 1.0 // 0, lambda: 1.0 % 0, lambda: 0 ** -1, lambda: 0.0 ** -1, lambda: 1j / 0, lambda: divmod(1.0, 0)):
    try: f()
    except ZeroDivisionError as e: print(e)
# case: shift-and-bit-errors
for f in (lambda: 1 << -1, lambda: 1 >> -1, lambda: 1.0 << 1, lambda: "a" & 1, lambda: ~1.5, lambda: -"a", lambda: +[], lambda: [] + (), lambda: "a" * "b", lambda: [1] * 1.5, lambda: {} | [], lambda: 1 @ 2, lambda: "a" % 1, lambda: "%d" % "x", lambda: "%s %s" % 1, lambda: "%(a)s" % 3, lambda: "%q" % 1, lambda: b"%d" % "x"):
    try: f()
    except Exception as e: print(type(e).__name__, e)
# case: percent-format-forms
("%s|%r|%5d|%-5d|%05.1f|%x|%o|%e|%g|%c|%%|%(k)s" .replace("%(k)s", "") % ("a", "b", 3, 4, 2.55, 255, 8, 12345.678, 0.0001, "z"), "%(k)s-%(n)03d" % {"k": "v", "n": 7}, "%*d" % (5, 3), "%.*f" % (2, 1.239), b"%s %d" % (b"x", 3))
# case: percent-inplace
s = "%s-%s"
s %= (1, 2)
s
# case: format-spec-nested-and-dynamic
w, p = 8, 3
(f"{3.14159:{w}.{p}f}", f"{'x':{'*'}^{w}}", f"{5:+}", f"{1234567:,}", f"{255:#x}", f"{0.5:%}", "{:>{w}}".format("a", w=5), "{0[1]}{1.real}{a[k]}".format([1, 2], 3, a={"k": 4}), f"{w!r:>4}", f"{w=}", f"{w = !s:>4}", f"{{}}{w}}}" if False else "")
# case: fstring-same-quotes
# since: 3.12 PEP 701
d = {"k": [1]}
f"{d["k"][0]} {"a" + f"{"b"}"} {"\n".join(["x", "y"])} {[
  i for i in range(2)  # comment
]}"
# case: fstring-lambda-and-yield-and-await
def g():
    x = f"{(yield 1)}-{(lambda q: q * 2)(3)}"
    yield x
i = g()
(next(i), i.send("s"))
# case: fstring-format-error
f"{'a':d}"
# case: fstring-debug-expressions
x = [1, 2]
(f"{x[0] + 1=}", f"{x!s=}" if False else "", f"{ len(x) = :03d}")
# case: str-methods-errors
for f in (lambda: "a".join([1]), lambda: "a".index("b"), lambda: "a".center(3, "xx"), lambda: "a".encode("nope"), lambda: "{".format(), lambda: "{0}{}".format(1), lambda: "{}".format(), lambda: "{a}".format(), lambda: "{0.x}".format(1), lambda: "{:d}".format("a"), lambda: "a".split(""), lambda: "a".replace(1, 2), lambda: "a".zfill("x"), lambda: "abc"[5], lambda: "abc"["a"], lambda: "a" + 1, lambda: 1 + "a", lambda: "a" < 1, lambda: "a".startswith(1)):
    try: print(f())
    except Exception as e: print(type(e).__name__, e)
# case: list-method-errors
for f in (lambda: [].pop(), lambda: [1].remove(2), lambda: [1].index(3), lambda: [1, "a"].sort(), lambda: [].extend(3), lambda: [][0], lambda: [1][1.0], lambda: [1].insert("a", 1), lambda: [] < 3, lambda: [3] * "a", lambda: [1].append(), lambda: (1,).count(), lambda: {}.popitem(), lambda: {}.pop("k"), lambda: {}.update(3), lambda: {}.update([1]), lambda: set().pop(), lambda: {1}.remove(2), lambda: {1} + {2}, lambda: {1} | [2], lambda: {[]: 1}, lambda: frozenset().add(1), lambda: [].sort(key=3), lambda: [1].sort(3), lambda: sorted(), lambda: [3, 1].sort(key=lambda: 1)):
    try: print(f())
    except Exception as e: print(type(e).__name__, e)
# case: sort-stability-and-keys
l = [("b", 2), ("a", 1), ("b", 1), ("a", 2)]
l.sort(key=lambda t: t[0], reverse=True)
(l, sorted(l, key=lambda t: (-t[1], t[0])), sorted("bAc", key=str.lower), sorted({3: 1, 1: 2}))
# case: sort-modified-during
l = [3, 1, 2]
def k(x):
    l.append(9)
    return x
try: l.sort(key=k)
except ValueError as e: print(e)
# case: dict-changes-and-order
d = {"a": 1, "b": 2}
d["a"] = 9; d.pop("b"); d["c"] = 3; d.setdefault("b", 4); d |= {"z": 0}
(d, d | {"a": 0}, list(reversed(d)), d.items() & {("a", 9)}, d.keys() - {"a"}, dict(zip("ab", [1, 2]), c=3), dict.fromkeys("ab", 0))
# case: star-args-generator-consumed-order
def g():
    for i in range(3):
        print("g", i)
        yield i
def f(*a, **k): return a, k
f(*g(), k=print("kw"))
# case: evaluation-order-everything
def t(x):
    print(x, end=" ")
    return x
d = {}
d[t(1)] = t(2)
t([3])[t(0)] = t(4)
{t(5): t(6), t(7): t(8)}
t(9) if t(10) else t(11)
(lambda a, *b, c: None)(t(12), *[t(13)], c=t(14))
t(15) < t(16) < t(17)
x = [t(18), t(19)][t(0)]
# case: module-docstring
"""the doc"""
x = 1
__doc__
# case: while-with-everything
out = []
i = 0
while i < 10:
    i += 1
    try:
        if i == 2: continue
        if i == 8: break
        while True:
            j = i
            if j % 3: break
            i += 1
        else: out.append("never")
    except ZeroDivisionError: pass
    else: out.append(i)
    finally: out.append(-i)
else: out.append("else")
out
# case: interleaved-generators-with-loops
def g(n):
    i = 0
    while True:
        for k in range(2):
            if (yield (n, i, k)): return n
        i += 1
a, b = g("a"), g("b")
r = [next(a), next(b), next(a), next(a), next(b)]
try: a.send(True)
except StopIteration as e: r.append(e.value)
(r, next(b))
# case: loop-variable-reassigned-inside
for i in range(3):
    i *= 10
    print(i)
for i in [1, 2]:
    for i in range(i): pass
    print(i)
# case: type-changes-under-a-name
x = 1
def f(): return x * 3
print(f())
x = "a"
print(f())
x = [1]
print(f(), x * 2)
def g(n):
    n = n + n
    return n * 2
(g(1), g("b"), g([1]), g((1,)), g(1.5))
# case: type-changes-in-a-loop
x = 1
for i in range(3):
    x = x * 2
    if i == 1: x = "s"
print(x)
y = 0
while y != "ab" * 4:
    y = y + 1 if y != 3 else "ab"
    if y == "ab": y *= 4
y
# case: type-changes-through-global-and-closure
n = 2
def set_(v):
    global n
    n = v
def use(): return n * 2, n + n
print(use()); set_("x"); print(use()); set_([0]); print(use())
def outer():
    k = 1
    def inner(v):
        nonlocal k
        k = v
    inner("q")
    return k * 3
outer()
# case: type-changes-through-unpacking-walrus-with-except
a = b = c = d = e = 1
a, (b, *c) = "x", ("y", 2, 3)
(d := "z")
try: raise ValueError("v")
except ValueError as e: e = str(e)
(a * 2, b * 2, c * 2, d * 2, e * 2)
# case: type-changes-through-for-import-def-class
v = w = x = y = 3
for v in ["s"]: pass
import math as w
def x(): return 1
class y:
    def __mul__(self, o): return ("m", o)
try: w * 2
except TypeError as e: print(e)
try: x * 2
except TypeError as e: print(e)
(v * 2, y() * 2)
# case: type-changes-through-match-and-del
k = 5
match ["s", 2]:
    case [k, n]: print(k * n)
del k
k = "t"
k * 2
# case: big-numbers-and-mixed-arithmetic
a = 10 ** 50
(a * a, a // 3, a % 7, -a >> 3, a << 10, a ** 2 > a, float(a), a * 1.5, divmod(a, 10 ** 20), pow(a, 3, 97), a & (a - 1), int(a ** 0.5) > 0)
# case: int-subclass-operators
class N(int):
    def __mul__(self, o): return N(int(self) + int(o))
    def __pow__(self, o, m=None): return "pow"
    def __lshift__(self, o): return "shift"
    def __add__(self, o): return "add"
n = N(4)
(n * 3, n ** 2, n << 1, n + 1, 3 * n, 2 ** n, 1 << n, sum([n, 1]), n.__mul__(2), -n)
# case: str-subclass-operators
class S(str):
    def __mul__(self, n): return "mul"
    def __mod__(self, o): return "mod"
    def __add__(self, o): return "add"
    def join(self, it): return "joined"
    def replace(self, *a): return "replaced"
    def format(self, *a, **k): return "formatted"
s = S("x{}")
(s * 2, s % 1, s + "y", s.join("ab"), s.replace("a", "b"), s.format(1), 2 * s, "-".join([s, s]), f"{s}", str.format(s, 5))
# case: list-subclass-operators
class L(list):
    def __mul__(self, n): return "mul"
    def __iadd__(self, o):
        self.append("iadd")
        return self
    def extend(self, o): self.append("ext")
    def sort(self, **k): self.append("sort")
    def __iter__(self): return iter("it")
l = L([1])
l += [2]
l.extend([3])
l.sort()
(l * 2, l, [*l], list(l), tuple(l), len(l), sorted(map(str, l)), l + [1])
# case: dict-subclass-hooks
class D(dict):
    def __getitem__(self, k): return ("got", k)
    def __setitem__(self, k, v): super().__setitem__(k, ("set", v))
    def update(self, *a, **k): return "upd"
    def get(self, k, d=None): return "get"
    def keys(self): return ["kk"]
d = D(a=1)
d["b"] = 2
(d["a"], d.update(c=1), d.get("z"), dict(d), {**d}, d == {"a": 1, "b": ("set", 2)}, list(d), "%(a)s" % d, "{a}".format_map(d), "{a}".format(**d))
# case: operators-on-none-and-bool
for f in (lambda: None * 2, lambda: None + 1, lambda: None ** 2, lambda: None << 1, lambda: None % 2, lambda: True * "ab", lambda: True + True, lambda: [1] * True, lambda: 2 ** True, lambda: True << 3, lambda: ~True, lambda: "%s" % None, lambda: 3 * None, lambda: {} * 2, lambda: {1} * 2, lambda: object() * 2, lambda: len * 2, lambda: 1j << 2, lambda: 2 ** "a", lambda: "a" ** 2, lambda: [1] << 2):
    try: print(f())
    except TypeError as e: print(e)
# case: augmented-operators-on-attributes-and-items-errors
class A: x = None
a, d, l = A(), {}, [1, "a"]
for c in (lambda: 0,):
    try: a.x += 1
    except TypeError as e: print(e)
    try: a.y += 1
    except AttributeError as e: print(e)
    try: d["k"] += 1
    except KeyError as e: print(e)
    try: l[5] *= 2
    except IndexError as e: print(e)
    try: l[1] -= 1
    except TypeError as e: print(e)
    try: l[0] **= "a"
    except TypeError as e: print(e)
    try: l[0] <<= "a"
    except TypeError as e: print(e)
    try: a.x @= 1
    except TypeError as e: print(e)
    try: l[0] %= None
    except TypeError as e: print(e)
    l[0] *= 3
    l[1] *= 3
l
# case: class-namespace-has-no-hidden-names
class A:
    x = [1] * 2
    x += [3]
    y = x[0] * 3 + 1
    z = "%s" % y
    d = {}
    d["k"] = 1
    d["k"] *= 4
    for i in range(3): y += i
    w = f"{x}{y}"
    while y > 2: y -= 1
    with_ = [a * 2 for a in x]
    match y:
        case int(): kind = "int"
    try: 1 / 0
    except ZeroDivisionError: caught = True
sorted(k for k in vars(A) if not k.startswith("__")), A.d
# case: hidden-names-are-not-in-dir
x = [1] * 2
def f(a): return a * 2 + a
f(3)
[n for n in dir() if not n.startswith("__")] == ["f", "x"] or dir()
# case: enumerate-over-large-nesting-closure
def outer(n):
    def mid():
        nonlocal n
        def inner():
            nonlocal n
            n *= 2
            n += 1
            return n
        return inner
    return mid()
f = outer(3)
(f(), f(), outer("a" if False else 2)())
# case: nonlocal-augmented-string-and-list
def f():
    s, l = "", []
    def g(x):
        nonlocal s, l
        s += x
        l += [x]
        s *= 2
        l *= 2
    g("a"); g("b")
    return s, l
f()
# case: comprehension-with-products-and-sums-of-unknowns
data = [(2, "ab"), (3, [1]), (2.5, 2), ("x", 3)]
[a * b for a, b in data], {str(a): a * 2 for a, _ in data}, sum(x * y for x, y in [(1, 2), (3, 4)]), [a + a for a, _ in data]
# case: lambda-with-products
ops = {"*": lambda a, b: a * b, "+": lambda a, b: a + b, "**": lambda a, b: a ** b, "%": lambda a, b: a % b, "<<": lambda a, b: a << b}
[ops["*"]("a", 2), ops["+"]([1], [2]), ops["**"](2, 10), ops["%"]("%s", 3), ops["<<"](1, 5), ops["%"](7, 3), ops["*"](1.5, 2)]
# case: yield-inside-products-and-sums
def g():
    x = (yield 1) * (yield 2) + (yield 3)
    yield x
    y = "%s" % (yield 4)
    yield y
i = g()
[next(i), i.send("a"), i.send(3), i.send("z"), next(i), i.send("q")]
# case: await-inside-products-and-sums
import asyncio
async def v(x):
    await asyncio.sleep(0)
    return x
async def main(): return (await v("a")) * (await v(3)) + (await v("b")), (await v(2)) ** (await v(3)), [await v(1)] * (await v(2))
asyncio.run(main())
# case: walrus-inside-products
(a := 3) * (b := "x") + (c := "y"), (a := a * 2) ** 2, a, b * (n := 2), n
# case: recursion-with-products-in-frames
def f(n): return [n] * n + f(n - 1) * 2 if n else []
f(3)
# case: exception-inside-operands-keeps-order
def t(x):
    print(x)
    if x == 3: raise KeyError(x)
    return x
try: t(1) * t(2) + t(3) * t(4)
except KeyError as e: print(repr(e))
# case: equality-of-chained-operators-with-side-effects
log = []
def t(x):
    log.append(x)
    return x
r = t(2) ** t(3) ** t(2) if t(0) else t(5) * t(6) % t(7) << t(1)
(r, log)
# case: try-star-else-finally-values
# since: 3.11 PEP 654
def f(k):
    try:
        if k: raise ExceptionGroup("g", [k])
    except* ValueError as e: r = "v"
    except* (KeyError, TypeError): r = "kt"
    else: r = "none"
    finally: print("f")
    return r
(f(None), f(ValueError()), f(TypeError()))
# case: exception-group-nested-uncaught-text
# since: 3.11 PEP 654
def f(): raise ExceptionGroup("outer", [ValueError("a"), ExceptionGroup("inner", [KeyError("b")])])
f()
# case: del-in-comprehension-scope-and-loop
d = {i: i * i for i in range(5)}
for k in [k for k in d if k % 2]: del d[k]
l = list(range(6))
while l: del l[-1:], l[:1]
(d, l)
# case: global-in-class-method-and-nested-def
class A:
    def f(self):
        global made
        made = [self.__class__.__name__]
        def g():
            global made
            made += ["g"]
        g()
        return made
(A().f(), made)
# case: keyword-names-soft-in-every-place
match, case, type, _ = 1, 2, 3, 4
def f(match, *, case=1, type=2): return match, case, type
class C:
    match = 1
    def case(self): return self.match
(match, case, type, _, f(match=5, case=6), C().case(), [match for match in (1,)], {"match": match}["match"], (lambda type: type)(9))
