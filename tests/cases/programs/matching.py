# case: literals
def f(x):
    match x:
        case 1: return "one"
        case "a" | "b": return "letter"
        case None: return "none"
        case True: return "true"
        case -3: return "minus three"
        case 2.5: return "float"
        case b"x": return "bytes"
        case 1 + 2j: return "complex"
        case _: return "other"
[f(v) for v in (1, "a", "b", None, True, False, -3, 2.5, b"x", 1 + 2j, [])]
# case: capture-and-wildcard
def f(x):
    match x:
        case []: return "empty"
        case [y]: return ("one", y)
        case [a, _]: return ("two", a)
        case [a, *rest]: return (a, rest)
        case other: return ("other", other)
[f(v) for v in ([], [1], (1, 2), [1, 2, 3], "str", 5)]
# case: sequence-star-positions
def f(x):
    match x:
        case [1, *_, 9]: return "1..9"
        case [*init, 0]: return ("init", init)
        case (a, b, *_): return (a, b)
[f(v) for v in ([1, 2, 9], [1, 9], [5, 6, 0], (1, 2, 3), [7])]
# case: strings-are-not-sequences
def f(x):
    match x:
        case [a, b]: return "seq"
        case str(): return "str"
        case _: return "other"
[f("ab"), f(["a", "b"]), f(b"ab"), f(bytearray(b"ab")), f({1, 2}), f(range(2)), f(x for x in "ab")]
# case: mapping
def f(d):
    match d:
        case {"type": "circle", "r": r}: return ("circle", r)
        case {"type": "rect", "w": w, "h": h}: return ("rect", w * h)
        case {"k": {"n": [x, *_]}}: return ("nested", x)
        case {**rest} if rest: return ("rest", rest)
        case {}: return "empty mapping"
        case _: return "not mapping"
[f(d) for d in ({"type": "circle", "r": 2}, {"type": "rect", "w": 2, "h": 3, "x": 0}, {"k": {"n": [9]}}, {"z": 1}, {}, 5)]
# case: mapping-rest
match {"a": 1, "b": 2, "c": 3}:
    case {"a": x, **rest}:
        print(x, rest)
# case: mapping-uses-get-not-missing
from collections import defaultdict
d = defaultdict(int)
match d:
    case {"x": v}:
        print("matched", v)
    case _:
        print("not matched", dict(d))
# case: class-patterns-builtin
def f(x):
    match x:
        case bool(b): return ("bool", b)
        case int(n) if n > 100: return "big"
        case int(n): return ("int", n)
        case str(s): return ("str", s)
        case list() | tuple(): return "seq"
        case float(): return "float"
        case dict(d): return ("dict", d)
        case _: return None
[f(v) for v in (True, 500, 5, "s", [1], (), 1.5, {"a": 1}, {1})]
# case: class-patterns-match-args
class P:
    __match_args__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y
def f(p):
    match p:
        case P(0, 0): return "origin"
        case P(0, y): return f"y axis {y}"
        case P(x=x, y=0): return f"x axis {x}"
        case P(x, y) if x == y: return "diagonal"
        case P(): return "point"
        case _: return "no point"
[f(P(*a)) for a in ((0, 0), (0, 5), (3, 0), (2, 2), (1, 2))] + [f(1)]
# case: dataclass-patterns
from dataclasses import dataclass
@dataclass
class Num: v: int
@dataclass
class Bin: op: str; l: object; r: object
def ev(e):
    match e:
        case Num(v): return v
        case Bin("+", l, r): return ev(l) + ev(r)
        case Bin("*", Num(0), _) | Bin("*", _, Num(0)): return 0
        case Bin("*", l, r): return ev(l) * ev(r)
        case Bin(op=o): raise ValueError(f"unknown operator {o}")
print(ev(Bin("+", Num(2), Bin("*", Num(3), Num(4)))), ev(Bin("*", Num(0), Num(7))))
ev(Bin("?", Num(1), Num(2)))
# case: or-patterns-with-capture
def f(x):
    match x:
        case [a, 1] | [1, a]: return a
        case {"v": a} | {"w": a}: return a
[f([5, 1]), f([1, 6]), f({"w": 3}), f({"v": 2}), f(0)]
# case: as-patterns
def f(x):
    match x:
        case [int() as a, (str() | float()) as b]: return (a, b)
        case {"k": [_, _] as pair} as whole: return (pair, len(whole))
        case (1 | 2) as n: return n
[f([1, "s"]), f([1, 2.5]), f({"k": [1, 2], "j": 0}), f(2)]
# case: guards
def f(x):
    match x:
        case n if n < 0: return "neg"
        case n if n % 2: return "odd"
        case _: return "even"
[f(v) for v in (-1, 3, 4)]
# case: guard-binding-survives-failed-guard
match 5:
    case n if n > 10:
        pass
    case _:
        print("fell through with", n)
# case: value-patterns
class C:
    RED = 1
    BLUE = 2
    class D: X = "deep"
