# case: if-elif-else
def f(n):
    if n < 0:
        return "neg"
    elif n == 0:
        return "zero"
    elif n < 10:
        return "small"
    else:
        return "big"
[f(v) for v in (-1, 0, 5, 50)]
# case: nested-if
out = []
for a in (0, 1):
    for b in (0, 1):
        if a:
            if b:
                out.append("ab")
            else:
                out.append("a")
        elif b:
            out.append("b")
out
# case: while-loop
n, steps = 27, 0
while n != 1:
    n = n // 2 if n % 2 == 0 else 3 * n + 1
    steps += 1
steps
# case: while-else-runs
n = 3
while n:
    n -= 1
else:
    print("done", n)
# case: while-else-skipped-by-break
n = 3
while n:
    n -= 1
    if n == 1:
        break
else:
    print("never")
n
# case: for-else-runs
for i in range(3):
    pass
else:
    print("no break", i)
# case: for-else-prime-search
primes = []
for n in range(2, 40):
    for d in range(2, n):
        if n % d == 0:
            break
    else:
        primes.append(n)
primes
# case: for-else-empty-iterable
for x in []:
    print("never")
else:
    print("else of empty")
# case: for-else-with-continue
for x in range(4):
    if x % 2:
        continue
    print(x)
else:
    print("end")
# case: break-only-inner
out = []
for i in range(3):
    for j in range(3):
        if j == i:
            break
        out.append((i, j))
out
# case: continue-in-while
n, out = 0, []
while n < 6:
    n += 1
    if n % 2:
        continue
    out.append(n)
out
# case: loop-variable-survives
for i in range(5):
    if i == 3:
        break
i
# case: loop-variable-unbound-for-empty
for q in []:
    pass
q
# case: loop-variable-reassigned-inside
out = []
for i in range(3):
    i = i * 10
    out.append(i)
(out, i)
# case: list-grown-during-iteration
a = [1, 2, 3]
for v in a:
    if len(a) < 6:
        a.append(v * 10)
a
# case: list-shrunk-during-iteration
a = [1, 2, 3, 4]
for v in a:
    a.remove(v)
a
# case: iterable-evaluated-once
log = []
def it():
    log.append("called")
    return [1, 2]
for x in it():
    log.append(x)
log
# case: return-in-loop
def f(items):
    for i, x in enumerate(items):
        if x > 2:
            return i, x
    return None
(f([1, 2, 3]), f([0]))
# case: return-in-while-else
def f(n):
    while n > 0:
        n -= 1
        if n == 100:
            return "break-ish"
    else:
        return "else"
    return "never"
(f(3), f(101))
# case: break-in-try-finally
out = []
for i in range(5):
    try:
        if i == 2:
            break
        out.append(i)
    finally:
        out.append("f")
