# case: bytes-repr-hash-slice
(bytes([1, 2]), repr("x"), hash(5) == 5, slice(1, 2), frozenset([1]), bin(5), oct(8), hex(255), format(3.14159, ".2f"), ascii("é"))
# case: id-and-is
a = []
b = a
(id(a) == id(b), id(a) != id([1]))
# case: enumerate-zip-map
(list(enumerate("ab", 1)), list(zip("ab", [1, 2], [True, False])), list(map(int, "123")), list(map(max, [1, 5], [3, 2])))
# case: sorted-reversed-min-max
(sorted("bca", reverse=True), list(reversed(range(3))), min([3, 1], key=lambda x: -x), max(1, 2.5, True), min([], default="d"))
# case: sum-all-any
(sum(range(5)), sum([0.1] * 3), sum([[1], [2]], []), all([]), any([]), all([1, "a"]), any([0, ""]))
# case: isinstance-issubclass
(isinstance(1, int), isinstance("s", (int, str)), issubclass(bool, int), isinstance([], list | dict), isinstance(None, type(None)))
# case: conversions
(list("ab"), tuple([1]), set("aa"), dict([(1, 2)]), str(1.5), int("7"), float("2"), bool([]), complex("1+2j"), bytes("é", "utf8"), bytearray(2))
# case: chr-ord-abs-divmod-pow-round
(chr(97), ord("a"), abs(-1.5), divmod(-7, 2), pow(2, 10, 1000), round(3.14159, 3), round(-0.5), round(15, -1))
# case: iter-next-callable
it = iter([1])
(next(it), next(it, "end"), callable(len), callable(5), callable(lambda: 0))
# case: getattr-setattr-delattr
class C: x = 1
c = C()
setattr(c, "y", 2)
delattr(c, "y")
(getattr(c, "x"), getattr(c, "y", None), hasattr(c, "x"))
# case: filter-none-and-predicate
(list(filter(None, [0, 1, "", "a"])), list(filter(str.isdigit, "a1b2")), list(filter(lambda p: p[1], [("a", 0), ("b", 1)])))
# case: len-of-everything
[len(x) for x in ("abc", [1], (1, 2), {1: 2}, {1}, b"ab", range(10), frozenset(), bytearray(3))]
# case: range-forms
(list(range(3)), list(range(1, 4)), list(range(10, 0, -4)), len(range(0, 100, 7)), range(10)[-1])
# case: type-and-names
[type(x).__name__ for x in (1, 1.0, 1j, "s", b"", [], (), {}, set(), None, True, ..., range(1), lambda: 0, type, slice(1), len)]
# case: max-min-errors
out = []
for f in (lambda: max([]), lambda: min(), lambda: max(1), lambda: sum("a"), lambda: sorted(5), lambda: len(5), lambda: ord("ab"), lambda: chr("a"), lambda: int("a", 10), lambda: bytes([256]), lambda: hash([]), lambda: list(5), lambda: dict(5), lambda: set([[]]), lambda: divmod(1, "a"), lambda: pow(2, "a"), lambda: round("a"), lambda: enumerate(5), lambda: zip(5), lambda: reversed(5), lambda: map(len), lambda: filter(len), lambda: iter(5), lambda: next([]), lambda: getattr(5, "zz"), lambda: int(None), lambda: float("x"), lambda: complex("x"), lambda: slice(), lambda: range(), lambda: bin("a"), lambda: abs("a"), lambda: format(1, "z")):
    try:
        out.append(f())
    except Exception as e:
        out.append((type(e).__name__, str(e)))
