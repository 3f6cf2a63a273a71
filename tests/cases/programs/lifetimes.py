# case: generator-is-closed-at-break
def g():
    try:
        yield 1
        yield 2
    finally: print("closed")
for x in g(): break
print("after")
# case: generator-is-closed-at-return-and-exception
def g():
    try:
        yield 1
        yield 2
    finally: print("closed")
def f():
    for x in g(): return x
print(f())
try:
    for x in g(): raise KeyError(x)
except KeyError: print("handled")
# case: generator-in-comprehension-is-closed
def g():
    try:
        yield from range(3)
    finally: print("closed")
def t(x):
    if x: raise ValueError(x)
try: [t(x) for x in g()]
except ValueError as e: print(e)
print(next(x for x in g()))
print(any(x for x in g()), "any")
# case: objects-end-with-the-expression
class A:
    def __init__(self, n): self.n = n
    def __del__(self): print("del", self.n)
    def __add__(self, o): return A(self.n + o.n)
    def __mul__(self, k): return A(self.n * k)
    def __str__(self): return f"A{self.n}"
A(1)
print("1")
x = A(2) + A(3)
print("2")
x = x * 2
print("3")
print(f"{A(7)} {A(8)}")
print("4")
x += A(1)
print("5")
del x
print("6")
# case: objects-end-in-functions
class A:
    def __init__(self, n): self.n = n
    def __del__(self): print("del", self.n)
    def __mul__(self, k): return A(self.n * k)
    def __lshift__(self, k): return A(self.n + k)
    def __mod__(self, k): return A(self.n % k)
    def get(self): return self.n
def f():
    a = A(1)
    b = a * 3
    a = None
    print("a gone")
    b = b << 1
    print(b.get())
    b %= 2
    A(9).get()
    print("end")
f()
print("out")
# case: objects-end-with-the-loop-round
class A:
    def __init__(self, n): self.n = n
    def __del__(self): print("del", self.n)
for i in range(2):
    a = A(i)
    print("round", i)
for a in (A(i + 10) for i in range(2)): print("it")
i = 0
while (b := A(20 + i)) and i < 2: i += 1
del a, b
print("end")
# case: objects-end-with-subscripts-and-slices
class A:
    def __init__(self, n): self.n = n
    def __del__(self): print("del", self.n)
class L:
    def __getitem__(self, k): return A(5)
    def __setitem__(self, k, v): print("set")
l = L()
l[A(1)]
print("a")
l[A(2)] = A(3)
print("b")
l[A(4):A(6)] = 1
print("c")
d = {0: A(7)}
d[0] = A(8)
d.update({0: 1})
print("d")
[A(9)] * 2
print("e")
# case: objects-end-with-handlers
class A:
    def __del__(self): print("del")
class E(Exception): pass
def f():
    a = A()
    raise E
try: f()
except E as e: print("in")
print("out")
# case: objects-end-with-with
class A:
    def __init__(self, n): self.n = n
    def __enter__(self): return A(self.n + 1)
    def __exit__(self, *a): print("exit", self.n)
    def __del__(self): print("del", self.n)
with A(1): print("body")
print("a")
with A(3) as x: pass
del x
print("b")
# case: objects-end-after-match
class A:
    def __init__(self, n): self.n = n
    def __del__(self): print("del", self.n)
match A(1):
    case A(n=2): pass
    case A(n=k): print("k", k)
print("end")
match [A(3), 4]:
    case [_, 4]: print("m")
print("end")
# case: objects-end-with-unpacking-and-calls
class A:
    def __init__(self, n): self.n = n
    def __del__(self): print("del", self.n)
def f(*a, **k): return len(a)
print(f(*[A(1), A(2)]))
a, *b = [A(3), A(4)]
b = None
print("x")
a = b
f(A(5), k=A(6))
print(",".join(map(str, [f(A(7))])))
"".replace("a", str(f(A(8))))
sorted([A(9)], key=lambda v: v.n)
print("end")
# case: weak-references-see-the-end
import functools
class A:
    made = 0
    def __init__(self): A.made += 1
    def __del__(self): A.made -= 1
    def chain(self): return self
def f():
    a = A().chain().chain()
    return A.made
(f(), A.made, [A() for _ in range(3)] and A.made, A.made)
# case: return-value-ends-after-finally
class A:
    def __del__(self): print("del")
def f():
    try: return A()
    finally: print("fin")
f()
print("end")
# case: operands-end-with-the-operation
class A:
    def __init__(self, n): self.n = n
    def __del__(self): print("del", self.n)
    def __add__(self, o): return A(self.n * 10)
    __mul__ = __pow__ = __mod__ = __imul__ = __add__
def make(n): return A(n)
def f():
    x = make(1) + make(2)
    x = make(3) * 4
    print("mul")
    x = make(5) ** 2
    print("pow")
    x = make(6) % x
    print("mod")
    x *= make(7)
    print("imul")
    x = make(8) + make(9) + make(10)
    print("sums")
    x = None
    print("end")
f()
x = make(1) * 2 + make(3)
x = None
print("module")
# case: long-lists-end-when-rebound
class A:
    def __del__(self): print("del")
a = [A()] + [0] * 5000
a = [1]
print("after sum")
b = [A()] * 5000
b = 2
print("after product")
