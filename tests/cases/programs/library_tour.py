# case: enum-flag-and-aliases
import enum
class P(enum.Flag):
    R = enum.auto(); W = enum.auto(); X = enum.auto(); RW = R | W
class C(enum.Enum):
    A = 1; B = 1
    @classmethod
    def _missing_(cls, v): return cls.A if v == "x" else None
    def __str__(self): return self.name.lower()
(P.RW, P.R in P.RW, ~P.R & P.RW, bool(P(0)), C.B, C("x"), str(C.A), list(C), C.__members__.keys(), C["A"])
# case: enum-unknown-value
import enum
class C(enum.Enum): A = 1
C(5)
# case: enum-functional-and-autonumber
import enum
C = enum.Enum("C", "X Y")
class N(enum.Enum):
    def _generate_next_value_(name, start, count, last): return name.lower()
    A = enum.auto()
(list(C), N.A.value, C.X.name)
# case: enum-subclass-with-members
import enum
class A(enum.Enum): X = 1
class B(A): Y = 2
# case: dataclass-full
from dataclasses import dataclass, field, asdict, astuple, replace, fields, InitVar, is_dataclass
from typing import ClassVar
@dataclass(order=True)
class P:
    x: int
    y: int = field(default=1, compare=False, repr=False)
    tags: list = field(default_factory=list)
    count: ClassVar[int] = 0
    scale: InitVar[int] = 2
    def __post_init__(self, scale): self.x *= scale
p = P(3, scale=3)
(p, asdict(p), astuple(p), replace(p, x=1, scale=1), [f.name for f in fields(p)], is_dataclass(P), P(1) < P(2), p == P(3, scale=3))
# case: dataclass-frozen-error
from dataclasses import dataclass
@dataclass(frozen=True)
class P: x: int
p = P(1)
print(hash(p) == hash(P(1)), {p: 1}[P(1)])
p.x = 2
# case: dataclass-slots-weakref-super
from dataclasses import dataclass
@dataclass(slots=True)
class A:
    x: int = 0
    def up(self): return self.x + 1
@dataclass(slots=True)
class B(A):
    y: int = 1
    def up(self): return super(B, self).up() + self.y
(B(2, 3).up(), B.__slots__)
# case: dataclass-make-and-inherit-defaults
from dataclasses import make_dataclass, dataclass, field
A = make_dataclass("A", [("x", int), ("y", int, field(default=5))], namespace={"s": lambda self: self.x + self.y})
A(1).s(), A(1)
# case: namedtuple-full
from collections import namedtuple
from typing import NamedTuple
P = namedtuple("P", "x y", defaults=[0])
class Q(NamedTuple):
    a: int
    b: str = "z"
    def both(self): return f"{self.a}{self.b}"
p = P(1)
(p, p._asdict(), p._replace(x=5), P._fields, P._make([7, 8]), Q(1).both(), Q(2) < Q(3), p + (1,), Q._field_defaults)
# case: collections-tour
from collections import Counter, OrderedDict, defaultdict, deque, ChainMap, UserDict
c = Counter("abca"); c.update("b"); c.subtract(["a"])
d = defaultdict(lambda: [0]); d["k"].append(1)
q = deque([1, 2, 3], maxlen=3); q.append(4); q.rotate(1); q.appendleft(9)
o = OrderedDict(a=1, b=2); o.move_to_end("a")
class U(UserDict):
    def __setitem__(self, k, v): super().__setitem__(k, v * 2)
