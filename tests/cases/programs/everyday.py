# case: log-lines-into-a-report
import re
from collections import defaultdict, Counter
from datetime import datetime, timedelta
LOG = """2024-03-01T09:15:02 INFO  web-1 GET /index.html 200 12ms
2024-03-01T09:15:04 ERROR web-2 GET /api/users 500 340ms
2024-03-01T09:16:10 WARN  web-1 POST /login 401 25ms
2024-03-01T10:02:44 ERROR web-1 GET /api/users 502 1204ms
bad line here
2024-03-01T10:05:00 INFO  web-3 GET /index.html 304 3ms"""
PATTERN = re.compile(r"^(?P<when>\S+)\s+(?P<level>[A-Z]+)\s+(?P<host>\S+)\s+(?P<verb>GET|POST)\s+(?P<path>\S+)\s+(?P<code>\d{3})\s+(?P<ms>\d+)ms$")
rows, skipped = [], []
for number, line in enumerate(LOG.splitlines(), 1):
    if (m := PATTERN.match(line)) is None:
        skipped.append((number, line))
        continue
    d = m.groupdict()
    d["when"] = datetime.fromisoformat(d["when"])
    d.update(code=int(d["code"]), ms=int(d.pop("ms")))
    rows.append(d)
by_hour = defaultdict(lambda: {"n": 0, "ms": 0})
for r in rows:
    slot = by_hour[r["when"].replace(minute=0, second=0)]
    slot["n"] += 1
    slot["ms"] += r["ms"]
for hour, s in sorted(by_hour.items()):
    print(f"{hour:%H:%M} {s['n']:>3} {s['ms'] / s['n']:8.2f}ms")
