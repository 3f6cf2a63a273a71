# case: attributes-and-methods
class Dog:
    kind = "canine"
    def __init__(self, name): self.name = name
    def speak(self, n=1): return f"{self.name}: " + "woof " * n
d = Dog("Rex")
d.age = 3
(d.kind, d.name, d.age, d.speak(2), Dog.kind, isinstance(d, Dog), type(d).__name__)
# case: class-attribute-shadowing
class C: n = []
a, b = C(), C()
a.n.append(1)
b.n = [9]
(a.n, b.n, C.n)
# case: inheritance
class A:
    def f(self): return "A"
    def g(self): return self.f() + "g"
class B(A):
    def f(self): return "B"
(A().g(), B().g(), issubclass(B, A), isinstance(B(), A))
# case: super-no-arguments
class A:
    def __init__(self, x): self.x = x
    def d(self): return ["A"]
class B(A):
    def __init__(self, x, y):
        super().__init__(x)
        self.y = y
    def d(self): return super().d() + ["B"]
class C(B):
    def d(self): return super().d() + ["C"]
c = C(1, 2)
(c.x, c.y, c.d())
# case: super-with-arguments
class A:
    def f(self): return 1
class B(A):
    def f(self): return super(B, self).f() + 1
B().f()
# case: multiple-inheritance-mro
class A:
    def f(self): return ["A"]
class B(A):
    def f(self): return ["B"] + super().f()
class C(A):
    def f(self): return ["C"] + super().f()
class D(B, C):
    def f(self): return ["D"] + super().f()
D().f()
# case: mro-conflict
class A: pass
class B(A): pass
class C(A, B): pass
# case: repr-and-str
class A:
    def __repr__(self): return "repr"
class B:
    def __str__(self): return "str"
    def __repr__(self): return "rb"
(str(A()), f"{A()}", str(B()), repr(B()), [B()], f"{B()!r}", "%s %r" % (B(), B()))
# case: default-repr
class A: pass
print(A)
repr(A()).startswith("<__main__.A object at")
# case: classmethod-and-staticmethod
class P:
    count = 0
    def __init__(self, x): self.x = x; type(self).count += 1
    @classmethod
    def make(cls, s): return cls(int(s))
    @staticmethod
    def check(x): return x > 0
class Q(P): pass
p, q = P.make("3"), Q.make("4")
(p.x, type(q).__name__, P.check(1), p.check(-1), P.count, Q.count)
# case: property-full
class T:
    def __init__(self, c): self._c = c
    @property
    def f(self): "doc"; return self._c * 9 / 5 + 32
    @f.setter
    def f(self, v): self._c = (v - 32) * 5 / 9
t = T(100)
r = t.f
t.f = 32
(r, t._c)
# case: property-call-form
class C:
    def __init__(self): self._x = 1
    def get(self): return self._x
    def put(self, v): self._x = v
    x = property(get, put, doc="the x")
c = C()
c.x = 5
(c.x, C.x.__doc__)
# case: slots
class P:
    __slots__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y
p = P(1, 2)
p.x = 10
try:
    p.z = 5
except AttributeError as e:
    print(e)
(p.x, p.y)
# case: getattr-hook
class Lazy:
    def __init__(self): self.real = 1
    def __getattr__(self, name):
        if name.startswith("dyn"):
            return name.upper()
        raise AttributeError(f"no {name}")
l = Lazy()
(l.real, l.dyn_a, hasattr(l, "dynx"), hasattr(l, "other"), getattr(l, "other", "dflt"))
# case: setattr-hook
class Log:
    def __init__(self):
        super().__setattr__("log", [])
        self.x = 1
    def __setattr__(self, k, v):
        self.log.append(k)
        super().__setattr__(k, v)
    def __delattr__(self, k):
        self.log.append("-" + k)
        super().__delattr__(k)
o = Log()
o.x += 1
del o.x
o.log
# case: getattr-setattr-hasattr-builtins
class C: pass
c = C()
setattr(c, "x", 5)
delattr(c, "x") if hasattr(c, "x") and False else None
(getattr(c, "x"), getattr(c, "y", 0), hasattr(c, "x"), hasattr(c, "y"))
# case: missing-attribute
class C: pass
C().nope
# case: missing-class-attribute
class C: pass
C.nope
# case: missing-attribute-on-builtin
[].push(1)
# case: none-attribute
x = None
x.strip()
# case: eq-and-hash
class P:
    def __init__(self, x): self.x = x
    def __eq__(self, o): return type(o) is P and o.x == self.x
    def __hash__(self): return hash(("P", self.x))
(P(1) == P(1), P(1) != P(2), len({P(1), P(1)}), {P(1): "v"}[P(1)], P(1) in [P(1)])
# case: call-len-contains-getitem
class L:
    def __init__(self, *v): self.v = v
    def __len__(self): return len(self.v)
    def __getitem__(self, i): return self.v[i]
    def __contains__(self, x): return x in self.v
    def __call__(self, i): return self.v[i] * 10
    def __reversed__(self): return iter(self.v[::-1])
