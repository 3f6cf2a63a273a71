# case: integer-operators
print(7 + 3, 7 - 3, 7 * 3, 7 / 2, 7 // 2, 7 % 3, 7 ** 3)
-7 // 2, -7 % 3, 7 // -2, 7 % -3
# case: float-operators
[0.1 + 0.2, 1.5 // 0.4, -1.5 % 0.4, 2.0 ** 0.5, 1e308 * 10]
# case: mixed-number-types
(True + True, 1 + 2.5, 3 * (1 + 2j), 2 ** -1, True / 2, 5 // 2.0)
# case: unary-operators
x = 5
(-x, +x, ~x, not x, - -x, ~~x, not not x)
# case: bit-operators
a, b = 0b1100, 0b1010
(a & b, a | b, a ^ b, a << 3, a >> 2, ~a & 0xFF)
# case: precedence-power-unary
(-2 ** 2, (-2) ** 2, 2 ** 3 ** 2, -2 ** -2, not 1 == 2)
# case: precedence-mixed
1 + 2 * 3 - 4 // 2 ** 2 % 3 << 1 & 7 | 8 ^ 3
# case: big-integers
n = 2 ** 200 + 1
print(n % 97, n // 10 ** 50)
n
# case: big-factorial-by-hand
p = 1
for i in range(1, 60):
    p *= i
p
# case: integer-literals
(0xFF, 0o17, 0b101, 1_000_000, 0xDEAD_BEEF)
# case: float-literals
(1., .5, 1e3, 1E-3, 1_0.0_1, 3.14j, 1e-400)
# case: complex-arithmetic
z = (3 + 4j)
(abs(z), z.real, z.imag, z.conjugate(), z * z, z / (1 - 1j), z ** 2)
# case: divmod-and-pow
(divmod(17, 5), divmod(-17, 5), divmod(7.5, 2), pow(3, 4), pow(3, 4, 5), pow(3, -1, 7))
# case: rounding
(round(2.5), round(3.5), round(-2.5), round(2.675, 2), round(1234, -2), round(1.0), round(7.0, 0))
# case: int-conversion
(int("42"), int(" -7 "), int("ff", 16), int("0b11", 0), int(3.99), int(-3.99), int(True))
# case: float-conversion
(float("1.5"), float("inf"), float("-inf"), float("1e3"), float(" 2 "), str(float("nan")))
# case: float-special-comparison
nan = float("nan")
(nan == nan, nan != nan, nan < 1, float("inf") > 10 ** 400, [nan] == [nan], nan in [nan])
# case: number-methods
((10).bit_length(), (255).to_bytes(2, "big"), int.from_bytes(b"\x01\x00", "little"), (0.75).as_integer_ratio(), (4.0).is_integer(), (0.1).hex())
# case: bit-count
bin(0b101101).count("1"), (0b101101).bit_count()
# case: int-float-equality
(1 == 1.0, hash(1) == hash(1.0), 1 is True, 2 ** 53 + 1 == float(2 ** 53 + 1), True == 1)
# case: sum-of-floats
sum([0.5] * 10), sum([1, 2, 3], 10), sum([[1], [2]], [])
# case: abs-min-max
(abs(-3), abs(-3.5), min(3, 1, 2), max([4, 9, 2]), min("b", "a"), max([], default=0), max("aa", "b", key=len))
# case: operator-overload-dispatch
class V:
    def __init__(self, x): self.x = x
    def __add__(self, o): return V(self.x + (o.x if isinstance(o, V) else o))
    def __radd__(self, o): return V(o + self.x)
    def __mul__(self, o): return V(self.x * o)
    __rmul__ = __mul__
    def __neg__(self): return V(-self.x)
    def __repr__(self): return f"V({self.x})"
print(V(1) + V(2), V(1) + 5, 5 + V(1), 3 * V(2), -V(7))
sum([V(1), V(2)])
# case: matrix-multiplication-operator
class M:
    def __init__(self, rows): self.rows = rows
    def __matmul__(self, o):
        return M([[sum(a * b for a, b in zip(r, c)) for c in zip(*o.rows)] for r in self.rows])
    def __imatmul__(self, o): 
        self.rows = (self @ o).rows
        return self
a = M([[1, 2], [3, 4]])
print((a @ a).rows)
a @= M([[0, 1], [1, 0]])
a.rows
# case: reflected-and-notimplemented
class A:
    def __sub__(self, o): return NotImplemented
class B:
    def __rsub__(self, o): return "B.__rsub__"
A() - B()
# case: subclass-reflected-first
class A:
    def __add__(self, o): return "A.add"
    def __radd__(self, o): return "A.radd"
class B(A):
    def __radd__(self, o): return "B.radd"
(A() + B(), B() + A())
# case: inplace-falls-back
class A:
    def __init__(self, v): self.v = v
    def __add__(self, o): return A(self.v + o)
class B(A):
    def __iadd__(self, o):
        self.v += o * 100
        return self
a = A(1); b = B(1); a0, b0 = a, b
a += 1; b += 1
(a.v, a0.v, a is a0, b.v, b0.v, b is b0)
# case: index-protocol
class I:
    def __index__(self): return 2
([10, 20, 30][I()], range(10)[I():], hex(I()), "ab" * I())
# case: conversion-dunders
class N:
    def __int__(self): return 7
    def __float__(self): return 7.5
    def __complex__(self): return 1j
    def __round__(self, n=None): return ("round", n)
    def __abs__(self): return "abs"
    def __bool__(self): return False
(int(N()), float(N()), complex(N()), round(N()), round(N(), 2), abs(N()), bool(N()), not N())
# case: decimal-arithmetic
from decimal import Decimal, getcontext
Decimal("0.1") + Decimal("0.2"), Decimal(1) / Decimal(8), Decimal("1.10").normalize()
# case: fraction-arithmetic
from fractions import Fraction
Fraction(1, 3) + Fraction(1, 6), Fraction("0.125"), Fraction(3, 4) ** 2
# case: evaluation-order-binary
log = []
def t(n):
    log.append(n)
    return n
t(1) + t(2) * t(3) - t(4) ** t(5) % t(6)
log
# case: chained-power-evaluation-order
log = []
def t(n):
    log.append(n)
    return n
r = t(2) ** t(3) ** t(2)
(r, log)
# case: shift-of-negative
(-5 >> 1, -1 >> 100, 5 << 0, -5 << 2)
# case: augmented-all-operators
x = 100
x += 5; x -= 3; x *= 2; x //= 3; x %= 50; x **= 2; x <<= 2; x >>= 1; x |= 1; x &= 0xFFFF; x ^= 0b11
y = 9
y /= 2
(x, y)
# case: int-string-round-trip
all(int(str(n)) == n for n in (0, -1, 10 ** 30, -10 ** 30))
# case: undefined-augmented-is-an-error
counter += 1
# case: zero-division-kinds
out = []
for f in (lambda: 1 / 0, lambda: 1 // 0, lambda: 1 % 0, lambda: 1.0 / 0, lambda: 0 ** -1, lambda: divmod(1, 0)):
    try:
        f()
    except ZeroDivisionError as e:
        out.append(str(e))
out
# case: overflow
try:
    2.0 ** 5000
except OverflowError as e:
    print(type(e).__name__, e)
# case: bytes-of-an-integer-without-a-length
for n in (0, 5, 255, 256):
    try:
        print(n.to_bytes(), n.to_bytes(byteorder="little"))
    except (TypeError, OverflowError) as error:
        print(type(error).__name__, error)