print(Counter(r["level"] for r in rows).most_common(), skipped)
gaps = [b["when"] - a["when"] for a, b in zip(rows, rows[1:])]
max(gaps), sum(gaps, timedelta()), min(rows, key=lambda r: (-r["code"] // 100, r["ms"]))["path"]
# case: invoice-with-decimals-and-dataclasses
from dataclasses import dataclass, field, asdict, replace, InitVar, fields
from decimal import Decimal, ROUND_HALF_UP
from typing import ClassVar
@dataclass(frozen=True, order=True)
class Money:
    amount: Decimal
    currency: str = "EUR"
    CENT: ClassVar[Decimal] = Decimal("0.01")
    def __post_init__(self):
        object.__setattr__(self, "amount", Decimal(self.amount).quantize(self.CENT, ROUND_HALF_UP))
    def __add__(self, other):
        if not isinstance(other, Money) or other.currency != self.currency:
            return NotImplemented
        return replace(self, amount=self.amount + other.amount)
    def __radd__(self, other):
        return self if other == 0 else NotImplemented
    def __mul__(self, n): return replace(self, amount=self.amount * Decimal(str(n)))
    __rmul__ = __mul__
    def __format__(self, spec): return f"{self.amount:{spec or ',.2f'}} {self.currency}"
@dataclass
class Line:
    title: str
    price: Money
    count: int = 1
    tags: list[str] = field(default_factory=list, compare=False, repr=False)
    discount: InitVar[float | None] = None
    total: Money = field(init=False)
    def __post_init__(self, discount):
        self.total = self.count * self.price * (1 - (discount or 0))
lines = [Line("pen", Money("1.105"), 3), Line("book", Money(20), discount=0.15), Line("ink", Money("7.4"), 2, ["x"])]
print(*(f"{l.title:<6}|{l.total:>10}" for l in lines), sep="\n")
print(sum(l.total for l in lines), max(lines, key=lambda l: l.total).title)
try:
    Money(1) + Money(1, "USD")
except TypeError as error:
    print(error)
try:
    lines[0].price.amount = 3
except Exception as error:
    print(type(error).__name__, error)
[f.name for f in fields(Line)], asdict(lines[2])["total"], sorted([Money(3), Money(1), Money(2)])[0], lines[0]
# case: expression-calculator-with-precedence
import operator
class Token:
    __slots__ = ("kind", "text", "at")
    def __init__(self, kind, text, at): self.kind, self.text, self.at = kind, text, at
    def __repr__(self): return f"{self.kind}:{self.text}@{self.at}"
class CalcError(ValueError):
    def __init__(self, message, at):
        super().__init__(message)
        self.at = at
    def __str__(self): return f"{self.args[0]} at {self.at}"
def tokens(text):
    i = 0
    while i < len(text):
        c = text[i]
        if c.isspace():
            i += 1
            continue
        if c.isdigit() or c == ".":
            j = i
            while j < len(text) and (text[j].isdigit() or text[j] == "."):
                j += 1
            yield Token("num", text[i:j], i)
            i = j
            continue
        if text.startswith("**", i):
            yield Token("op", "**", i)
            i += 2
            continue
        if c in "+-*/()%":
            yield Token("op", c, i)
            i += 1
            continue
        raise CalcError(f"unexpected {c!r}", i)
OPS = {"+": (1, operator.add), "-": (1, operator.sub), "*": (2, operator.mul), "/": (2, operator.truediv), "%": (2, operator.mod), "**": (4, operator.pow)}
def parse(stream):
    stream = list(stream)
    pos = 0
    def peek(): return stream[pos] if pos < len(stream) else None
    def take():
        nonlocal pos
        pos += 1
        return stream[pos - 1]
    def atom():
        t = peek()
        if t is None: raise CalcError("unexpected end", -1)
        take()
        if t.kind == "num": return float(t.text) if "." in t.text else int(t.text)
        if t.text == "(":
            value = expr(0)
            if peek() is None or take().text != ")": raise CalcError("missing )", t.at)
            return value
        if t.text in "+-": return -expr(3) if t.text == "-" else expr(3)
        raise CalcError(f"unexpected {t.text!r}", t.at)
    def expr(least):
        left = atom()
        while (t := peek()) and t.text in OPS and OPS[t.text][0] >= least:
            rank, function = OPS[take().text]
            left = function(left, expr(rank if t.text == "**" else rank + 1))
        return left
    value = expr(0)
    if (t := peek()): raise CalcError(f"trailing {t.text!r}", t.at)
    return value
for text in ["1 + 2 * 3", "2 ** 3 ** 2", "-2 ** 2", "(1 + 2) * -3 % 4", "10 / 4 - .5", "2 *", "3 $ 4", "(1", "1 2"]:
    try:
        print(text, "=", parse(tokens(text)))
    except (CalcError, ZeroDivisionError) as e:
        print(text, "!", e, type(e).__mro__[1].__name__)
# case: text-adventure-of-a-state-machine
from enum import Enum, auto
class State(Enum):
    IDLE = auto(); RUNNING = auto(); PAUSED = auto(); DONE = auto()
    def __str__(self): return self.name.title()
    @property
    def active(self): return self in {State.RUNNING, State.PAUSED}
    @classmethod
    def parse(cls, text): return cls[text.strip().upper()]
TABLE = {(State.IDLE, "start"): State.RUNNING, (State.RUNNING, "pause"): State.PAUSED, (State.PAUSED, "start"): State.RUNNING, (State.RUNNING, "finish"): State.DONE}
class Machine:
    def __init__(self):
        self.state, self._hooks, self.trail = State.IDLE, {}, []
    def on(self, state):
        def register(function):
            self._hooks.setdefault(state, []).append(function)
            return function
        return register
    def fire(self, event):
        try:
            new = TABLE[self.state, event]
        except KeyError:
            raise RuntimeError(f"cannot {event} while {self.state}") from None
        self.trail.append((self.state.name, event, new.name))
        self.state = new
        for hook in self._hooks.get(new, ()):
            hook(self)
m = Machine()
@m.on(State.RUNNING)
def log(machine): print("running after", len(machine.trail))
@m.on(State.DONE)
def bye(machine): print("bye", str(machine.state), machine.state.active)
for event in "start pause finish start finish".split():
    try:
        m.fire(event)
    except RuntimeError as e:
        print("error:", e, e.__cause__, e.__suppress_context__)
State.parse(" paused "), [s.value for s in State], m.trail[-1], State(2), State.RUNNING.active, log.__name__
# case: registry-of-plugins-by-subclass
class Shape:
    kinds = {}
    def __init_subclass__(cls, /, name=None, **rest):
        super().__init_subclass__(**rest)
        Shape.kinds[name or cls.__name__.lower()] = cls
    @classmethod
    def make(cls, spec):
        kind, _, rest = spec.partition(":")
        return cls.kinds[kind](*map(float, filter(None, rest.split(","))))
    def area(self): raise NotImplementedError(type(self).__name__)
    def __lt__(self, other): return self.area() < other.area()
    def __repr__(self): return f"{type(self).__qualname__}({', '.join(f'{k}={v:g}' for k, v in vars(self).items())})"
class Circle(Shape, name="disc"):
    def __init__(self, r): self.r = r
    def area(self): return 3.14159 * self.r ** 2
class Rect(Shape):
    def __init__(self, w, h=None): self.w, self.h = w, h if h is not None else w
    def area(self): return self.w * self.h
class Blob(Shape): pass
made = sorted(Shape.make(s) for s in ("rect:3,4", "disc:1.5", "rect:2"))
print(made, [round(s.area(), 3) for s in made], sorted(Shape.kinds))
try:
    min(Blob(), made[0])
except NotImplementedError as e:
    print("no area of", e)
Shape.make("hexagon:1")
# case: validators-by-descriptor
class Checked:
    def __set_name__(self, owner, name):
        self.name, self.slot = name, f"_{name}"
        owner.checked = (*getattr(owner, "checked", ()), name)
    def __get__(self, obj, kind=None):
        return self if obj is None else getattr(obj, self.slot, None)
    def __set__(self, obj, value):
        setattr(obj, self.slot, self.check(value))
    def __delete__(self, obj): delattr(obj, self.slot)
class Number(Checked):
    def __init__(self, low=float("-inf"), high=float("inf")): self.low, self.high = low, high
    def check(self, value):
        if isinstance(value, bool) or not isinstance(value, (int, float)): raise TypeError(f"{self.name} must be a number, not {type(value).__name__}")
        if not self.low <= value <= self.high: raise ValueError(f"{self.name}={value} is not in [{self.low}, {self.high}]")
        return value
class Text(Checked):
    def check(self, value):
        if not (value := str(value).strip()): raise ValueError(f"{self.name} is empty")
        return value
class Person:
    name = Text()
    age = Number(0, 150)
    height = Number(0)
    def __init__(self, **given):
        for key, value in given.items(): setattr(self, key, value)
p = Person(name="  Ann ", age=33)
out = [p.name, p.age, p.height, Person.checked, type(Person.age).__name__]
for key, value in [("age", -1), ("age", True), ("name", " "), ("height", "x")]:
    try:
        setattr(p, key, value)
    except (TypeError, ValueError) as e:
        out.append(f"{type(e).__name__}: {e}")
del p.age
out, p.age, vars(p)
# case: lru-cache-written-by-hand
from collections import OrderedDict
from functools import wraps
def lru(size):
    def decorate(function):
        kept = OrderedDict()
        hits = misses = 0
        @wraps(function)
        def call(*args, **named):
            nonlocal hits, misses
            key = (args, tuple(sorted(named.items())))
            try:
                kept.move_to_end(key)
                hits += 1
                return kept[key]
            except KeyError:
                misses += 1
                value = kept[key] = function(*args, **named)
                if len(kept) > size:
                    kept.popitem(last=False)
                return value
        call.stats = lambda: {"hits": hits, "misses": misses, "kept": [k[0] for k in kept]}
        return call
    return decorate
@lru(3)
def square(n, *, plus=0):
    "Squares."
    return n * n + plus
[square(i) for i in (1, 2, 3, 1, 4, 2, 1)], square(2, plus=1), square.stats(), square.__name__, square.__doc__, square.__wrapped__(9)
# case: pipeline-of-generators-with-send
def averager():
    total, n, average = 0.0, 0, None
    while True:
        try:
            value = yield average
        except ValueError as e:
            print("reset because", e)
            total, n, average = 0.0, 0, None
            continue
        if value is None:
            return (n, average)
        total += value
        n += 1
        average = total / n
def delegator(results):
    while True:
        results.append((yield from averager()))
        if len(results) == 2:
            return "full"
results = []
g = delegator(results)
next(g)
seen = [g.send(x) for x in (10, 20, 60)]
seen.append(g.throw(ValueError("bad batch")))
seen += [g.send(4), g.send(None), g.send(7)]
try:
    g.send(None)
except StopIteration as stop:
    seen.append(stop.value)
seen, results, list(g)
# case: tree-with-iteration-and-visitors
from typing import Iterator, Optional, Generic, TypeVar
T = TypeVar("T")
class Node(Generic[T]):
    def __init__(self, value: T, left: "Optional[Node[T]]" = None, right: "Optional[Node[T]]" = None):
        self.value, self.left, self.right = value, left, right
    def insert(self, value: T) -> bool:
        if value == self.value: return False
        side = "left" if value < self.value else "right"
        child = getattr(self, side)
        if child is None:
            setattr(self, side, Node(value))
            return True
        return child.insert(value)
    def __iter__(self) -> Iterator[T]:
        if self.left: yield from self.left
        yield self.value
        if self.right: yield from self.right
    def __contains__(self, value): return value == self.value or any(value in c for c in (self.left, self.right) if c)
    def __len__(self): return 1 + sum(len(c) for c in (self.left, self.right) if c is not None)
    def depth(self): return 1 + max((c.depth() for c in (self.left, self.right) if c), default=0)
    def pretty(self, indent=0):
        return "\n".join(filter(None, [self.right and self.right.pretty(indent + 2), " " * indent + str(self.value), self.left and self.left.pretty(indent + 2)]))
root = Node[int](50)
added = [root.insert(v) for v in (30, 70, 20, 40, 60, 80, 30)]
print(root.pretty())
list(root), added, len(root), root.depth(), 60 in root, 61 in root, sum(root), [*reversed(list(root))][:2], Node[int].__origin__ is Node
# case: bank-with-exception-hierarchy
class BankError(Exception):
    code = 1
    def __init__(self, *args, **info):
        super().__init__(*args)
        self.info = info
class Overdrawn(BankError): code = 2
class Frozen(BankError): code = 3
class Account:
    _next = 1000
    def __init__(self, owner, balance=0):
        self.owner, self.__balance, self.frozen = owner, balance, False
        type(self)._next += 1
        self.number = self._next
    @property
    def balance(self): return self.__balance
    @balance.setter
    def balance(self, value):
        if self.frozen: raise Frozen(f"account {self.number} is frozen", number=self.number)
        if value < 0: raise Overdrawn("not enough", missing=-value)
        self.__balance = value
    def transfer(self, other, amount):
        before = self.balance, other.balance
        try:
            self.balance -= amount
            other.balance += amount
        except BankError as e:
            self.__balance, other._Account__balance = before
            raise BankError("transfer failed", cause=type(e).__name__) from e
        else:
            return True
        finally:
            print(f"{self.owner}->{other.owner} {amount}: {self.balance}/{other.balance}")
a, b = Account("ann", 100), Account("bob")
print(a.transfer(b, 30), a.number, b.number)
for amount, frozen in ((500, False), (10, True)):
    b.frozen = frozen
    try:
        a.transfer(b, amount)
    except BankError as e:
        print(e, e.info, repr(e.__cause__), e.__cause__.info, e.code, e.__cause__.code)
a.balance, b.balance, sorted(k for k in vars(a))
# case: matrix-class-with-operators
class Matrix:
    def __init__(self, rows): self.rows = [list(r) for r in rows]
    @classmethod
    def identity(cls, n): return cls([[int(i == j) for j in range(n)] for i in range(n)])
    @property
    def shape(self): return len(self.rows), len(self.rows[0])
    @property
    def T(self): return Matrix(zip(*self.rows))
    def __getitem__(self, at):
        match at:
            case int(i): return self.rows[i]
            case (int(i), int(j)): return self.rows[i][j]
            case (slice() as i, slice() as j): return Matrix(r[j] for r in self.rows[i])
            case _: raise TypeError(f"bad index {at!r}")
    def __setitem__(self, at, value):
        i, j = at
        self.rows[i][j] = value
    def __matmul__(self, other):
        if self.shape[1] != other.shape[0]: raise ValueError(f"{self.shape} @ {other.shape}")
        return Matrix([sum(x * y for x, y in zip(r, c)) for c in zip(*other.rows)] for r in self.rows)
    def __imatmul__(self, other):
        self.rows = (self @ other).rows
        return self
    def __pow__(self, n):
        result, base = Matrix.identity(len(self.rows)), self
        while n:
            if n & 1: result @= base
            base, n = base @ base, n >> 1
        return result
    def det(self):
        if len(self.rows) == 1: return self.rows[0][0]
        return sum((-1) ** j * v * Matrix(r[:j] + r[j + 1:] for r in self.rows[1:]).det() for j, v in enumerate(self.rows[0]))
    def __eq__(self, other): return isinstance(other, Matrix) and self.rows == other.rows
    __hash__ = None
    def __repr__(self): return "\n".join(" ".join(f"{v:>4}" for v in r) for r in self.rows)
fib = Matrix([[1, 1], [1, 0]]) ** 30
print(fib)
m = Matrix([[2, 0, 1], [1, 3, 2], [1, 1, 4]])
m[0, 1] = 5
print(m, m.T[0], m[1:, :2].rows, m.det(), m @ Matrix.identity(3) == m, sep="\n")
try:
    hash(m)
except TypeError as e:
    print(e)
m @ Matrix([[1, 2]])
# case: async-crawler-with-limits
import asyncio
PAGES = {"/": ["/a", "/b"], "/a": ["/c", "/"], "/b": ["/c", "/d"], "/c": [], "/d": ["/missing"]}
class Crawler:
    def __init__(self, limit): self.gate, self.seen, self.busy, self.most = asyncio.Semaphore(limit), {}, 0, 0
    async def fetch(self, page):
        async with self.gate:
            self.busy += 1
            self.most = max(self.most, self.busy)
            try:
                await asyncio.sleep(0.001 * (len(page) % 3))
                return PAGES[page]
            except KeyError:
                raise LookupError(f"404 {page}") from None
            finally:
                self.busy -= 1
    async def crawl(self, page, depth=0):
        if page in self.seen: return
        self.seen[page] = depth
        links = await self.fetch(page)
        for result in await asyncio.gather(*(self.crawl(link, depth + 1) for link in links), return_exceptions=True):
            if isinstance(result, Exception): self.seen[str(result)] = type(result).__name__
async def main():
    c = Crawler(2)
    await asyncio.wait_for(c.crawl("/"), timeout=5)
    return dict(sorted(c.seen.items())), c.most <= 2, c.busy
asyncio.run(main())
# case: async-producers-and-consumers
import asyncio
async def produce(name, q, n):
    for i in range(n):
        await q.put((name, i))
        await asyncio.sleep(0)
async def consume(q, out):
    try:
        while True:
            item = await q.get()
            out.append(item)
            q.task_done()
    except asyncio.CancelledError:
        out.append("cancelled")
        raise
class Timer:
    async def __aenter__(self): self.log = ["in"]; return self
    async def __aexit__(self, kind, value, tb): self.log.append(kind.__name__ if kind else "out"); return kind is ZeroDivisionError
async def countdown(n):
    while n:
        yield n
        n -= 1
        await asyncio.sleep(0)
async def main():
    q, out = asyncio.Queue(maxsize=2), []
    workers = [asyncio.create_task(consume(q, out), name=f"w{i}") for i in range(2)]
    await asyncio.gather(*(produce(n, q, 3) for n in "ab"))
    await q.join()
    for w in workers: w.cancel()
    done = await asyncio.gather(*workers, return_exceptions=True)
    async with Timer() as t: 1 / 0
    squares = {n: n * n async for n in countdown(4) if n % 2}
    try:
        await asyncio.wait_for(asyncio.Event().wait(), 0.01)
    except asyncio.TimeoutError as e:
        squares["late"] = type(e).__name__
    return sorted(x for x in out if x != "cancelled"), out.count("cancelled"), [type(d).__name__ for d in done], t.log, squares
await main()
# case: table-of-text-with-alignment
rows = [("Name", "Qty", "Price", "Share"), ("Apple", 3, 1.5, 0.256), ("Überlänge", 12345, 0.333333, 1), ("日本", -7, 1e6, 0.00049)]
widths = [max(len(f"{r[i]}") for r in rows) for i in range(4)]
head, *body = rows
print(" | ".join(f"{h:^{w}}" for h, w in zip(head, widths)))
print("-+-".join("-" * w for w in widths))
for name, qty, price, share in body:
    print(f"{name!s:<{widths[0]}} | {qty:>+{widths[1]},d} | {price:>{widths[2]}.2f} | {share:>{widths[3]}.1%}")
print("{0:>10}|{0:*^10}|{1!r:.5}|{2[k]}|{3.real:08.3f}".format("mid", "truncated", {"k": "v"}, 3.14159))
print("%-8s|%+05d|%x|%o|%e|%g|%%|%c|%r" % ("left", 42, 255, 8, 12345.678, 0.0001, "z", "q"))
f"{255:#x} {255:#010b} {1234567.891:_.1f} {12:e} {'a' 'b'!r:>6} {3 if widths else 4:02d} {{literal}} {rows[1][0][::-1]=} {len(rows)=:>3}"
# case: nested-json-flattened-and-rebuilt
import json
DATA = {"user": {"name": "A", "tags": ["x", {"deep": [1, 2]}], "none": None}, "n": 1.0, "ok": True, "empty": {}, "list": []}
def flatten(value, path=()):
    match value:
        case dict() if value:
            for k, v in value.items(): yield from flatten(v, (*path, k))
        case [_, *_]:
            for i, v in enumerate(value): yield from flatten(v, path + (i,))
        case _:
            yield path, value
def rebuild(pairs):
    root = None
    def put(container, path, value):
        key, *rest = path
        if isinstance(key, int):
            container = [] if container is None else container
            while len(container) <= key: container.append(None)
        elif container is None: container = {}
        container[key] = put(container[key] if isinstance(key, int) else container.get(key), rest, value) if rest else value
        return container
    for path, value in pairs: root = put(root, path, value)
    return root
flat = {".".join(map(str, p)): v for p, v in flatten(DATA)}
class Encoder(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, (set, frozenset)): return sorted(o)
        if hasattr(o, "isoformat"): return o.isoformat()
        return super().default(o)
import datetime
print(json.dumps({"s": {3, 1}, "d": datetime.date(2024, 2, 29)}, cls=Encoder, indent=1, sort_keys=True))
try:
    json.dumps({"c": 1j}, cls=Encoder)
except TypeError as e:
    print(e)
back = json.loads('{"a": 1, "b": [NaN, 1e3, "\\u00e9"]}', object_pairs_hook=lambda p: p, parse_float=str)
flat, rebuild(flatten(DATA)) == DATA, back, json.loads(json.dumps(DATA)) == DATA
# case: dynamic-programming-of-several-kinds
from functools import lru_cache, cache, reduce
from itertools import accumulate, pairwise
def edit(a, b):
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            current.append(min(previous[j] + 1, current[-1] + 1, previous[j - 1] + (x != y)))
        previous = current
    return previous[-1]
@cache
def ways(total, coins):
    if total == 0: return 1
    if total < 0 or not coins: return 0
    return ways(total - coins[0], coins) + ways(total, coins[1:])
def knapsack(items, room):
    best = [(0, ())] * (room + 1)
    for name, weight, value in items:
        for r in range(room, weight - 1, -1):
            candidate = best[r - weight][0] + value
            if candidate > best[r][0]: best[r] = candidate, best[r - weight][1] + (name,)
    return best[-1]
def lis(seq):
    tails, parents = [], {}
    for x in seq:
        at = next((i for i, t in enumerate(tails) if t >= x), len(tails))
        parents[x] = tails[at - 1] if at else None
        tails[at:at + 1] = [x]
    chain, x = [], tails[-1]
    while x is not None: chain.append(x); x = parents[x]
    return chain[::-1]
edit("kitten", "sitting"), ways(100, (50, 25, 10, 5, 1)), ways.cache_info().hits > 0, knapsack([("a", 3, 4), ("b", 4, 5), ("c", 2, 3)], 6), lis([3, 1, 4, 1, 5, 9, 2, 6]), [*accumulate([3, 1, 4], max)], reduce(lambda a, b: a * b, range(1, 8)), [b - a for a, b in pairwise([1, 4, 9, 16])]
# case: graph-algorithms-by-heap-and-queue
import heapq
from collections import deque, defaultdict
EDGES = "A-B:4 A-C:1 C-B:2 B-D:5 C-D:8 D-E:3 X-Y:1"
graph = defaultdict(dict)
for edge in EDGES.split():
    ends, cost = edge.split(":")
    u, v = ends.split("-")
    graph[u][v] = graph[v][u] = int(cost)
def dijkstra(start):
    best, came, heap = {start: 0}, {}, [(0, start)]
    while heap:
        d, u = heapq.heappop(heap)
        if d > best[u]: continue
        for v, w in graph[u].items():
            if (new := d + w) < best.get(v, float("inf")):
                best[v], came[v] = new, u
                heapq.heappush(heap, (new, v))
    return best, came
best, came = dijkstra("A")
def path(to): return (path(came[to]) if to in came else []) + [to]
def components():
    left = set(graph)
    while left:
        queue, part = deque([min(left)]), set()
        while queue:
            u = queue.popleft()
            if u in part: continue
            part.add(u)
            queue.extend(graph[u].keys() - part)
        left -= part
        yield sorted(part)
def kruskal():
    parent = {n: n for n in graph}
    def find(n):
        while parent[n] != n: parent[n] = n = parent[parent[n]]
        return n
    for w, u, v in sorted({(w, *sorted((u, v))) for u in graph for v, w in graph[u].items()}):
        if (a := find(u)) != (b := find(v)):
            parent[a] = b
            yield u + v, w
best, "".join(path("E")), list(components()), list(kruskal()), heapq.nsmallest(2, best.items(), key=lambda kv: kv[1]), list(heapq.merge([1, 4], [2, 3], reverse=False))
# case: context-managers-that-nest-and-swallow
from contextlib import contextmanager, ExitStack, suppress, nullcontext, closing
log = []
@contextmanager
def tag(name, swallow=()):
    log.append(f"<{name}>")
    try:
        yield name.upper()
    except swallow as e:
        log.append(f"!{name}:{type(e).__name__}")
    else:
        log.append(f"+{name}")
    finally:
        log.append(f"</{name}>")
class Undo:
    def __init__(self): self.steps = []
    def __enter__(self): return self.steps
    def __exit__(self, kind, value, tb):
        if kind is not None:
            while self.steps: log.append(self.steps.pop()())
        return False
with tag("a") as a, tag("b", (KeyError, ValueError)) as b:
    log.append(a + b)
    raise KeyError("k")
try:
    with Undo() as steps:
        steps += [lambda: "undo1", lambda: "undo2"]
        raise OSError(2, "gone")
except OSError as e:
    log.append((e.errno, e.strerror, str(e)))
with ExitStack() as stack:
    names = [stack.enter_context(tag(n)) for n in "xyz"]
    stack.callback(log.append, "called")
    kept = stack.pop_all()
log.append(names)
kept.close()
@tag("deco")
def f(): return log.append("inside") or 7
with suppress(IndexError): [][1]
with nullcontext(5) as n, closing(type("C", (), {"close": lambda self: log.append("closed")})()): pass
f(), f(), n, log
# case: operators-and-data-model-odds-and-ends
class Vec:
    __match_args__ = ("x", "y")
    def __init__(self, x=0, y=0): self.x, self.y = x, y
    def __iter__(self): yield self.x; yield self.y
    def __add__(self, o): return Vec(*(a + b for a, b in zip(self, o)))
    def __neg__(self): return Vec(-self.x, -self.y)
    def __abs__(self): return (self.x ** 2 + self.y ** 2) ** .5
    def __bool__(self): return any(self)
    def __eq__(self, o): return tuple(self) == tuple(o) if isinstance(o, (Vec, tuple)) else NotImplemented
    def __hash__(self): return hash(tuple(self))
    def __getattr__(self, name):
        if set(name) <= set("xy") and len(name) > 1: return tuple(getattr(self, c) for c in name)
        raise AttributeError(f"no {name}")
    def __round__(self, n=0): return Vec(round(self.x, n), round(self.y, n))
    def __divmod__(self, n): return Vec(self.x // n, self.y // n), Vec(self.x % n, self.y % n)
    def __repr__(self): return f"<{self.x:g},{self.y:g}>"
    def __call__(self, **kw): return Vec(**{**vars(self), **kw})
    def __contains__(self, v): return v in (self.x, self.y)
    def __len__(self): return 2
    def __reversed__(self): return iter((self.y, self.x))
v = Vec(3, 4)
def where(p):
    match p:
        case Vec(0, 0): return "origin"
        case Vec(x=0) | Vec(y=0): return "axis"
        case Vec(x, y) if x == y: return f"diagonal {x}"
        case Vec(x=int() as x): return f"somewhere {x}"
        case (x, y, *rest): return f"tuple {x}{y}{rest}"
        case {"x": x, **more}: return f"map {x} {more}"
        case str() | bytes(): return "text"
        case None | True | False: return "constant"
        case float(nan) if nan != nan: return "nan"
    return "nothing"
(v + (1, 1), -v, abs(v), bool(Vec()), v == (3, 4), v == 5, {v: 1}[Vec(3, 4)], v.yx, v.xxy, round(Vec(1.26, 2.74), 1), divmod(v, 2), v(y=9), 4 in v, len(v), [*reversed(v)],
 [where(p) for p in (Vec(), Vec(0, 1), Vec(2, 2), v, (1, 2, 3), {"x": 1, "z": 2}, "s", b"", None, 1 == 1, float("nan"), 3)], getattr(v, "z", "none"), hasattr(v, "xy"))
# case: sorting-in-many-ways
from operator import itemgetter, attrgetter, methodcaller
from functools import cmp_to_key
import bisect
people = [("Zed", 30, "b"), ("amy", 25, "a"), ("Bob", 30, "a"), ("cat", 25, "c")]
def version(a, b):
    x, y = ([int(p) if p.isdigit() else p for p in s.split(".")] for s in (a, b))
    return (x > y) - (x < y)
out = [
    sorted(people, key=itemgetter(1, 2)), sorted(people, key=lambda p: (-p[1], p[0].casefold())),
    sorted(["1.10", "1.9", "1.2.3"], key=cmp_to_key(version)), sorted("bCaD", key=methodcaller("lower")), sorted([3, 1, 2], reverse=True),
    sorted({"b": 1, "a": 2}.items(), key=lambda kv: kv[::-1]), [*map(itemgetter(0), sorted(people, key=itemgetter(1)))],
]
words = "the quick brown fox jumps over the lazy dog".split()
words.sort(key=len)
words.sort(key=lambda w: w[-1], reverse=True)
scores = [60, 70, 80, 90]
grades = ["FDCBA"[bisect.bisect(scores, s)] for s in (33, 60, 77, 89, 99)]
bisect.insort(scores, 75, key=lambda s: s)
class R:
    def __init__(self, n): self.n = n
    def __lt__(self, o): return self.n > o.n
    def __repr__(self): return f"R{self.n}"
out, words, grades, scores, sorted(map(R, [1, 3, 2])), max(map(R, [1, 3, 2])), attrgetter("n")(R(5)), sorted([(1, "b"), (1, "a")]), sorted([None, 1] if 0 else [2, 1])
# case: dates-and-calendars-of-a-project
from datetime import date, datetime, time, timedelta, timezone
import calendar
def workdays(start, n, holidays=frozenset()):
    day = start
    while n:
        day += timedelta(days=1)
        if day.weekday() < 5 and day not in holidays: n -= 1
    return day
d = date(2024, 2, 28)
end = workdays(d, 5, {date(2024, 3, 1)})
utc = datetime(2024, 3, 31, 23, 30, tzinfo=timezone.utc)
local = utc.astimezone(timezone(timedelta(hours=5, minutes=30), "IST"))
weeks = calendar.monthcalendar(2024, 2)
def age(born, on): return on.year - born.year - ((on.month, on.day) < (born.month, born.day))
print(f"{end:%A %d %B %Y} {utc:%Y-%m-%dT%H:%M:%S%z} {local:%c %Z}|{time(9, 5):%I:%M %p}")
(end - d, end.isocalendar()[1], local.isoformat(), local - utc, local == utc, weeks[-1], age(date(2000, 2, 29), date(2024, 2, 28)), datetime.strptime("03/Jan/2024:10:11:12 +0200", "%d/%b/%Y:%H:%M:%S %z").utctimetuple()[:6],
 [d.replace(day=1) + timedelta(weeks=i) for i in range(2)], calendar.isleap(2100), datetime.min.year, date.fromisoformat("2024-12-31").timetuple().tm_yday, timedelta(hours=-1), str(timedelta(days=-1, seconds=5)), timedelta(minutes=90) / timedelta(hours=1), divmod(timedelta(hours=50), timedelta(days=1)), datetime.combine(d, time(12)), calendar.day_abbr[d.weekday()])
# case: dates-that-do-not-exist
from datetime import date, datetime
for text in ("2023-02-29", "2024-13-01", "24-1-1", "2024-01-01T25:00"):
    try:
        print(datetime.fromisoformat(text))
    except ValueError as e:
        print(text, "->", e)
datetime.strptime("31 Feb", "%d %b")
# case: keywords-that-bear-any-name
from collections import Counter, UserDict
from string import Template
class Base:
    def __init_subclass__(cls, /, name=None, function=None, **rest):
        cls.seen = (name, function, rest)
class Sub(Base, name="n", function=2, receiver=3, bases=4): pass
class Meta(type):
    def __new__(mcls, n, b, s, /, **named): return super().__new__(mcls, n, b, {**s, "named": named})
    def __init__(cls, n, b, s, /, **named): super().__init__(n, b, s)
    def __call__(cls, /, *args, **named): return args, named
class Made(metaclass=Meta, name=1, self=2, cls=3): pass
class Keeps:
    def __init__(self, /, **named): self.named = named
    def update(self, /, *args, **named): self.named.update(*args, **named)
    def sort(self, **named): return named
d = {"name": 0}
d.update(name=1, self=2, receiver=3)
d.update([("cls", 4)], value=5)
k = Keeps(cls=1, self=2)
k.update(name=3, receiver=4)
c = Counter(name=1)
c.update(name=2, iterable=3)
u = UserDict(dict={"x": 1}, name=2)
u.update(self=3)
(Sub.seen, Made.named, Made(cls=1, name=2, self=3), d, k.named, k.sort(name=1, key=None), c, dict(u), type(k)(cls=1, name=2).named, k.__class__(function=1).named,
 Template("$name $self").substitute(name=1, self=2), "{name} {self} {value}".format(name=1, self=2, value=3), dict(cls=1, object=2), "{x[name]}".format_map({"x": {"name": 1}}))
# case: sales-by-region-in-pandas
import pandas as pd
import numpy as np
df = pd.DataFrame({"day": pd.date_range("2024-01-29", periods=8, freq="D"), "region": list("NSNSEENS"), "units": [5, 3, np.nan, 8, 2, 9, 4, 1], "price": [2.5, 4, 2.5, 4, 10, 10, 2.5, 4]})
df["units"] = df["units"].fillna(df.groupby("region")["units"].transform("mean"))
df["revenue"] = df.units * df.price
df = df.assign(month=df.day.dt.strftime("%b"), big=lambda d: d.revenue > d.revenue.median())
pivot = df.pivot_table(index="region", columns="month", values="revenue", aggfunc="sum", fill_value=0)
stats = df.groupby("region", as_index=False).agg(total=("revenue", "sum"), best=("units", "max"), days=("day", "nunique")).sort_values("total", ascending=False)
print(pivot.to_string())
print(stats.to_string(index=False))
print(df.loc[df.big & df.region.isin(["E", "S"]), ["day", "units"]].set_index("day").resample("2D").sum().to_dict())
rolling = df.revenue.rolling(3, min_periods=1).mean().round(2).tolist()
share = (df.groupby("region").revenue.sum() / df.revenue.sum()).map("{:.1%}".format).to_dict()
rolling, share, df.revenue.rank(method="dense").astype(int).tolist(), df.query("units > 4 and region != 'E'").index.tolist(), df.iloc[-1]["day"].isoformat(), df.dtypes.astype(str).to_dict()
# case: joining-and-reshaping-tables
import pandas as pd
users = pd.DataFrame({"id": [1, 2, 3], "name": ["ann", "bob", "cy"]})
orders = pd.DataFrame({"user": [1, 1, 3, 4], "item": ["pen", "ink", "pen", "cap"], "n": [2, 1, 5, 7]})
m = users.merge(orders, left_on="id", right_on="user", how="outer", indicator=True).drop(columns="user")
print(m.to_string(na_rep="-"))
wide = orders.pivot(index="user", columns="item", values="n").fillna(0).astype(int)
long = wide.reset_index().melt(id_vars="user", var_name="what", value_name="count").query("count > 0").reset_index(drop=True)
both = pd.concat([users.head(1), users.tail(1)], keys=["first", "last"])
bins = pd.cut(orders["n"], [0, 2, 5, 10], labels=["few", "some", "many"]).tolist()
text = pd.Series(["a-1", "b-22", None, "c"]).str.extract(r"(?P<letter>[a-z])-?(?P<num>\d+)?")
wide.to_dict("index"), long.values.tolist(), both.index.tolist(), bins, text.fillna("?").values.tolist(), m["_merge"].value_counts().to_dict(), orders.groupby("item")["n"].apply(list).to_dict(), orders.apply(lambda r: f"{r['item']}x{r.n}", axis=1).str.upper().tolist(), orders.duplicated("item").sum(), pd.get_dummies(orders["item"]).astype(int).sum().to_dict()
# case: arrays-without-loops
import numpy as np
a = np.arange(12).reshape(3, 4)
rng = np.random.default_rng(7)
b = rng.integers(0, 10, size=(4, 2))
c = np.where(a % 2 == 0, a, -a)
norm = (a - a.mean(axis=0)) / a.std(axis=0)
dist = np.sqrt(((a[:, None, :] - a[None, :, :]) ** 2).sum(-1))
mask = (a > 2) & ~(a == 7)
rec = np.array([("x", 1.5), ("y", 2.5)], dtype=[("n", "U3"), ("v", "f8")])
print(a @ b, c, norm.round(2)[0], dist.round(3), sep="\n")
print(np.einsum("ij,jk->ik", a, b).tolist() == (a @ b).tolist(), a[mask].tolist(), a[[0, 2]][:, ::-2].tolist(), np.argsort([3, 1, 2]).tolist(), rec["v"].sum(), rec[rec["n"] == "y"]["v"])
x, res, rank, sv = np.linalg.lstsq(np.c_[np.ones(4), [0, 1, 2, 3]], np.array([1, 3, 5, 7.1]), rcond=None)
np.unique([3, 1, 3], return_counts=True), np.clip(a, 2, 5).sum(), x.round(3).tolist(), np.cumsum([1, 2, 3])[::-1].tolist(), np.histogram([1, 2, 2, 9], bins=3)[0].tolist(), np.polyfit([0, 1, 2], [1, 2, 5], 2).round(6).tolist(), np.isnan(np.array([1, np.nan])).any(), np.percentile([1, 2, 3, 4], [25, 50]).tolist(), f"{np.float64(2.5):.1f}", np.array2string(np.eye(2), precision=1), np.stack([a[0], a[1]]).shape, (a.T.flags["C_CONTIGUOUS"]), np.allclose(0.1 + 0.2, 0.3)
# case: errors-of-arrays-and-frames
import numpy as np
import pandas as pd
def attempt(f):
    try:
        return f()
    except Exception as e:
        return f"{type(e).__name__}: {str(e).splitlines()[0]}"
df = pd.DataFrame({"a": [1, 2]})
s = pd.Series([1, 2], index=["x", "y"])
[attempt(f) for f in (lambda: np.zeros((2, 3)) @ np.zeros((2, 3)), lambda: df["b"], lambda: s["z"], lambda: np.array([1, 2])[5], lambda: pd.to_datetime("nonsense"), lambda: np.ones(3).reshape(2, 2), lambda: df.loc[7], lambda: pd.concat([]), lambda: np.linalg.inv(np.zeros((2, 2))), lambda: df.b, lambda: int(np.array([1, 2])), lambda: bool(df), lambda: pd.Timestamp("2024-13-01"), lambda: np.array([1]) + np.array(["a"]), lambda: df.merge(df, on="zz"), lambda: pd.Series([1, 2]).astype("int64").loc["q"])]
# case: caesar-vigenere-and-run-lengths
from itertools import groupby, cycle, zip_longest, islice, chain
import string
def caesar(text, key):
    table = str.maketrans(string.ascii_letters, "".join(a[key % 26:] + a[:key % 26] for a in (string.ascii_lowercase, string.ascii_uppercase)))
    return text.translate(table)
def vigenere(text, key, sign=1):
    shifts = cycle(ord(k) - 97 for k in key)
    return "".join(chr((ord(c) - 97 + sign * next(shifts)) % 26 + 97) if c.isalpha() else c for c in text)
def rle(text): return "".join(f"{len(list(g)) or ''}{k}".removeprefix("1") for k, g in groupby(text))
def unrle(text):
    n, out = "", []
    for c in text:
        if c.isdigit(): n += c
        else:
            out.append(c * int(n or 1))
            n = ""
    return "".join(out)
secret = caesar("Hello, World!", 3)
v = vigenere("attack at dawn", "lemon")
chunks = [*zip_longest(*[iter("abcdefg")] * 3, fillvalue="-")]
(secret, caesar(secret, -3), v, vigenere(v, "lemon", -1), rle("aaabccd"), unrle(rle("aaabccd")), chunks, "".join(islice(cycle("ab"), 5)), "Straße".upper().casefold(), "ß".isidentifier(), "a\tb".expandtabs(4), "x=1;y=2".partition(";"), "a,b,,c".rsplit(",", 2), "Hello"[::-2], "ab" "cd" r"\n", "%s" % ("t",), "tEST".swapcase().title(), "abc".encode().hex(":"), [*chain.from_iterable(["ab", "c"])])
# case: roman-numerals-and-number-words
def roman(n):
    if not 0 < n < 4000: raise ValueError(f"{n} has no roman numeral")
    out = ""
    for value, sign in zip((1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1), "M CM D CD C XC L XL X IX V IV I".split()):
        count, n = divmod(n, value)
        out += sign * count
    return out
def arabic(text):
    values = dict(zip("IVXLCDM", (1, 5, 10, 50, 100, 500, 1000)))
    return sum(-values[a] if values[a] < values.get(b, 0) else values[a] for a, b in zip(text, text[1:] + " "))
ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
def words(n):
    if n < 0: return "minus " + words(-n)
    if n < 20: return ONES[n]
    if n < 100: return TENS[n // 10 - 2] + (f"-{ONES[n % 10]}" if n % 10 else "")
    for size, name in ((10 ** 6, "million"), (1000, "thousand"), (100, "hundred")):
        if n >= size:
            head, rest = divmod(n, size)
            return f"{words(head)} {name}" + (" and " if rest < 100 and size == 100 else " ") * bool(rest) + (words(rest) if rest else "")
print([roman(n) for n in (1994, 2024, 49)], all(arabic(roman(n)) == n for n in range(1, 4000)))
print(words(1234567), words(-40), words(100), words(1005), sep="; ")
roman(0)
# case: text-wrapped-and-counted
import re, textwrap
from collections import Counter
TEXT = """It was the best of times, it was the worst of times; it was the age
of wisdom... it was the age of foolishness -- "it was the epoch of belief"."""
tokens = re.findall(r"[a-z']+", TEXT.lower())
counts = Counter(tokens)
pairs = Counter(zip(tokens, tokens[1:]))
print(textwrap.fill(" ".join(TEXT.split()), 40, initial_indent="* ", subsequent_indent="  "))
print(textwrap.shorten(TEXT, 30, placeholder="[...]"), textwrap.dedent("  a\n    b").splitlines())
for word, n in counts.most_common(3): print(f"{word:.<10}{n:.>4} {'#' * n}")
sub = re.sub(r"\b(\w)(\w*)\b", lambda m: m[1].upper() + m.group(2), "the end of it", count=2)
dates = re.sub(r"(\d{4})-(\d\d)-(\d\d)", r"\3.\2.\g<1>", "on 2024-02-29 and 2023-12-01")
(sub, dates, pairs.most_common(2), counts["was"] - counts["nope"], counts.total() if hasattr(counts, "total") else sum(counts.values()), (counts - Counter({"it": 2})).most_common(1), re.split(r"([;,])\s*", "a, b;c"), [m.span() for m in re.finditer("(?i)IT", TEXT)][:2], re.fullmatch(r"(?P<a>\d)(?P<b>\d)?", "7").groupdict(), re.compile(r"""(?x) \d+ # digits
 \s* """).pattern[:4], re.escape("a.b*c"), bool(re.match(r"^(?=.*\d)(?=.*[A-Z]).{4,}$", "abC4")), re.sub("x*", "-", "abxd"))
# case: events-and-observers-with-weak-order
from typing import Callable, Protocol, runtime_checkable, NamedTuple, Any
from functools import partial, partialmethod, singledispatchmethod, cached_property, total_ordering
@runtime_checkable
class Listener(Protocol):
    def notify(self, event: "Event") -> None: ...
class Event(NamedTuple):
    name: str
    payload: dict[str, Any] = {}
    rank: int = 0
    @property
    def loud(self): return self.name.upper()
    def __str__(self): return f"{self.name}#{self.rank}"
class Bus:
    def __init__(self): self._all: dict[str, list[Callable]] = {}
    def on(self, name, handler=None, *, once=False):
        if handler is None: return partial(self.on, name, once=once)
        def call(event):
            if once: self._all[name].remove(call)
            return handler(event)
        self._all.setdefault(name, []).append(call)
        return handler
    on_start = partialmethod(on, "start")
    def emit(self, name, **payload): return [h(Event(name, payload, i)) for i, h in enumerate([*self._all.get(name, ())])]
class Printer:
    def notify(self, event): print("->", event, event.payload)
    @singledispatchmethod
    def show(self, x): return f"? {x}"
    @show.register
    def _(self, x: int): return f"int {x}"
    @show.register(list)
    def _(self, x): return [self.show(i) for i in x]
    @cached_property
    def slow(self):
        print("computing")
        return 42
bus, p = Bus(), Printer()
bus.on("start", p.notify)
@bus.on("start", once=True)
def first(e): return e.loud
bus.on_start(lambda e: e._replace(rank=9).rank)
print(bus.emit("start", a=1), bus.emit("start"), bus.emit("none"))
(isinstance(p, Listener), isinstance(bus, Listener), p.show([1, "a", [2]]), p.slow + p.slow, Event("x")._asdict(), Event._fields, Event("a") < Event("b"), first.__name__, *map(str, [Event("q", rank=2)]))
# case: total-order-and-comparison-chains
from functools import total_ordering
@total_ordering
class Version:
    def __init__(self, text):
        self.parts = tuple(int(p) if p.isdigit() else p for p in text.replace("-", ".").split("."))
    def _key(self): return [(0, p, "") if isinstance(p, int) else (-1, 0, p) for p in self.parts]
    def __eq__(self, other): return self._key() == other._key() if isinstance(other, Version) else NotImplemented
    def __lt__(self, other): return self._key() < other._key() if isinstance(other, Version) else NotImplemented
    def __repr__(self): return "v" + ".".join(map(str, self.parts))
vs = [Version(t) for t in "1.10 1.9.1 1.9 2.0-rc1 2.0".split()]
try:
    Version("1") < "1"
except TypeError as e:
    print(e)
sorted(vs), max(vs), Version("1.0") <= Version("1.0"), Version("1") != "1", 1 < 2 < 3 > 2 != 5, (1, 2) < (1, 2, 0), [1, [2]] == [1, [2]], not None == 0, "a" < "b" < "B", {1, 2} < {1, 2, 3}, float("nan") == float("nan"), 0.1 + 0.2 == 0.3, 1 == 1.0 == True, [] is not [], min("b", "a", key=str.upper), max([], default="none")
# case: closures-loops-and-late-binding
fs = [lambda: i for i in range(3)]
gs = [lambda i=i: i for i in range(3)]
def counter():
    n = 0
    def up(by=1):
        nonlocal n
        n += by
        return n
    def reset(): nonlocal n; n = 0
    up.reset = reset
    return up
c, d = counter(), counter()
c(); c(5); d()
total = 0
def add(x):
    global total
    total += x
    return total
for x in range(4): add(x)
def outer():
    x = "outer"
    class Inner:
        x = "class"
        seen = [x for _ in range(1)]
        def method(self): return x
        names = sorted(k for k in locals() if not k.startswith("_")) if False else None
    def shadow(x=x): return x
    x = "changed"
    return Inner().method(), Inner.seen, Inner.x, shadow()
def deep(n): return lambda: deep(n - 1)() + 1 if n else 0
try:
    def bad(): print(y); y = 1
    bad()
except UnboundLocalError as e:
    print(e)
[f() for f in fs], [g() for g in gs], c(0), d(0), c.reset(), c(), total, outer(), deep(4)(), (lambda *a, k=2, **kw: (a, k, kw))(1, 2, z=3), [(x, y) for x in range(2) if x for y in "ab"], x
# case: iterators-with-state-and-exhaustion
class Countdown:
    def __init__(self, n): self.n = n
    def __iter__(self): return self
    def __next__(self):
        if self.n <= 0: raise StopIteration
        self.n -= 1
        return self.n + 1
class Window:
    def __init__(self, items, size): self.items, self.size = items, size
    def __len__(self): return max(0, len(self.items) - self.size + 1)
    def __getitem__(self, i):
        if isinstance(i, slice): return [self[j] for j in range(*i.indices(len(self)))]
        if i < 0: i += len(self)
        if not 0 <= i < len(self): raise IndexError(i)
        return self.items[i:i + self.size]
import itertools as it
w = Window("abcde", 3)
a, b = it.tee(Countdown(3))
peek = iter([1, 2, 3])
first, *rest = peek
e = enumerate("ab", start=5)
z = zip("ab", it.count())
def read(): yield from (yield "start") or ()
g = read()
sentinel = iter([3, 2, 0, 1].pop, 0)
(list(Countdown(3)), sum(Countdown(4)), list(w), w[-1], w[::2], "bcd" in w, [*reversed(w)], next(a), list(b), list(a), first, rest, next(peek, "end"), dict(e), list(z), next(g), g.send("xy"), list(g), list(sentinel), max(Countdown(3), key=lambda n: -n), list(it.takewhile(lambda n: n > 1, Countdown(3))), [*it.starmap(pow, [(2, 3), (3, 2)])], list(map(lambda a, b: a + b, [1, 2], (3, 4, 5))), list(filter(None, [0, 1, "", "a"])), [*it.compress("abc", [1, 0, 1])], list(it.product("ab", repeat=2))[-1], sorted(it.combinations("cab", 2)), 3 in Countdown(5), list(zip(*[(1, "a"), (2, "b")])))
# case: bits-bytes-and-checksums
import base64, hashlib, uuid
def crc(data, poly=0xEDB88320):
    c = 0xFFFFFFFF
    for byte in data:
        c ^= byte
        for _ in range(8): c = (c >> 1) ^ (poly & -(c & 1))
    return c ^ 0xFFFFFFFF
def popcount(n): return bin(n).count("1")
def luhn(text): return sum(sum(divmod(int(d) * (1 + i % 2), 10)) for i, d in enumerate(reversed(text))) % 10 == 0
data = "naïve café".encode()
m = memoryview(bytearray(b"abcdef"))
m[1:3] = b"XY"
(hex(crc(b"123456789")), popcount(0b1011), luhn("4539578763621486"), data, data.decode("latin-1"), base64.b64encode(data), base64.urlsafe_b64decode(b"-_8="), hashlib.sha256(b"x").hexdigest()[:8], int.from_bytes(b"\x01\x00", "big"), (1000).to_bytes(2, "little"), bytes(m), ~5 & 0xFF, 5 ^ 3, -7 // 2, -7 % 3, 7 >> 1, 1 << 10, (-8).bit_length(), bytes.fromhex("00ff"), bytearray(b"a") + b"b", b"%d-%s" % (3, b"z"), uuid.uuid5(uuid.NAMESPACE_DNS, "a.b").hex[:6], b"a,b".split(b","), "é".encode("ascii", "xmlcharrefreplace"), b"\xff".decode("utf-8", "replace"), ord("€"), chr(128512), "\N{BULLET}", f"{10:b}", 0x_ff, 1_000)
# case: decoding-that-fails
b"ok \xff".decode("utf-8")
# case: money-in-three-currencies
from decimal import Decimal, localcontext, ROUND_DOWN, InvalidOperation, getcontext
from fractions import Fraction
import math, statistics
rates = {"EUR": Decimal(1), "USD": Decimal("1.0843"), "JPY": Decimal("162.51")}
def convert(amount, source, target, places=2):
    with localcontext() as ctx:
        ctx.prec, ctx.rounding = 12, ROUND_DOWN
        return (Decimal(amount) / rates[source] * rates[target]).quantize(Decimal(10) ** -places)
try:
    Decimal("ten")
except InvalidOperation as e:
    print(type(e).__name__, e.args[0])
data = [2, 4, 4, 4, 5, 5, 7, 9]
(convert("100", "USD", "EUR"), convert(5, "EUR", "JPY", 0), getcontext().prec, Fraction("0.125") + Fraction(1, 3), Fraction(3.5).limit_denominator(), float(Fraction(1, 3)), statistics.pstdev(data), statistics.median_low(data), statistics.mode("aab"), statistics.quantiles(data, n=4), math.isclose(0.1 + 0.2, 0.3), math.gcd(12, 18, 27), math.lcm(4, 6), math.hypot(3, 4), math.comb(5, 2), math.fsum([0.1] * 10), round(2.5), round(-1.5), round(2.675, 2), round(1234, -2), divmod(-7, 2), 2 ** -1, 10 ** 20, 7.0 // 2, -0.0, 1e16, 1e15 + 0.5, 0.1 + 0.2, Decimal("1.10") + 1, f"{Decimal('1234.5'):,.2f}", int("z", 36), int("0b101", 0), complex(1, -2) * 1j, abs(3 - 4j), math.floor(-2.5), math.trunc(-2.5), math.inf > 10 ** 400, float("1e-7"), statistics.linear_regression([1, 2, 3], [2, 4, 6]).slope)
# case: inventory-with-custom-containers
from collections import UserDict, UserList, ChainMap, deque, OrderedDict, defaultdict, namedtuple
from collections.abc import MutableMapping, Sequence
class CaseDict(UserDict):
    def __setitem__(self, k, v): super().__setitem__(k.lower(), v)
    def __getitem__(self, k): return super().__getitem__(k.lower())
    def __contains__(self, k): return super().__contains__(k.lower())
class Ring(Sequence):
    def __init__(self, items): self._items = tuple(items)
    def __len__(self): return len(self._items)
    def __getitem__(self, i): return self._items[i % len(self._items)] if isinstance(i, int) else Ring(self._items[i])
    def __repr__(self): return f"Ring{self._items}"
class Observed(MutableMapping):
    def __init__(self, *a, **k): self.data, self.log = {}, []; self.update(*a, **k)
    def __getitem__(self, k): return self.data[k]
    def __setitem__(self, k, v): self.log.append(("set", k)); self.data[k] = v
    def __delitem__(self, k): self.log.append(("del", k)); del self.data[k]
    def __iter__(self): return iter(self.data)
    def __len__(self): return len(self.data)
class Auto(dict):
    def __missing__(self, key): self[key] = value = type(self)(); return value
Item = namedtuple("Item", "name qty price", defaults=(1, 0.0))
c, r, o, t = CaseDict(Apple=1), Ring("abc"), Observed(a=1, name=2), Auto()
c["PEAR"] = 2
t["x"]["y"]["z"] = 1
o.pop("a"); o.setdefault("b", 3)
settings = ChainMap({"debug": True}, {"debug": False, "level": 1})
settings["level"] = 5
q = deque(range(5), maxlen=3)
q.rotate(1)
od = OrderedDict.fromkeys("abc", 0)
od.move_to_end("a")
nested = defaultdict(lambda: defaultdict(int))
for w in ("ab", "ac", "bb"): nested[w[0]][w[1]] += 1
class Stack(UserList):
    push = UserList.append
    @property
    def top(self): return self[-1]
s = Stack([1]); s.push(2)
(dict(c), c["aPPLE"], "pear" in c, r[-4], r[1:], "c" in r, r.index("c"), [*reversed(r)], o.log, dict(o), t, settings["level"], settings.maps[1], q, list(od), {k: dict(v) for k, v in nested.items()}, Item("x"), Item("y", price=2)._replace(qty=3), s.top, s + [3], {**{"a": 1}, "a": 2}, {"a": 1} | {"b": 2}, [*{3: 1}, *"ab"], isinstance(o, MutableMapping))
# case: imports-of-things-inside-functions
def stats(values):
    from statistics import mean, stdev
    import math as m
    return m.floor(mean(values)), round(stdev(values), 3)
def lazily():
    try:
        import no_such_module_here
    except ModuleNotFoundError as e:
        return e.name
import collections.abc as cabc, datetime as dt
from math import *
from itertools import chain as joined
if __name__ == "__main__":
    out = [stats([1, 2, 3, 4]), lazily().split(".")[0], isinstance([], cabc.Sequence), dt.date(2024, 1, 1).isoformat(), sqrt(16), list(joined("a", "b")), floor(e)]
out
# case: walrus-and-conditional-tangles
data = [1, 5, 12, 7, 30]
if (n := len(data)) > 3 and (big := [y for x in data if (y := x * 2) > 12]): print(n, big, y)
while (value := data.pop()) > 6: print(value, end=" ")
else: print("stopped at", value)
print(any((hit := x) > 4 for x in data), hit)
result = "a" if not data else "b" if len(data) == 1 else "c"
grade = lambda s: ("A" if s >= 90 else "B" if s >= 80 else "F") if 0 <= s <= 100 else None
for i in range(3):
    for j in range(3):
        if j == 2: break
        if i == 1: continue
        print(i, j, sep=",", end=";")
    else: print("never")
else: print("done")
try:
    for k in "abc":
        try:
            if k == "b": raise KeyError(k)
        except KeyError: continue
        finally: print("fin", k, end=" ")
finally: print()
result, [grade(s) for s in (95, 85, 5, 101)], data and data[-1], None or 0 or "x", 1 and [] and 2, not (1 if [] else 0), x if (x := 5) else 0, [*range(5)][-2::-2], data[:] is data, (a := b"1", a * 2), *([i] * i for i in range(3))
# case: fields-that-bear-guarded-names
from dataclasses import dataclass
from collections import namedtuple
@dataclass
class Export:
    format: str = "csv"
    query: str = ""
    env: int = 1
    obj: object = None
Row = namedtuple("Row", "format query info update")
class Client:
    def query(self, text, **options): return text, options
    def format(self, *args): return args
    def update(self, **named): return named
    def strptime(self, text): return type(text).__name__
    @staticmethod
    def eval(x): return x
def kind(x):
    match x:
        case Export(env=2): return "second"
        case Export(): return "export"
        case Row(info=3): return "row"
    return "other"
c, r = Client(), Row(1, 2, 3, 4)
f = c.update
(Export().format, Export(query="q").query, Export().obj, kind(Export(env=2)), kind(Export()), kind(r), r.format, r.query, r.update, c.query("q", name=1), c.format(2), f(name=1), c.strptime("x"), Client.eval(3), memoryview(b"ab").format)