out
# case: sorted-is-stable-with-multiple-keys
d = [{"n": "b", "a": 2}, {"n": "a", "a": 2}, {"n": "c", "a": 1}]
[x["n"] for x in sorted(sorted(d, key=lambda x: x["n"]), key=lambda x: x["a"], reverse=True)]
# case: int-with-bases
(int("0x1f", 16), int("z", 36), int("-0b101", 0), int("1_000"), int(b"12"), int("٣"))
# case: string-int-limits-of-format
(format(255, "#06x"), format(-5, "+d"), format("s", ">4"), format(True, "d"), format(1e10, ","), format(0.5, "%"), format(10, "c"))
# case: zip-unzip
a, b = zip(*[(1, "a"), (2, "b")])
(a, b)
# case: dict-from-comprehension-of-enumerate
dict(enumerate("abc")), dict(a=1) | dict(b=2), dict(sorted({"b": 1, "a": 2}.items()))
# case: nested-builtin-composition
max(sorted(set(map(len, filter(None, "a bb ccc  dddd".split(" "))))), key=lambda x: -abs(x - 3))
# case: slice-builtin-on-types
s = slice(None, None, -1)
([1, 2, 3][s], "abc"[s], (1, 2)[s], range(3)[s])
# case: object-and-type-objects
(type(object()).__name__, object is object, type(int) is type, str is type("x"), [int, str])
# case: print-to-string-of-types
print(int, str, list, None, ..., NotImplemented, type(None), len)
# case: bool-arithmetic-and-index
([10, 20][True], sum(x > 2 for x in range(5)), True + 1, ["no", "yes"][3 > 2])
# case: math-module-tour
import math
(math.pi, math.sqrt(2), math.floor(-1.5), math.ceil(1.2), math.gcd(12, 18), math.lcm(4, 6), math.comb(5, 2), math.perm(5, 2), math.isclose(0.1 + 0.2, 0.3), math.inf, math.hypot(3, 4), math.prod([1, 2, 3]), math.log(8, 2), math.log10(1000), math.isnan(math.nan), math.trunc(-2.7), math.factorial(10), math.degrees(math.pi), math.atan2(1, 1), math.fsum([0.1] * 10), math.isqrt(17), math.copysign(1, -0.0), math.modf(2.5), math.dist([0, 0], [3, 4]), math.tau, math.e)
# case: math-domain-error
import math
math.sqrt(-1)
# case: statistics-module
import statistics as st
(st.mean([1, 2, 3, 4]), st.median([3, 1, 2]), st.mode("aab"), st.stdev([2, 4, 4, 4, 5, 5, 7, 9]), st.pstdev([1, 2]), st.quantiles([1, 2, 3, 4], n=4), st.fmean([1, 2]), st.harmonic_mean([40, 60]))
# case: random-seeded
import random
random.seed(42)
(random.random(), random.randint(1, 10), random.choice("abc"), random.sample(range(100), 3), random.shuffle(l := [1, 2, 3, 4]), l, random.uniform(1, 2), random.choices([1, 2], k=3), random.gauss(0, 1))
# case: random-own-instance
import random
r = random.Random(7)
[r.randrange(100) for _ in range(5)]
# case: datetime-module
import datetime
from datetime import timedelta, date
d = datetime.datetime(2024, 2, 28, 23, 30)
(d + timedelta(hours=1), (date(2024, 3, 1) - date(2024, 2, 28)).days, d.strftime("%d/%m/%y %H:%M"), datetime.datetime.strptime("2024-01-02", "%Y-%m-%d"), d.isoformat(), d.weekday(), d < datetime.datetime(2025, 1, 1), d.replace(month=12), timedelta(days=1, seconds=3700), d.date(), datetime.datetime.fromisoformat("2024-05-06T07:08:09"))
# case: json-module
import json
s = json.dumps({"b": [1, 2.5, None, True], "a": "é\"x"}, sort_keys=True)
(s, json.loads(s), json.dumps([1, {"k": 2}], indent=2), json.dumps("é", ensure_ascii=False), json.loads("[1e3, -0, \"\\u00e9\"]"))
# case: json-error
import json
json.loads("{bad json}")
# case: json-custom-default
import json
class P:
    def __init__(self): self.x = 1
json.dumps({"p": P(), "s": {1}}, default=lambda o: sorted(o) if isinstance(o, set) else {"x": o.x})
# case: json-object-hook
import json
json.loads('{"a": {"b": 1}}', object_hook=lambda d: tuple(d.items()))
# case: operator-module
import operator as op
(op.add(1, 2), op.itemgetter(1, 0)("ab"), sorted([("a", 2), ("b", 1)], key=op.itemgetter(1)), op.attrgetter("real")(3), op.methodcaller("upper")("x"), op.mul(2, 3), op.contains([1], 1))
# case: functools-tour
from functools import reduce, partial, partialmethod
class C:
    def f(self, a, b): return (a, b)
    g = partialmethod(f, 1)
(reduce(lambda a, b: a + b, "abc"), partial(pow, 2)(5), C().g(2))
# case: base64-hash-uuid-csv
import base64, hashlib, csv
(base64.b64encode(b"hello"), base64.b64decode("aGk="), hashlib.sha256(b"x").hexdigest()[:8], hashlib.md5(b"").hexdigest(), list(csv.reader(["a,b", '"x,y",2'])))
# case: csv-dictreader
import csv
rows = list(csv.DictReader(["name,age", "Al,3", "Bo,5"]))
(rows, sum(int(r["age"]) for r in rows))
# case: queue-module
import queue
q = queue.Queue()
q.put(1); q.put(2)
p = queue.PriorityQueue()
for x in (3, 1, 2): p.put(x)
s = queue.LifoQueue(); s.put("a"); s.put("b")
(q.get(), q.qsize(), [p.get() for _ in range(3)], s.get(), q.empty())
# case: queue-empty-error
import queue
try:
    queue.Queue().get_nowait()
except queue.Empty as e:
    print(type(e).__name__)
# case: time-module-harmless
import time
a = time.time(); b = time.perf_counter()
(a > 1e9, time.perf_counter() >= b, time.strftime("%Y", time.gmtime(0)), time.sleep(0))
# case: calendar-and-zoneinfo-free-dates
import calendar
(calendar.isleap(2024), calendar.monthrange(2024, 2), calendar.month_name[3])
# case: collections-abc
from collections.abc import Mapping, Iterable, Callable
class M(Mapping):
    def __init__(self, d): self._d = d
    def __getitem__(self, k): return self._d[k]
    def __iter__(self): return iter(self._d)
    def __len__(self): return len(self._d)