def f(v):
    match v:
        case C.RED: return "red"
        case C.BLUE: return "blue"
        case C.D.X: return "x"
        case _: return "?"
[f(1), f(2), f("deep"), f(3)]
# case: enum-value-patterns
from enum import Enum
class S(Enum):
    ON = 1
    OFF = 0
def f(s):
    match s:
        case S.ON: return "on"
        case S.OFF: return "off"
(f(S.ON), f(S.OFF))
# case: nested-structures
cmd = {"action": "move", "args": [("x", 1), ("y", [2, 3])]}
match cmd:
    case {"action": "move", "args": [("x", dx), ("y", [a, b])]}:
        print(dx, a, b)
# case: command-parser
def run(line):
    match line.split():
        case ["go", ("north" | "south") as d]: return f"going {d}"
        case ["go", d]: return f"cannot go {d}"
        case ["take", *items] if items: return f"taking {', '.join(items)}"
        case ["quit" | "exit"]: return "bye"
        case []: return "say something"
        case [unknown, *_]: return f"unknown {unknown}"
[run(s) for s in ("go north", "go up", "take a b", "take", "exit", "", "dance now")]
# case: no-match-is-silent
match 5:
    case 6:
        print("six")
print("after")
# case: subject-tuple
def f(a, b):
    match a, b:
        case 0, 0: return "both"
        case 0, _: return "a"
        case _, 0: return "b"
        case _: return "none"
[f(0, 0), f(0, 1), f(1, 0), f(1, 1)]
# case: subject-evaluated-once
log = []
def s():
    log.append("subject")
    return 3
match s():
    case 1: pass
    case 2: pass
    case 3: log.append("three")
log
# case: subject-walrus-and-star
match (n := 5):
    case 5: print("five", n)
match *[1, 2], 3:
    case [1, 2, 3]: print("built")
# case: match-in-loop-with-break
out = []
for t in ["a", "skip", "b", "stop", "c"]:
    match t:
        case "skip": continue
        case "stop": break
        case x: out.append(x)
out
# case: return-from-match-in-function
def f(x):
    match x:
        case int(): 
            return "int"
        case _:
            pass
    return "after"
(f(1), f("s"))
# case: irrefutable-not-last-is-syntax-error
match 1:
    case x: pass
    case 2: pass
# case: duplicate-capture-is-syntax-error
match [1, 1]:
    case [a, a]: pass
# case: class-pattern-too-many-positional
class P:
    __match_args__ = ("x",)
    x = 1
match P():
    case P(1, 2): pass
# case: class-pattern-missing-attribute-does-not-match
class P: pass
match P():
    case P(x=1): print("matched")
    case _: print("not matched")
# case: class-pattern-not-a-type
x = 5
match 3:
    case x(): pass
# case: soft-keywords-as-names
match = [1, 2]
case = 5
match[0] = case
print(match, case)
match (1)if 0 else match
# case: json-walker
def depth(j):
    match j:
        case {} if not j: return 1
        case dict(): return 1 + max(depth(v) for v in j.values())
        case []: return 1
        case [*items]: return 1 + max(map(depth, items))
        case str() | int() | float() | None: return 0
depth({"a": [1, {"b": []}], "c": None})
# case: numbers-equality-and-identity
def f(x):
    match x:
        case 1: return "one"
        case True: return "never for 1"
        case 0: return "zero"
[f(1), f(True), f(1.0), f(False), f(0.0)]
# case: sequence-of-patterns-fixed-length
def f(x):
    match x:
        case [[a, b], [c, d]]: return a * d - b * c
        case [[a]]: return a
[f([[1, 2], [3, 4]]), f([[5]]), f([1])]
# case: pattern-with-parentheses
match (1, (2, 3)):
    case (a, (b, c)): print(a, b, c)
match 5:
    case (5): print("group")
match [1]:
    case (x,): print("tuple", x)
# case: negative-and-underscore-literals
match -1_000:
    case -1000: print("ok")
# case: match-binds-in-enclosing-scope
def f():
    match {"p": (1, 2)}:
        case {"p": (a, b)}: pass
    return lambda: a + b
f()()
# case: guarded-attribute-as-value-pattern
class Mode:
    format = "text"
    core = 2
def kind(x):
    match x:
        case Mode.format: return "format"
        case Mode.core: return "core"
        case _: return "other"
[kind("text"), kind(2), kind(4)]
# case: inner-class-as-class-pattern
class Shape:
    class Square:
        __match_args__ = ("side",)
        def __init__(self, side): self.side = side
    def area(self, x):
        match x:
            case Shape.Square(side=3): return "three"
            case Shape.Square(s): return s * s
            case int(): return 2
    def make(self, side): return self.Square(side)
s = Shape()
[s.area(s.make(3)), s.area(s.make(4)), s.area(1)]
# case: match-class-match-args-errors
class P:
    __match_args__ = ["x"]
match P():
    case P(1): pass
# case: match-class-match-args-not-strings
class P:
    __match_args__ = (1,)
match P():
    case P(1): pass