l = L(1, 2, 3)
(len(l), l[0], l[-1], l[0:2], 2 in l, 5 in l, l(1), list(reversed(l)), list(l), bool(L()))
# case: new-and-singleton
class S:
    inst = None
    def __new__(cls, *a):
        if cls.inst is None:
            cls.inst = super().__new__(cls)
        return cls.inst
    def __init__(self, v): self.v = v
(S(1) is S(2), S(3).v)
# case: subclass-builtin-containers
class Stack(list):
    def push(self, x): self.append(x)
    def peek(self): return self[-1]
class Cfg(dict):
    def __getattr__(self, k):
        try:
            return self[k]
        except KeyError:
            raise AttributeError(k)
s = Stack([1]); s.push(2)
(s, s.peek(), len(s), Cfg(a=1).a, hasattr(Cfg(), "z"), isinstance(s, list))
# case: subclass-int-and-tuple
class Age(int):
    def __new__(cls, v): return super().__new__(cls, max(0, v))
    def older(self): return Age(self + 1)
class Pt(tuple):
    def __new__(cls, x, y): return super().__new__(cls, (x, y))
    @property
    def x(self): return self[0]
(Age(-5), Age(3).older(), type(Age(3) + 1).__name__, Pt(1, 2).x, Pt(1, 2))
# case: init-subclass
class Base:
    registry = {}
    def __init_subclass__(cls, /, tag=None, **kw):
        super().__init_subclass__(**kw)
        cls.registry[cls.__name__] = tag
class A(Base, tag="a"): pass
class B(A): pass
Base.registry
# case: set-name
class Field:
    def __set_name__(self, owner, name): self.name = f"{owner.__name__}.{name}"
class M:
    a = Field()
    b = Field()
(M.a.name, M.b.name)
# case: class-getitem
class Vec:
    def __class_getitem__(cls, item): return f"{cls.__name__}[{item}]"
(Vec[int], Vec["x", 2])
# case: nested-classes
class Outer:
    class Inner:
        v = 1
        def f(self): return "inner"
    def make(self): return self.Inner()
(Outer.Inner.v, Outer().make().f(), Outer.Inner.__qualname__, Outer.make.__qualname__)
# case: class-in-function-closure
def make(n):
    class C:
        k = n
        def f(self): return n + self.k
    return C
(make(1)().f(), make(5)().f(), make(1).__qualname__)
# case: class-body-control-flow
class C:
    for i in range(3):
        exec_count = i
    if i == 2:
        def f(self): return "two"
    else:
        def f(self): return "other"
    try:
        x = 1 / 0
    except ZeroDivisionError:
        x = "inf"
(C().f(), C.x, C.i, C.exec_count)
# case: class-without-parentheses-and-object
class A: pass
class B(): pass
class C(object): pass
[X.__name__ for X in (A, B, C)]
# case: dynamic-base
def base(flag):
    class T:
        def who(self): return "T"
    class F:
        def who(self): return "F"
    return T if flag else F
class X(base(True)): pass
class Y(base(False)): pass
(X().who(), Y().who())
# case: bases-from-star-and-keywords
class A: a = 1
class B: b = 2
bases = (A, B)
class C(*bases): pass
class D(*bases, **{}): pass
(C.a, D.b)
# case: methods-assigned-later
class C: pass
def f(self, x): return (self.v, x)
C.f = f
c = C()
c.v = 1
c.g = lambda x: x * 2
(c.f(5), c.g(4))
# case: instance-method-identity
class C:
    def m(self): pass
c = C()
(c.m == c.m, c.m is c.m, C.m is C.m, c.m.__name__)
# case: abstract-base-class
from abc import ABC, abstractmethod
class Shape(ABC):
    @abstractmethod
    def area(self): ...
    def twice(self): return 2 * self.area()
class Sq(Shape):
    def __init__(self, s): self.s = s
    def area(self): return self.s ** 2
print(Sq(3).twice())
try:
    Shape()
except TypeError as e:
    print(type(e).__name__)
# case: iterator-and-context-dunders
class R:
    def __enter__(self): return self
    def __exit__(self, *a): return False
    def __iter__(self): return iter("ab")
with R() as r:
    x = list(r)
x
# case: mixin
class Jsonish:
    def dump(self): return {k: getattr(self, k) for k in self.fields}
class U(Jsonish):
    fields = ("a", "b")
    def __init__(self): self.a, self.b = 1, 2
U().dump()
# case: cooperative-init
class A:
    def __init__(self, **k): self.seen = ["A"]; self.rest = k
class B(A):
    def __init__(self, b, **k): super().__init__(**k); self.seen.append("B"); self.b = b
class C(A):
    def __init__(self, c, **k): super().__init__(**k); self.seen.append("C"); self.c = c
class D(B, C):
    def __init__(self, **k): super().__init__(**k); self.seen.append("D")