(c.most_common(2), +c, c - Counter("b"), d, q, o, ChainMap({"a": 1}, {"b": 2})["b"], U(a=3), list(c.elements()), c.total() if hasattr(c, "total") else 0)
# case: functools-reduce-compose
import functools, operator
compose = lambda *fs: functools.reduce(lambda f, g: lambda x: f(g(x)), fs)
(compose(str, abs, int)("-3"), functools.reduce(operator.mul, range(1, 6)), functools.reduce(max, [3, 1], 2))
# case: operator-tour
import operator as op
(op.itemgetter(1, 0)([5, 6]), op.attrgetter("real", "imag")(3 + 1j), op.methodcaller("replace", "a", "b")("aa"), op.add(1, 2), op.contains([1], 1), op.index(True), op.concat([1], [2]), op.setitem({}, 1, 2), op.truth([]), op.is_(None, None), op.iadd([1], [2]))
# case: regex-tour
import re
m = re.match(r"(?P<y>\d{4})-(?P<m>\d\d)", "2024-05-06")
(m.group("y", "m"), m.groupdict(), m.span(2), m[0], m.end(), re.sub(r"(\d)", lambda k: str(int(k[1]) * 2), "a1b2"), re.split(r"[,;]\s*", "a, b;c"), re.findall(r"(a)(b)?", "aab"), [x.start() for x in re.finditer("a", "banana")], re.fullmatch("a+", "aab"), re.escape("a.b"), re.compile("x", re.I).flags & re.I, re.subn("a", "b", "aaa", count=2), m.expand(r"\g<y>!"), m.re.pattern, m.lastgroup)
# case: regex-error
import re
re.compile("(a")
# case: json-tour
import json
class E(json.JSONEncoder):
    def default(self, o): return sorted(o) if isinstance(o, set) else super().default(o)
print(json.dumps({"b": [1, None, True], "a": "é"}, sort_keys=True, indent=1, ensure_ascii=False), json.dumps({1, 2}, cls=E))
print(json.loads('{"a": [1.5, {"b": null}]}', object_hook=lambda d: list(d.items()), parse_float=str))
try: json.loads("{bad}")
except json.JSONDecodeError as e: print(e, e.pos, e.lineno)
json.dumps({1, 2})
# case: itertools-tour-2
import itertools as it
(list(it.accumulate([1, 2, 3], initial=0)), list(it.chain.from_iterable(["ab", "c"])), list(it.compress("abc", [1, 0, 1])), list(it.dropwhile(lambda x: x < 2, [1, 2, 1])), [(k, list(g)) for k, g in it.groupby("aabb")], list(it.islice(it.count(3, 2), 2)), list(it.product("ab", repeat=2))[:3], list(it.starmap(pow, [(2, 3)])), list(it.zip_longest("ab", "c", fillvalue="-")), list(it.combinations_with_replacement("ab", 2)), list(it.filterfalse(None, [0, 1])), list(it.takewhile(bool, [1, 0, 1])), len(list(it.permutations(range(4)))))
# case: datetime-tour
from datetime import date, datetime, time, timedelta, timezone
d = datetime(2024, 2, 29, 12, tzinfo=timezone.utc)
(d.replace(year=2023, day=28), d - timedelta(hours=36), (date(2024, 3, 1) - date(2024, 2, 1)).days, d.astimezone(timezone(timedelta(hours=2))).isoformat(), datetime.strptime("03/04/2021", "%d/%m/%Y"), time(1, 2) < time(2), date.fromisoformat("2020-01-01").weekday(), str(timedelta(days=-1, seconds=5)), d.isocalendar()[1], timedelta(1) / timedelta(hours=1))
# case: datetime-error
from datetime import date
date(2023, 2, 29)
# case: decimal-and-fractions
from decimal import Decimal, getcontext, localcontext, ROUND_HALF_UP, InvalidOperation
from fractions import Fraction
getcontext().prec = 6
with localcontext() as c:
    c.prec = 3
    a = Decimal(1) / 3
try: Decimal("x")
except InvalidOperation as e: print(type(e).__name__)
(a, Decimal(1) / 3, Decimal("2.675").quantize(Decimal("0.01"), ROUND_HALF_UP), Fraction(3, 6) + Fraction("0.25"), Fraction(0.5), round(Fraction(7, 2)), Decimal("1e2").normalize(), float(Fraction(1, 3)))
# case: contextlib-tour
import contextlib, io
class R:
    def close(self): print("closed")
