# case: dunder-name-of-a-type
type(5).__name__, int.__name__, type([]).__name__
# case: dunder-doc-of-a-function
def f():
    """Says hello."""
f.__doc__, f.__name__, f.__qualname__
# case: own-class-with-many-dunders
class V:
    def __init__(self, x): self.x = x
    def __eq__(self, o): return self.x == o.x
    def __hash__(self): return hash(self.x)
    def __lt__(self, o): return self.x < o.x
    def __len__(self): return 3
    def __iter__(self): return iter((1, 2))
    def __contains__(self, k): return k == 1
    def __getitem__(self, i): return i
    def __call__(self): return "called"
    def __bool__(self): return True
    def __repr__(self): return f"V({self.x})"
    def __format__(self, s): return f"V<{s}>"
    def __enter__(self): return self
    def __exit__(self, *a): return False
    def __add__(self, o): return V(self.x + o.x)
    def __radd__(self, o): return self
    def __neg__(self): return V(-self.x)
    def __index__(self): return 1
v = V(1)
(v == V(1), v < V(2), len(v), list(v), 1 in v, v[5], v(), bool(v), v, f"{v:z}", v + v, sum([v, v]), -v, [1, 2][v])
# case: super-init-call
class A:
    def __init__(self): self.a = 1
class B(A):
    def __init__(self):
        super().__init__()
        A.__init__(self)
        self.b = 2
B().a + B().b
# case: explicit-dunder-method-calls
(5).__add__(3), [1, 2].__len__(), "a".__eq__("a"), {1: 2}.__contains__(1)
# case: private-attributes-of-own-class
class A:
    def __init__(self): self.__secret = 5; self._hint = 6
    def get(self): return self.__secret + self._hint
A().get()
# case: single-underscore-names
_ = 5
_tmp = [_ for _ in range(3)]
def _helper(_x): return _x
for _ in range(2): pass
(_tmp, _helper(1), _)
# case: names-containing-forbidden-words
globals_count = 1; my_import = 2; evaluate = 3; executive = 4; opened = 5; compiler = 6; subclasses = 7; code = 8; frame = 9; os = 10; sys = 11
globals_count + my_import + evaluate + executive + opened + compiler + subclasses + code + frame + os + sys
# case: own-attributes-with-sensitive-names
class Job:
    def __init__(self): self.code = 1; self.frame = 2; self.globals = 3; self.system = 4; self.modules = []; self.environ = {}; self.loader = 5; self.obj = 6; self.query = "q"; self.core = 7
j = Job()
(j.code, j.frame, j.globals, j.system, j.modules, j.environ, j.loader, j.obj, j.query, j.core)
# case: own-methods-with-sensitive-names
class Engine:
    def eval(self, x): return x + 1
    def exec(self, x): return x + 2
    def open(self): return "opened"
    def compile(self): return "compiled"
    def system(self): return "sys"
    def query(self, q): return q
    def dump(self): return "d"
    def load(self): return "l"
    def fork(self): return "f"
    def format(self, *a): return a
e = Engine()
(e.eval(1), e.exec(1), e.open(), e.compile(), e.system(), e.query("x"), e.dump(), e.load(), e.fork(), e.format(1))
# case: strings-with-forbidden-text
s = "__import__('os').system('ls') __globals__ __subclasses__ eval(exec)"
(len(s), "__globals__" in s, s.split("(")[0], s.count("__"))
# case: dictionary-keys-with-dunder-text
d = {"__class__": 1, "__globals__": 2, "os": 3}
(d["__class__"], d.get("__globals__"), sorted(d))
# case: format-with-dunder-text-as-argument
("{} {x}".format("__globals__", x="__code__"), "{0[__class__]}".format({"__class__": "plain key"}))
# case: format-of-plain-attributes
class P:
    name = "n"
    pos = (1, 2)
("{0.name} {0.pos[1]} {p.name!r:>5}".format(P(), p=P()), "{:>{}}".format("a", 4))
# case: format-literal-braces-and-dots
("{{0.__class__}}".format(), "{:.2f}".format(1.234), "a.b.{}".format(1))
# case: getattr-by-computed-plain-name
class C: field_1 = "one"; field_2 = "two"
[getattr(C, "field_" + str(i), "none") for i in range(1, 4)]
# case: setattr-loop-on-own-object
class C: pass
c = C()
for k, v in {"a": 1, "b": 2}.items():
    setattr(c, k, v)
(c.a, c.b, hasattr(c, "z"), vars(c))
# case: hasattr-for-dunder-protocols
(hasattr([], "__iter__"), hasattr(5, "__iter__"), hasattr("", "__len__"), hasattr(len, "__call__"))
# case: isinstance-and-type-dispatch
def kind(x):
    if isinstance(x, bool): return "bool"
    if isinstance(x, (int, float)): return "number"
    if type(x) is str: return "str"
    return type(x).__name__
[kind(v) for v in (True, 1, 2.5, "s", [], None)]
# case: exception-introspection
try:
    {}["k"]