d = D(b=1, c=2, x=9)
(d.seen, d.b, d.c, d.rest)
# case: vars-of-own-object
class C:
    def __init__(self): self.a, self.b = 1, 2
vars(C())
# case: dir-of-own-object
class C:
    def __init__(self): self.a = 1
    def m(self): pass
[n for n in dir(C()) if not n.startswith("_")]
# case: type-checks
class A: pass
class B(A): pass
b = B()
(isinstance(b, (int, A)), issubclass(B, (int, A)), type(b) is A, type(b) == B, isinstance(True, int), isinstance(1, int | str), type(5).__name__, callable(A))
# case: bank-account
class Insufficient(Exception): pass
class Account:
    def __init__(self, owner, balance=0): self.owner, self.balance, self.log = owner, balance, []
    def deposit(self, n):
        if n <= 0: raise ValueError("Deposit must be positive")
        self.balance += n; self.log.append(("d", n))
    def withdraw(self, n):
        if n > self.balance: raise Insufficient(f"{self.owner} has {self.balance}, asked {n}")
        self.balance -= n; self.log.append(("w", n))
a = Account("Ann", 10)
a.deposit(5)
for n in (3, 100):
    try:
        a.withdraw(n)
    except Insufficient as e:
        print("refused:", e)
try:
    a.deposit(-1)
except ValueError as e:
    print(e)
(a.balance, a.log)
# case: linked-list
class Node:
    def __init__(self, v, nxt=None): self.v, self.next = v, nxt
class LL:
    def __init__(self, it=()):
        self.head = None
        for v in reversed(list(it)):
            self.head = Node(v, self.head)
    def __iter__(self):
        n = self.head
        while n:
            yield n.v
            n = n.next
    def reverse(self):
        prev, n = None, self.head
        while n:
            n.next, prev, n = prev, n, n.next
        self.head = prev
l = LL("abc")
l.reverse()
list(l)
# case: operator-class-polynomial
class Poly:
    def __init__(self, *c): self.c = list(c)
    def __add__(self, o):
        n = max(len(self.c), len(o.c))
        a, b = self.c + [0] * (n - len(self.c)), o.c + [0] * (n - len(o.c))
        return Poly(*[x + y for x, y in zip(a, b)])
    def __mul__(self, o):
        r = [0] * (len(self.c) + len(o.c) - 1)
        for i, x in enumerate(self.c):
            for j, y in enumerate(o.c):
                r[i + j] += x * y
        return Poly(*r)
    def __call__(self, x): return sum(c * x ** i for i, c in enumerate(self.c))
    def __repr__(self): return " + ".join(f"{c}x^{i}" for i, c in enumerate(self.c) if c)
p = Poly(1, 2) * Poly(0, 1, 3) + Poly(5)
(p, p(2))
# case: del-method-on-last-reference
log = []
class D:
    def __del__(self): log.append("gone")
d = D()
d = None
log
# case: str-on-class-with-doc
class C:
    """The docs."""
    def m(self):
        """Method docs."""
(C.__doc__, C.m.__doc__, C().m.__doc__)
# case: init-returning-value
class C:
    def __init__(self): return 5
C()
# case: not-implemented-comparison-falls-to-identity
class A:
    def __eq__(self, o): return NotImplemented
a = A()
(a == a, a == A(), a != 5)
# case: class-attribute-mutation-through-classmethod
class Reg:
    items = []
    @classmethod
    def add(cls, x): cls.items = cls.items + [x]; return cls
class Sub(Reg): pass
Reg.add(1)
Sub.add(2)
(Reg.items, Sub.items)
# case: three-argument-type
def hi(self): return "hi " + self.name
T = type("T", (), {"name": "dyn", "hi": hi})
U = type("U", (T,), {"extra": 1})
(T().hi(), U().hi(), U.extra, T.__name__, issubclass(U, T))
# case: object-sentinel
MISSING = object()
def get(d, k, default=MISSING):
    if k in d: return d[k]
    if default is MISSING: raise KeyError(k)
    return default
(get({"a": 1}, "a"), get({}, "z", None))
# case: parameter-called-type
def conv(value, type=int): return type(value, 16)
conv("ff")
# case: parameter-called-type-with-keyword
def conv(value, type): return type(value, key=lambda v: -v)
conv([1, 2], sorted)
# case: bytes-as-a-value
from typing import Union, Optional, List, cast
T = Union[str, bytes]
print(T, Optional[bytes], List[bytes])
kinds = (bytes, str)
print(isinstance(b"a", kinds), issubclass(bytes, kinds))
handlers = {bytes: "b", str: "s", range: "r", bytearray: "ba"}
print(handlers[type(b"")], handlers[type(range(3))], type(b"") in (bytes, list), bytes)
print(cast(bytes, b"x"), bytes.__name__, type(bytes))
f = bytes
print(f([1, 2]), f("é", "utf-8"), f(3), f.fromhex("0a0b"))
print(list(map(bytes, [[1], [2]])), list(map(range, [1, 2])))
print(sorted([bytes, str, int], key=lambda t: t.__name__))
