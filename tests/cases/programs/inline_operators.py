# Operators that are rewritten inline, and what only looks alike.
# case: value-binds-the-global-anew
x = 2
def f():
    global x
    x = 50
    return 3
x *= f()
result = x
# case: value-binds-the-target-anew
x = 2
x *= (x := 5)
result = x
# case: walrus-on-the-right
x = 2
result = x * (x := 5), x
# case: walrus-on-the-left
x = 2
result = (x := 3) * x, x << (x := 1)
# case: list-in-place-is-the-same
def f():
    x = [1]
    y = x
    x *= 2
    return x is y
result = f()
# case: tuple-in-place-is-another
def f():
    x = (1,)
    y = x
    x *= 2
    return x is y, x
result = f()
# case: shifts-by-a-variable
def f(k): return 1 << k
result = [f(k) for k in (0, 1, 29, 30, 63, 64, 65, 200)]
# case: shift-of-true
def f(k): return True << k
result = [f(k) for k in (0, 1, 64)]
# case: bits-of-parameters
def f(a, b): return a & b | a ^ b, a << b, a >> b, ~a
result = f(5, 3), f(-5, 70)
# case: queens-by-bits
def f(n, c=0, d=0, e=0, r=0):
    if r == n: return 1
    t = 0
    free = ~(c | d | e) & ((1 << n) - 1)
    while free:
        b = free & -free
        free ^= b
        t += f(n, c | b, (d | b) << 1, (e | b) >> 1, r + 1)
    return t
result = f(6)
# case: nested-products
result = []
for a, b in [(2, 3), (2.5, 2), ('ab', 2), (1 << 40, 1 << 40)]:
    result += [b * (a * b), a * b * (b + 1), (lambda: b * (a * b))()]
result
# case: factorial-in-place
result = 1
for i in range(1, 40): result *= i
result
# case: sum-of-floats-in-place
result = 0.0
for i in range(40): result += i * 0.1
result
# case: text-by-percent
result = '-'.join('%03d' % i for i in range(5)) + '%s %r' % ('a', 'b') + '%%' % ()
# case: percent-formats
result = ['%(a)s' % {'a': 1}, b'%d' % 3, '%.2f' % 2.5, '%5s|' % 'x', '%-5s|' % 'x']
# case: text-in-place
x = 'a'
x += 'b'
x *= 2
x %= ()
result = x
# case: list-plus-generator
a = [1]
b = a
a += (i for i in 'xy')
result = a, b is a
# case: item-of-a-tuple-in-place
a = ([],)
try:
    a[0] += [1]
except TypeError as e:
    result = str(e), a
result
# case: sums-of-parameters
def f(a, b, c, d): return a + b + c + d
result = f(1, 2, 3, 4), f('a', 'b', 'c', 'd')
# case: sums-of-texts
result = 'a' + 'b' + str(1) + 'c' + 'd' + 'e' + 'f' + 'g' + 'h' + 'i' + 'j'
# case: sums-of-lists
result = [1] + [2] + [*'ab'] + list(range(3)) + []
# case: remainders
result = -7 % 3, 7 % -3, 7.5 % 2, True % 2, -1 % (1 << 70)
# case: remainder-by-zero
def f(a, b): return a % b
try:
    f(1, 0)
except ZeroDivisionError as e: result = str(e)
result
# case: shift-by-less-than-zero
def f(a, b): return a << b
try:
    f(1, -1)
except ValueError as e: result = str(e)
result
# case: powers-of-a-parameter
def f(a): return a ** 2, a ** 3, a ** -1, a ** 0.5
result = f(3), f(2.5), f(True)
# case: squares
def f(a): return a ** 2
result = [f(x) for x in (0, -1, 1 << 40, 1e200, 2j)]
# case: pow-of-parameters
def f(a, b, m): return pow(a, b, m), pow(a, b)
result = f(3, 4, 5)
# case: operands-live-no-longer
gone = []
class D:
    def __init__(self, n): self.n = n
    def __mul__(self, other): return self.n
    def __rmul__(self, other): return self.n
    def __add__(self, other): return self.n
    def __lshift__(self, other): return self.n
    def __mod__(self, other): return self.n
    def __del__(self): gone.append(self.n)
def f():
    for _ in range(1):
        D(1) * D(2); gone.append('a')
        D(3) + D(4); gone.append('b')
        D(5) << D(6); gone.append('c')
        D(7) % D(8); gone.append('d')
        2.5 * D(9); D(10) * 2; gone.append('e')
f()
# In which order the two go, Python's versions differ.
result = [sorted(gone[:2]), sorted(gone[3:5]), sorted(gone[6:8]), sorted(gone[9:11]),
          sorted(gone[12:14]), gone[2::3]]
# case: unbound-name-before-what-is-added
seen = []
def f():
    x += seen.append(1)
try: f()
except UnboundLocalError as e: result = (str(e), seen)
result
# case: namespaces-of-classes
seen = []
class M(type):
    def __init__(cls, n, b, ns): seen.append(list(ns))
class A(metaclass=M): x = 1
class B:
    def __init_subclass__(cls): seen.append(list(vars(cls)))
class C(B): y = 1
result = seen, [n for n in [*dir(A), *dir(C)] if '@' in n], list(vars(type('T', (), {'z': 1})))