except KeyError as e:
    r = (type(e).__name__, e.args, str(e), repr(e), e.__cause__, e.__context__)
r
# case: exception-class-name-in-message
try:
    int("z")
except Exception as e:
    print(f"{type(e).__name__}: {e}")
# case: catching-everything-that-is-ordinary
out = []
for f in (lambda: 1 / 0, lambda: [][1], lambda: {}[0], lambda: None.x, lambda: int("q")):
    try:
        f()
    except Exception as e:
        out.append(type(e).__name__)
out
# case: bare-except-and-finally
try:
    1 / 0
except:
    r = "bare"
finally:
    r += " finally"
r
# case: custom-context-manager-receives-exception
class T:
    def __enter__(self): return self
    def __exit__(self, kind, value, tb):
        self.seen = (kind.__name__, str(value), tb is not None)
        return True
with T() as t:
    1 / 0
t.seen
# case: metaclass-registry
class Meta(type):
    seen = []
    def __new__(m, n, b, ns):
        m.seen.append(n)
        return super().__new__(m, n, b, ns)
class A(metaclass=Meta): pass
class B(A): pass
Meta.seen
# case: class-factory-by-type
P = type("P", (), {"x": 1, "get": lambda self: self.x})
P().get()
# case: decorator-keeps-metadata
import functools
def d(f):
    @functools.wraps(f)
    def w(*a, **k): return f(*a, **k)
    return w
@d
def g(x):
    "doc of g"
    return x
(g(1), g.__name__, g.__doc__)
# case: function-attributes-as-counters
def f():
    f.calls += 1
    return f.calls
f.calls = 0
f(); f()
# case: cache-on-function
def fib(n, memo={}):
    if n < 2: return n
    if n not in memo: memo[n] = fib(n - 1) + fib(n - 2)
    return memo[n]
fib(60)
# case: large-but-reasonable-power
(2 ** 1000 % 1007, pow(7, 10 ** 6, 1000003), 10 ** 50, 0.5 ** 100, (-3) ** 5)
# case: large-but-reasonable-repetition
(len("ab" * 50000), len([0] * 100000), sum([1] * 1000), "-" * 40)
# case: large-but-reasonable-shift
((1 << 1000) >> 990, 1 << 64, -1 << 3)
# case: long-finite-loop
t = 0
for i in range(100000):
    t += i & 3
t
# case: while-of-a-hundred-thousand
n = 0
while n < 100000:
    n += 1
n
# case: recursion-to-three-hundred
def f(n): return 0 if n == 0 else 1 + f(n - 1)
f(300)
# case: finite-iterators-from-endless-ones
from itertools import count, cycle, islice, takewhile, repeat
(list(islice(count(3), 4)), list(islice(cycle("ab"), 5)), list(takewhile(lambda x: x < 4, count())), list(repeat("x", 3)), list(zip("abc", count(1))), next(c for c in count() if c > 5))
# case: sum-and-max-over-large-range
(sum(range(100000)), max(range(50000)), len(range(10 ** 12)), 10 ** 9 in range(10 ** 12), list(range(5)))
# case: any-over-generator-stops
any(x > 10 for x in range(10 ** 6)), all(x < 5 for x in range(10 ** 6)), next((x for x in range(10 ** 6) if x * x > 50), None)
# case: factorial-and-combinations
import math
(math.factorial(50), math.comb(50, 25), math.perm(10, 3), math.prod(range(1, 20)))
# case: padding-and-width
("x".ljust(60) + "|", "5".zfill(8), f"{3.14159:>20.3f}", "title".center(30, "="))
# case: sleep-briefly
import time
time.sleep(0.01)
"slept"
# case: random-use-of-every-day
import random
random.seed(3)
(random.randint(1, 6), random.choice("abc"), random.sample(range(50), 3), round(random.random(), 6), random.shuffle([1, 2]))
# case: regular-expressions-of-every-day
import re
(re.findall(r"[\w.]+@[\w.]+", "a@b.c, x.y@z.org"), re.sub(r"\s+", " ", "a  b\n c"), bool(re.match(r"^(\d{3})-(\d{4})$", "555-1234")), re.split(r"\W+", "a,b;c"))
# case: module-aliases-and-nested-attributes
import datetime as dt
import collections.abc
import math as m
(dt.datetime(2024, 1, 2).date(), dt.timedelta(days=1).total_seconds(), m.pi > 3, isinstance([], collections.abc.Sequence))
# case: module-as-value
import math, json
mods = {"m": math, "j": json}
def use(mod): return mod.sqrt(16)
(use(mods["m"]), mods["j"].dumps([1]), getattr(math, "floor")(2.5), math.__name__)
# case: module-function-as-value
import math, operator
fs = [math.sqrt, math.floor, operator.neg, abs]
[f(4) for f in fs]
# case: subclass-of-library-classes
from collections import OrderedDict, defaultdict, Counter, UserDict
class D(UserDict):
    def __setitem__(self, k, v): super().__setitem__(k.lower(), v)