with contextlib.closing(R()), contextlib.suppress(KeyError): {}["a"]
b = io.StringIO() if False else None
with contextlib.ExitStack() as s:
    s.callback(print, "cb")
    s.push(lambda t, v, tb: print("push", t.__name__) or True)
    raise ValueError
@contextlib.contextmanager
def t():
    try: yield
    except ValueError as e: print("in", e)
with t(): raise ValueError("v")
@t()
def deco(): raise ValueError("d")
deco()
with contextlib.nullcontext(5) as n: n
# case: contextmanager-that-does-not-yield
import contextlib
@contextlib.contextmanager
def a():
    if False: yield
with a(): pass
# case: contextmanager-that-yields-twice
import contextlib
@contextlib.contextmanager
def a():
    yield 1
    yield 2
with a(): pass
# case: abc-tour
import abc
from collections.abc import Iterable, Sequence, Callable, MutableMapping
class S(abc.ABC):
    @property
    @abc.abstractmethod
    def area(self): ...
    @classmethod
    @abc.abstractmethod
    def make(cls): ...
class Q(S):
    area = 4
    @classmethod
    def make(cls): return cls()
class D(MutableMapping):
    def __init__(self): self.d = {}
    def __getitem__(self, k): return self.d[k]
    def __setitem__(self, k, v): self.d[k] = v
    def __delitem__(self, k): del self.d[k]
    def __iter__(self): return iter(self.d)
    def __len__(self): return len(self.d)
d = D(); d.update(a=1); d.setdefault("b", 2)
print(Q.make().area, isinstance([], Iterable), isinstance(len, Callable), issubclass(list, Sequence), dict(d), d.pop("a"), sorted(S.__abstractmethods__))
S()
# case: typing-tour
from typing import Any, Optional, Union, Literal, TypedDict, Protocol, Generic, TypeVar, cast, get_origin, get_args, runtime_checkable, overload, Final, Annotated, NewType
T = TypeVar("T")
class M(TypedDict, total=False): a: int
@runtime_checkable
class H(Protocol):
    def go(self) -> int: ...
class I:
    def go(self): return 1
class G(Generic[T]):
    def __init__(self, x: T): self.x = x