out
# case: continue-in-finally
# until: 3.13 PEP 765 warns in 3.14
out = []
for i in range(3):
    try:
        out.append(1 // (i - 1))
    except ZeroDivisionError:
        out.append("z")
    finally:
        out.append("f")
        continue
    out.append("unreached")
out
# case: break-in-finally-swallows
# until: 3.13 PEP 765 warns in 3.14
def f():
    for i in range(3):
        try:
            raise ValueError(i)
        finally:
            break
    return i
f()
# case: while-true-with-break
n = 0
while True:
    n += 1
    if n > 9:
        break
n
# case: while-with-complex-condition
a, b = 0, 10
while a < b and not (a * a > 20) or a == 100:
    a += 1
a
# case: nested-loops-with-flag
found = None
for i in range(1, 10):
    for j in range(1, 10):
        if i * j == 42:
            found = (i, j)
            break
    if found:
        break
found
# case: else-of-nested-loops
out = []
for i in range(3):
    for j in range(3):
        if i + j == 3:
            break
    else:
        out.append(i)
        continue
    out.append(-i)
else:
    out.append("outer-else")
out
# case: pass-and-ellipsis-bodies
def f(): pass
def g(): ...
class C: pass
class D: ...
if True: pass
for _ in []: ...
(f(), g(), C.__name__, D.__name__)
# case: semicolons-and-one-liners
a = 1; b = 2; print(a + b)
if a: b = 5; c = 6
for i in (1, 2): a += i; b -= 1
while a > 3: a -= 1
(a, b, c)
# case: line-joining
total = (1 +
         2 +
         3)
x = [1,
     2,  # a comment
     3,
]
y = 1 + \
    2
(total, x, y)
# case: tabs-and-comments
if True:
	# a comment alone
	a = 1  # trailing

	b = 2
a + b
# case: for-over-everything
out = []
for x in (1, 2): out.append(x)
for x in "ab": out.append(x)
for x in {"k": 1}: out.append(x)
for x in {7}: out.append(x)
for x in range(2): out.append(x)
for x in b"A": out.append(x)
for x in zip([1], [2]): out.append(x)
for x in map(str, [1]): out.append(x)
for x in iter([9]): out.append(x)
for x, in [(1,)]: out.append(x)
out
# case: for-over-getitem-protocol
class S:
    def __getitem__(self, i):
        if i >= 3:
            raise IndexError(i)
        return i * i
[x for x in S()]
# case: for-over-non-iterable
for x in 5:
    pass
# case: iter-with-sentinel
vals = iter([1, 2, 0, 3])
list(iter(lambda: next(vals), 0)), list(vals)
# case: iterator-shared-between-loops
it = iter(range(6))
out = []
for x in it:
    out.append(x)
    if x == 2:
        break
for x in it:
    out.append(-x)
out
# case: deep-nesting
out = 0
for a in range(2):
    for b in range(2):
        for c in range(2):
            for d in range(2):
                for e in range(2):
                    if a ^ b ^ c ^ d ^ e:
                        out += 1
out
# case: main-guard
def main():
    print("main runs")
    return 3
if __name__ == "__main__":
    r = main()
r
# case: main-guard-false-branch
if __name__ != "__main__":
    print("imported")
else:
    print(__name__)
# case: assert-passes
assert 1 + 1 == 2
assert [0], "message not evaluated" + 1
print("ok")
# case: assert-fails-with-message
x = 3
assert x > 5, f"x was {x}"
# case: assert-fails-without-message
assert []
# case: assert-caught
try:
    assert 0, ("a", 1)
except AssertionError as e:
    print(e, e.args)
# case: assert-message-is-lazy
log = []
assert True, log.append("evaluated")
log
# case: ellipsis-and-notimplemented
(..., Ellipsis is ..., NotImplemented is NotImplemented, type(...).__name__)
# case: empty-program-of-comments
# nothing here
pass
# case: docstring-module-and-expression-statements
"""A docstring."""
1
"x"
[1, 2]
# case: countdown-with-step
[i for i in range(10, 0, -3)], list(range(0, -5, -2))
# case: fizzbuzz
for i in range(1, 16):
    print("FizzBuzz" if i % 15 == 0 else "Fizz" if i % 3 == 0 else "Buzz" if i % 5 == 0 else i)
# case: last-value-of-assignment
total = 0
for i in range(5):
    total += i
result = total * 2
# case: last-value-is-none
print("x")
# case: gcd-loop
def gcd(a, b):
    while b:
        a, b = b, a % b
    return a
[gcd(48, 36), gcd(17, 5), gcd(0, 9)]
# case: binary-search
def search(a, x):
    lo, hi = 0, len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        if a[mid] < x:
            lo = mid + 1
        elif a[mid] > x:
            hi = mid
        else:
            return mid
    return -1
a = list(range(0, 100, 7))
[search(a, 49), search(a, 50), search(a, 0), search(a, 98)]
# case: loop-over-a-range-longer-than-a-machine-word
def f():
    t = 0
    for i in range(10 ** 30):
        t += i
        if i == 5:
            return t
out = []
for i in range(-10 ** 25, 10 ** 25, 10 ** 24):
    out.append(i)
(f(), len(out))