# case: match-class-duplicate-attribute
class P:
    __match_args__ = ("x",)
    x = 1
match P():
    case P(1, x=1): pass
# case: match-class-inherited-match-args
class P:
    __match_args__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y
class Q(P): pass
match Q(1, 2):
    case Q(a, y=b): r = (a, b)
r
# case: match-class-property-and-getattr
class P:
    __match_args__ = ("a", "b")
    @property
    def a(self):
        print("a read")
        return 1
    def __getattr__(self, n):
        print("ga", n)
        raise AttributeError(n)
match P():
    case P(1, 2): print("no")
    case P(1): print("yes")
# case: match-class-in-class-body
class A:
    match {"k": [1, 2]}:
        case {"k": [x, *rest]}:
            y = x
    class B:
        match (1, 2):
            case (p, q): pass
(A.x, A.rest, A.y, A.B.p, A.B.q)
# case: match-mapping-duplicate-keys
class K: a = "k"
match {"k": 1}:
    case {"k": 1, K.a: 2}: pass
# case: match-mapping-custom-mapping
from collections.abc import Mapping
class M(Mapping):
    def __init__(self, d): self.d = d
    def __getitem__(self, k): return self.d[k]
    def __iter__(self): return iter(self.d)
    def __len__(self): return len(self.d)
match M({"a": 1, "b": 2, "c": 3}):
    case {"a": 1, **rest}: print(type(rest).__name__, rest)
# case: match-sequence-of-deque-range-and-custom
from collections.abc import Sequence
from collections import deque, namedtuple
class S(Sequence):
    def __len__(self): return 2
    def __getitem__(self, i): return [10, 20][i]
P = namedtuple("P", "x y")
out = []
for s in (deque([1, 2]), range(2), S(), P(3, 4), (x for x in (1, 2)), {1, 2}, bytearray(b"ab")):
    match s:
        case [a, b]: out.append((a, b))
        case _: out.append(None)
out
# case: match-namedtuple-class-pattern
from collections import namedtuple
P = namedtuple("P", "x y")
match P(1, 2):
    case P(x=0): r = 0
    case P(a, b): r = (a, b)
r
# case: match-or-different-names-is-syntax-error
match 1:
    case (1, x) | [2, y]: pass
# case: match-unreachable-or-is-syntax-error
match 1:
    case _ | 1: pass
# case: match-complex-and-special-literals
for v in (1 + 2j, -3, -1.5, b"x", None, True, 1, 1.0, "s"):
    match v:
        case 1 + 2j: print("c")
        case -3 | -1.5: print("n")
        case b"x": print("b")
        case None: print("N")
        case True: print("T")
        case 1: print("one")
        case str(s): print(s)
# case: match-capture-partial-binding
match [1, [2, 3], 4]:
    case [a, [b, 9], c]: pass
    case [a, [b, c], 4]: pass
(a, b, c)
# case: match-guard-raises
match 3:
    case x if x / 0: pass
# case: match-eq-called
class E:
    def __eq__(self, o):
        print("eq", o)
        return o == 2
match E():
    case 1: print("1")
    case "a" | 2: print("2")
# case: match-in-lambda-comprehension-and-generator
def f(xs):
    for x in xs:
        match x:
            case {"t": t, "v": int() | float() as v}: yield t, v
            case [*_, {"z": z}]: yield "z", z
            case str() as s if s.isupper(): yield "up", s
            case _: yield None
list(f([{"t": 1, "v": 2.5}, [1, {"z": 3}], "AB", "ab", {"t": 1}]))
# case: match-enum-dotted-nested
import enum
class C(enum.Enum):
    R = 1
    G = 2
class Box:
    C = C
def f(x):
    match x:
        case Box.C.R: return "r"
        case C.G: return "g"
        case C(): return "other"
(f(C.R), f(C.G))
# case: match-class-from-module-attribute
import datetime, collections
def f(x):
    match x:
        case datetime.date(year=y, month=m): return (y, m)
        case collections.OrderedDict(): return "od"
        case collections.Counter(): return "c"
(f(datetime.date(2020, 5, 1)), f(collections.OrderedDict()), f(collections.Counter()))
# case: match-dataclass-kwonly-and-nested
import dataclasses
@dataclasses.dataclass
class P:
    x: int
    y: int = dataclasses.field(default=0, kw_only=True)
@dataclasses.dataclass
class L:
    a: P
    b: P
match L(P(1, y=2), P(3)):
    case L(P(x, y=2), P(y=0) as q): r = (x, q)
(r, P.__match_args__)
# case: match-star-in-middle-and-wildcard-counts
def f(s):
    match s:
        case []: return "e"
        case [x]: return x
        case [x, *_, y] if x == y: return "same"
        case (x, *mid, _) if len(mid) > 1: return mid
        case [_, *_]: return "some"
(f([]), f([1]), f([1, 2, 1]), f([1, 2, 3, 4]), f([1, 2]))
# case: match-statement-as-only-return-value
x = 3
match x:
    case 3:
        "three"
    case _:
        "other"