m = M({"a": 1})
(m["a"], m.get("z", 0), "a" in m, dict(m), list(m.items()), isinstance(m, Mapping), isinstance([], Iterable), isinstance(len, Callable))
# case: import-forms
import math as m, json
from math import (pi as PI, floor,)
from collections import *
import collections.abc
import collections.abc as cabc
(m.floor(2.5), PI > 3, floor(1.5), deque([1]), hasattr(collections, "OrderedDict"), hasattr(cabc, "Mapping"), json.dumps(1))
# case: module-attribute-missing
import math
math.no_such_function
# case: decimal-context
from decimal import Decimal, ROUND_HALF_UP, localcontext
with localcontext() as c:
    c.prec = 5
    x = Decimal(1) / Decimal(3)
(x, Decimal("2.345").quantize(Decimal("0.01"), rounding=ROUND_HALF_UP), Decimal("1e3"), sum([Decimal("0.1")] * 3))
# case: re-tour
import re
p = re.compile(r"^(\w+)\s*=\s*(.*?)\s*$", re.M)
(p.findall("a = 1\nb=two  "), re.fullmatch(r"\d+", "12") is not None, re.escape("a.b"), re.sub("(?i)x", "y", "Xx"), re.split(r"(-)", "a-b"), re.subn("a", "b", "aa"), [m.groupdict() for m in re.finditer(r"(?P<k>\w):(?P<v>\d)", "a:1 b:2")])
# case: re-error
import re
re.compile("(")
# case: numbers-abc-and-unicode
import numbers, unicodedata
(isinstance(1, numbers.Number), isinstance(1.5, numbers.Integral), unicodedata.normalize("NFKD", "ﬁ"))
# case: join-of-no-iterable
",".join(5)
# case: long-range-as-a-sequence
r = range(10**7)
print(len(r), r[5], r[-1], 5 in r, r == range(10**7), isinstance(r, range), r[2:10], r)
print(r.start, r.stop, r.step, r.index(7), r.count(3), hash(r) == hash(range(10**7)))
import random
random.seed(3)
print(random.sample(r, 3), random.choice(r), random.randrange(10**9))
print(list(reversed(r))[:2] if False else next(iter(reversed(r))))
# case: length-of-combinations-missing
from itertools import combinations
combinations([1, 2])
# case: length-of-combinations-no-number
from itertools import combinations
combinations([1, 2], "a")
# case: repeated-without-an-object
from itertools import repeat
repeat()
# case: product-repeated-no-number
from itertools import product
product([1], repeat="a")
# case: bases-no-tuple
type("T", [], {})
# case: print-of-what-cannot-be-spread
print(*5)
# case: print-of-no-mapping
print(**5)
# case: factorial-of-what-cannot-be-spread
import math
math.factorial(*5)
# case: sorted-of-what-cannot-be-spread
sorted(*5)

# case: sized-methods-by-super-and-as-values
class Words(list):
    def extend(self, items):
        super().extend(item.upper() for item in items)
        return self
    def __iadd__(self, items):
        super().__iadd__(list(items))
        return self
    def __add__(self, other):
        return Words(super().__add__(list(other)))
    def __mul__(self, times):
        return Words(super().__mul__(times))
class Text(str):
    def ljust(self, width):
        return Text(super().ljust(width, "."))
    def __add__(self, other):
        return Text(super().__add__(other))
    def __mod__(self, other):
        return Text(super().__mod__(other))
    def join(self, items):
        return super().join(map(str, items))
class Number(int):
    def __add__(self, other):
        return Number(super().__add__(other))
    __radd__ = __add__
    def __pow__(self, other, modulo=None):
        return Number(super().__pow__(other))
class Table(dict):
    def update(self, *others, **names):
        super().update(*others, **names)
        return self
words = Words("ab").extend(["c"])
words += ["d"]
extend, plain = words.extend, [].extend
extend(["e"])
plain("xyz")
print(words, words + "fg", words * 2, type(words * 2).__name__, list.extend([], "a"))
print(Text("a").ljust(4) + "b", Text("%s-%s") % (1, 2), Text(",").join([1, 2]), str.ljust("a", 3) + "|")
print(Number(2) + 3, sum([Number(1), Number(2)]), Number(2) ** 10, (5).__add__(3), "a".__add__("b"))
print(Table().update({"a": 1}, b=2), dict.update({}, a=1), [1].__iadd__((2,)), int.__add__(1, 2))
print((1).__add__("a"), [1].__mul__(2), (2).__rpow__(3), "ab".__rmul__(2), "%d".__mod__(3))
for call in (lambda: [].extend(5), lambda: [].extend(), lambda: list.extend(), lambda: "a".__add__(1),
             lambda: str.ljust("a"), lambda: [1].__iadd__(5), lambda: "a".replace("a"),
             lambda: "a".replace("a", 1), lambda: ",".join([1]), lambda: {}.update(5)):
    try:
        print(call())
    except Exception as error:
        print(type(error).__name__, error)