UserId = NewType("UserId", int)
(Optional[int], Union[int, str, int], Literal["a", 1], M(a=1), isinstance(I(), H), G[int](3).x, cast(int, "s"), get_origin(list[int]), get_args(dict[str, int]), UserId(5), Annotated[int, "x"], list[T][int])
# case: random-seeded
import random
random.seed(42)
a = [random.random(), random.randint(1, 10), random.choice("abc"), random.sample(range(10), 3), random.gauss(0, 1)]
l = [1, 2, 3, 4]
random.shuffle(l)
r = random.Random(7)
(a, l, r.uniform(1, 2), r.choices("ab", weights=[1, 3], k=3), random.getrandbits(8))
# case: statistics-and-math
import statistics as st, math
(st.mean([1, 2, 4]), st.median([3, 1, 2, 9]), st.stdev([1, 2, 3]), st.mode("aab"), math.comb(5, 2), math.gcd(12, 18), math.isclose(0.1 + 0.2, 0.3), math.prod([1, 2, 3]), math.hypot(3, 4), math.log(8, 2), math.inf > 1, math.fsum([0.1] * 10), math.factorial(10), math.floor(-1.5), math.isqrt(17), math.copysign(1, -0.0), math.degrees(math.pi), math.dist([0, 0], [3, 4]))
# case: math-domain-error
import math
math.sqrt(-1)
# case: string-and-textwrap
import string, textwrap
(string.ascii_lowercase[:3], string.Template("$a ${b}").substitute(a=1, b=2), string.capwords("a b"), textwrap.fill("aaa bbb ccc", 7), textwrap.dedent("  a\n   b"), textwrap.shorten("hello big world", 11), string.punctuation[:3])
# case: heapq-bisect
import heapq, bisect
h = []
for x in (3, 1, 2): heapq.heappush(h, (x, str(x)))
(heapq.heappop(h), heapq.nlargest(2, [1, 5, 3]), heapq.nsmallest(1, "cab", key=ord), list(heapq.merge([1, 4], [2, 3])), bisect.bisect([1, 3, 5], 3), bisect.insort([1], 0), heapq.heapreplace(h, (0, "z")))
# case: queue-use
import queue
q = queue.PriorityQueue()
q.put((2, "b")); q.put((1, "a"))
s = queue.Queue(maxsize=1)
s.put(1)
try: s.put_nowait(2)
except queue.Full: print("full")
s.get()
try: s.get(block=False)
except queue.Empty: print("empty")
(q.get(), q.qsize(), q.empty())
# case: hashlib-base64-uuid
import hashlib, base64, uuid
(hashlib.sha256(b"a").hexdigest()[:8], base64.b64encode(b"hi").decode(), base64.urlsafe_b64decode("aGk="), uuid.UUID(int=5), uuid.uuid5(uuid.NAMESPACE_DNS, "x").version, hashlib.md5(b"").digest_size)
# case: csv-with-lists
import csv
r = list(csv.reader(["a,b", '"x,1",2']))
d = list(csv.DictReader(["a,b", "1,2"]))
(r, d)
# case: pprint-and-copy
import pprint, copy
x = [1, [2]]
y, z = copy.copy(x), copy.deepcopy(x)
x[1].append(3)
x.append(x[1])
w = copy.deepcopy(x)
pprint.pprint({"a": list(range(30)), "b": "x" * 70})
(y, z, w[1] is w[2], pprint.pformat([1]))
# case: calendar-unicodedata-time
import calendar, unicodedata, time
(calendar.monthrange(2024, 2), calendar.isleap(1900), unicodedata.name("é"), unicodedata.normalize("NFD", "é") == "é", time.strftime("%Y", time.gmtime(0)), time.struct_time((2020, 1, 1, 0, 0, 0, 0, 1, 0)).tm_year, calendar.month_name[2])
# case: memoryview-and-bytes
b = bytearray(b"abc")
m = memoryview(b)
m[0] = 65
(b, m[1:].tobytes(), m.tolist(), bytes(3), bytes([1, 2]), b"a-b".split(b"-"), bytes.fromhex("0aff"), b.hex(), b"abc".find(b"c"), bytearray(b"x") * 2, b"%s" % b"q", m.readonly, len(m))
# case: complex-and-numeric-types
import numbers
(complex("1+2j") * 1j, abs(3 + 4j), (1 + 2j).conjugate(), isinstance(True, numbers.Integral), (5).bit_length(), (0.5).as_integer_ratio(), float.fromhex("0x1p-2"), (255).to_bytes(2, "little"), int.from_bytes(b"\x01\x02", "big"), True + True, 3 .__add__(4), (7).__divmod__(2), float("nan") == float("nan"), round(1e20), (-5).__abs__())
# case: iter-protocol-builtins
class Rev:
    def __reversed__(self): return iter("rev")
    def __len__(self): return 2
    def __getitem__(self, i): return i
(list(reversed(Rev())), list(map(lambda a, b: a + b, [1, 2], [3, 4, 5])), list(filter(None, [0, 1, ""])), dict(enumerate("ab", 5)), [*zip(*[(1, 2), (3, 4)])], list(zip()), next(iter([]), "d"), all([]), any([]), sum([[1], [2]], []), sum([0.1] * 3), max("ab", key=ord), min([], default=3), max(1, 2, key=lambda x: -x), sorted("ba", reverse=True))
# case: int-parse-and-str-conversions
(int("0b11", 0), int("-0x1F", 16), str(1e100), repr("a'b\"c\n\x00é"), ascii("é"), bin(-5), oct(8), hex(255), chr(0x1F600), ord("€"), "%.3e" % 12345, str(b"a"), str(b"a", "utf8"), repr({1: {2, 3}, "a": (1,)}), str([None, ...]))
# case: int-too-long-to-text
str(10 ** 5000)