class C(Counter):
    def top(self): return self.most_common(1)[0][0]
d = D(); d["ABC"] = 1
(d["abc"], C("aab").top())
# case: dataclass-with-everything
from dataclasses import dataclass, field, asdict
@dataclass(order=True)
class P:
    x: int
    tags: list = field(default_factory=list, compare=False)
    def __post_init__(self): self.y = self.x * 2
(P(1) < P(2), asdict(P(1, ["t"])), P(3).y)
# case: enum-internals-that-are-public
from enum import Enum
class E(Enum):
    A = 1
    B = 2
    @classmethod
    def _missing_(cls, v): return cls.A
(E(9), E.B._value_, E.B.name, list(E.__members__))
# case: namedtuple-underscore-interface
from collections import namedtuple
P = namedtuple("P", "x y")
(P(1, 2)._asdict(), P._fields, P(1, 2)._replace(x=5), P._make([3, 4]))
# case: match-on-own-classes
class Circle:
    __match_args__ = ("r",)
    def __init__(self, r): self.r = r
match Circle(3):
    case Circle(r): print(r)
match {"a": [1, {"b": 2}]}:
    case {"a": [1, {"b": x}]}: print(x)
# case: operator-helpers
from operator import itemgetter, attrgetter, methodcaller
class P:
    def __init__(self, n): self.n = n
    def up(self): return self.n.upper()
ps = [P("b"), P("a")]
([p.n for p in sorted(ps, key=attrgetter("n"))], list(map(itemgetter(1), ["ab", "cd"])), list(map(methodcaller("up"), ps)))
# case: copy-of-own-objects
import copy
class N:
    def __init__(self): self.v = [1]
a = N()
b = copy.deepcopy(a)
c = copy.copy(a)
b.v.append(2)
(a.v, b.v, c.v is a.v)
# case: string-template-and-capwords
import string
(string.Template("$x-$y").substitute(x=1, y=2), string.capwords("a b"))
# case: print-to-own-writer
class W:
    def __init__(self): self.t = ""
    def write(self, s): self.t += s
w = W()
print("a", 1, sep="-", file=w)
w.t
# case: generator-protocol-by-hand
def g():
    x = yield 1
    yield x
i = g()
(next(i), i.send("v"), i.close())
# case: async-of-every-day
import asyncio
async def f(n):
    await asyncio.sleep(0)
    return n
async def main(): return await asyncio.gather(*(f(i) for i in range(3)))
asyncio.run(main())
# case: json-hooks
import json
json.loads('{"a": 1}', object_hook=lambda d: list(d.items())), json.dumps({"s": {1}}, default=list)
# case: iterate-over-dir-of-own-object
class C:
    def __init__(self): self.b = 2; self.a = 1
    def m(self): pass
[n for n in dir(C()) if not n.startswith("__")]
# case: id-and-hash
a = object()
(id(a) == id(a), hash("x") == hash("x"), len({id(a)}))
# case: rebinding-builtin-names
list = [1, 2]
str = "text"
id = 7
(list, str, id)
# case: class-attribute-of-own-class-written
class C: n = 0
def f():
    C.n += 1
f(); f()
C.label = "x"
(C.n, C.label)
# case: lambdas-in-dicts-and-closures
ops = {"+": lambda a, b: a + b, "max": max, "pow": pow}
(ops["+"](1, 2), ops["max"](3, 4), ops["pow"](2, 5))
# case: deep-but-finite-nesting
x = []
for _ in range(50): x = [x]
len(repr(x))
# case: byte-work
b = bytes(range(5)) + bytearray(3)
(b.hex(), len(b), list(b[:3]), int.from_bytes(b[1:3], "big"), (1000).to_bytes(2, "big"))
# case: numpy-of-every-day
import numpy as np
a = np.arange(12).reshape(3, 4)
(a.shape, a.sum(axis=0).tolist(), np.ones((2, 2)).tolist(), np.linalg.det(np.eye(3)).item(), np.random.default_rng(1).integers(0, 5, 3).tolist(), np.mean(a).item(), a.dtype.name, a.T[0].tolist(), np.vectorize(lambda v: v * 2)([1, 2]).tolist(), np.polyfit([0, 1, 2], [1, 3, 5], 1).round(6).tolist())
# case: pandas-of-every-day
import pandas as pd
df = pd.DataFrame({"c": ["a", "b", "a"], "v": [1, 2, 3]})
df = df.assign(w=df.v * 2)
(df.groupby("c").v.sum().to_dict(), df.loc[df.v.idxmax(), "c"], df.merge(df, on="c").shape, df.to_dict("records")[0], df.v.map(lambda x: x + 1).tolist(), pd.to_datetime("2024-01-02").year, df.pivot_table(index="c", values="v").v.to_dict(), df.to_csv(index=False), df.to_json())
# case: pandas-query-of-columns
import pandas as pd
df = pd.DataFrame({"v": [1, 2, 3], "w": [2, 4, 6]})
(df.query("v > 1 and w < 6").shape, df.eval("v + w").tolist())
