# case: speed-while-loop
n = 8000  # 800000 when it is timed
total = 0
i = 0
while i < n:
    total += i * 2
    i += 1
total
# case: speed-nested-for
n = 80  # 1100 when it is timed
count = 0
for i in range(n):
    for j in range(n):
        if (i + j) % 3 == 0:
            count += 1
count
# case: speed-recursive-fib
n = 16  # 30 when it is timed
def fib(k):
    if k < 2:
        return k
    return fib(k - 1) + fib(k - 2)
fib(n)
# case: speed-sieve
n = 10000  # 900000 when it is timed
flags = [True] * (n + 1)
flags[0] = False
flags[1] = False
i = 2
while i * i <= n:
    if flags[i]:
        for j in range(i * i, n + 1, i):
            flags[j] = False
    i += 1
sum(1 for f in flags if f)
# case: speed-comprehensions
n = 6000  # 600000 when it is timed
squares = [x * x for x in range(n) if x % 2 == 0]
pairs = {x: x % 7 for x in range(n)}
odd = {x % 1000 for x in squares}
len(squares) + len(pairs) + len(odd)
# case: speed-string-methods
n = 2000  # 120000 when it is timed
words = []
for i in range(n):
    w = "Item " + str(i) + ", price " + str(i % 97)
    parts = w.lower().replace(",", "").split(" ")
    words.append("-".join(parts).title())
len(words) + sum(len(w) for w in words)
# case: speed-classes
n = 3000  # 500000 when it is timed
class Account:
    def __init__(self, owner, balance):
        self.owner = owner
        self.balance = balance
    def deposit(self, amount):
        self.balance += amount
        return self.balance
    def withdraw(self, amount):
        if amount > self.balance:
            return 0
        self.balance -= amount
        return amount

accounts = [Account("a" + str(i), i) for i in range(10)]
moved = 0
for i in range(n):
    a = accounts[i % 10]
    a.deposit(i % 13)
    moved += a.withdraw(i % 7)
moved + sum(a.balance for a in accounts)
# case: speed-dict-counting
n = 5000  # 350000 when it is timed
counts = {}
seed = 42
for i in range(n):
    seed = (seed * 1103515245 + 12345) % 2147483648
    key = "k" + str(seed % 500)
    if key in counts:
        counts[key] += 1
    else:
        counts[key] = 1
best = sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))[:3]
(len(counts), sum(counts.values()), best[0][0])
# case: speed-sort-with-keys
n = 1500  # 60000 when it is timed
people = [{"name": "p" + str((i * 7919) % n), "age": (i * 31) % 90} for i in range(n)]
by_age = sorted(people, key=lambda p: (p["age"], p["name"]))
by_name = sorted(people, key=lambda p: p["name"], reverse=True)
(by_age[0]["name"], by_name[0]["name"])
# case: speed-dataclasses
n = 1500  # 200000 when it is timed
from dataclasses import dataclass

@dataclass
class Point:
    x: int
    y: int = 0
    def moved(self, dx, dy):
        return Point(self.x + dx, self.y + dy)

p = Point(0)
same = 0
for i in range(n):
    q = p.moved(i % 3, i % 5)
    if q == p:
        same += 1
    p = q
(p.x, p.y, same)
# case: speed-generators
n = 5000  # 900000 when it is timed
def numbers(k):
    for i in range(k):
        yield i

def evens(source):
    for x in source:
        if x % 2 == 0:
            yield x

def running(source):
    total = 0
    for x in source:
        total += x
        yield total

last = 0
for value in running(evens(numbers(n))):
    last = value
last
# case: speed-matrix-by-hand
n = 16  # 105 when it is timed
def matmul(a, b):
    size = len(a)
    out = [[0] * size for _ in range(size)]
    for i in range(size):
        for j in range(size):
            s = 0
            for k in range(size):
                s += a[i][k] * b[k][j]
            out[i][j] = s
    return out

a = [[(i * j) % 10 for j in range(n)] for i in range(n)]
b = matmul(matmul(a, a), a)
sum(sum(row) for row in b)
# case: speed-n-queens
n = 5  # 9 when it is timed
def solve(row, size, cols, diag1, diag2):
    if row == size:
        return 1
    found = 0
    for c in range(size):
        if c in cols or (row - c) in diag1 or (row + c) in diag2:
            continue
        cols.add(c)
        diag1.add(row - c)
        diag2.add(row + c)
        found += solve(row + 1, size, cols, diag1, diag2)
        cols.remove(c)
        diag1.remove(row - c)
        diag2.remove(row + c)
    return found

sum(solve(0, n, set(), set(), set()) for _ in range(12))
# case: speed-json-work
n = 600  # 30000 when it is timed
import json
records = [{"id": i, "name": "user" + str(i), "tags": ["a", "b"], "score": i / 3} for i in range(n)]
text = json.dumps(records)
back = json.loads(text)
total = 0.0
for r in back:
    if r["id"] % 2 == 0:
        total += r["score"]
out = json.dumps({"total": total, "names": [r["name"] for r in back]})
len(out)
# case: speed-regex-work
n = 800  # 50000 when it is timed
import re
lines = ["2024-05-%02d ERROR user=%d msg=timeout" % (i % 28 + 1, i) for i in range(n)]
pattern = re.compile(r"(\d{4})-(\d\d)-(\d\d) (\w+) user=(\d+)")
per_day = {}
for line in lines:
    m = pattern.match(line)
    if m:
        day = m.group(3)
        per_day[day] = per_day.get(day, 0) + int(m.group(5)) % 10
cleaned = [re.sub(r"\d+", "#", line) for line in lines]
(len(per_day), sum(per_day.values()), len(cleaned[0]))
# case: speed-numpy-idioms
n = 8  # 150 when it is timed
import numpy as np
total = 0.0
for i in range(n):
    a = np.arange(10000).reshape(100, 100) + i
    b = a @ a.T
    total += float(b.mean()) + float(a[a % 2 == 0].sum())
    total += float(np.where(a > 50, a, 0).sum(axis=0)[3])
round(total, 3)
# case: speed-pandas-idioms
n = 2  # 60 when it is timed
import pandas as pd
df = pd.DataFrame({"k": ["a", "b", "c", "d"] * 500, "v": range(2000)})
total = 0.0
for i in range(n):
    df["w"] = df["v"] * 2 + i
    g = df.groupby("k")["w"].mean()
    top = df[df["w"] > 100].sort_values("w", ascending=False).head(10)
    total += float(g.sum()) + float(top["v"].sum())
    total += float(df["v"].apply(lambda x: x % 5).sum())
round(total, 3)
# case: speed-exceptions-in-loops
n = 3000  # 250000 when it is timed
good = 0
bad = 0
values = ["12", "x", "7", "", "3"]
for i in range(n):
    try:
        good += int(values[i % 5])
    except ValueError:
        bad += 1
    finally:
        good += 0
(good, bad)
# case: speed-closures
n = 4000  # 500000 when it is timed
def make_adder(k):
    def add(x):
        return x + k
    return add

def compose(f, g):
    return lambda x: f(g(x))

adders = [make_adder(i) for i in range(10)]
both = compose(adders[3], adders[4])
total = 0
for i in range(n):
    total += adders[i % 10](i) + both(i)
total
# case: speed-string-building
n = 4000  # 300000 when it is timed
parts = []
for i in range(n):
    parts.append(f"{i}:{i * i:>8}")
text = ",".join(parts)
line = ""
for i in range(n // 10):
    line += str(i % 10)
(len(text), len(line), text[:20])
# case: speed-parser
n = 80  # 15000 when it is timed
def tokenize(text):
    out = []
    i = 0
    while i < len(text):
        c = text[i]
        if c.isdigit():
            j = i
            while j < len(text) and text[j].isdigit():
                j += 1
            out.append(int(text[i:j]))
            i = j
        else:
            if c != " ":
                out.append(c)
            i += 1
    return out

def expression(tokens, pos):
    value, pos = term(tokens, pos)
    while pos < len(tokens) and tokens[pos] in ("+", "-"):
        op = tokens[pos]
        right, pos = term(tokens, pos + 1)
        value = value + right if op == "+" else value - right
    return value, pos

def term(tokens, pos):
    value, pos = atom(tokens, pos)
    while pos < len(tokens) and tokens[pos] == "*":
        right, pos = atom(tokens, pos + 1)
        value = value * right
    return value, pos

def atom(tokens, pos):
    if tokens[pos] == "(":
        value, pos = expression(tokens, pos + 1)
        return value, pos + 1
    return tokens[pos], pos + 1

total = 0
for i in range(n):
    total += expression(tokenize("(" + str(i) + " + 2) * 3 - (4 * (5 - 1) + 6)"), 0)[0]
total
# case: speed-memoised-dynamic-programming
n = 100  # 2500 when it is timed
def distance(a, b):
    memo = {}
    def go(i, j):
        if i == 0 or j == 0:
            return i + j
        key = (i, j)
        if key in memo:
            return memo[key]
        if a[i - 1] == b[j - 1]:
            r = go(i - 1, j - 1)
        else:
            r = 1 + min(go(i - 1, j), go(i, j - 1), go(i - 1, j - 1))
        memo[key] = r
        return r
    return go(len(a), len(b))

total = 0
for i in range(n // 10):
    total += distance("kitten sitting on a mat" + str(i), "sitting kitten in a hat" + str(i * 7))
total
# case: speed-simulation
n = 1500  # 220000 when it is timed
seed = 7
balance = 1000.0
queue = []
served = 0
waited = 0
for tick in range(n):
    seed = (seed * 16807) % 2147483647
    if seed % 10 < 6:
        queue.append(tick)
    seed = (seed * 16807) % 2147483647
    if queue and seed % 10 < 7:
        arrived = queue.pop(0)
        served += 1
        waited += tick - arrived
    if tick % 100 == 0:
        balance = balance * 1.001 - len(queue)
(served, waited, round(balance, 3))
# case: speed-grid-search
n = 24  # 250 when it is timed
from collections import deque
grid = [[1 if (x * 7 + y * 13) % 11 == 0 else 0 for x in range(n)] for y in range(n)]
grid[0][0] = 0
seen = {(0, 0): 0}
todo = deque([(0, 0)])
while todo:
    x, y = todo.popleft()
    for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        a = x + dx
        b = y + dy
        if 0 <= a < n and 0 <= b < n and grid[b][a] == 0 and (a, b) not in seen:
            seen[(a, b)] = seen[(x, y)] + 1
            todo.append((a, b))
(len(seen), max(seen.values()))
# case: speed-numerical-integration
n = 5000  # 500000 when it is timed
import math
def f(x):
    return math.sin(x) * math.exp(-x / 10)
total = 0.0
step = 10.0 / n
for i in range(n):
    total += f(i * step) * step
round(total, 4)
# case: speed-n-queens-with-bit-masks
n = 5  # 9 when it is timed
def place(row, size, cols, d1, d2):
    if row == size:
        return 1
    found = 0
    for k in range(size):
        b = 1 << k
        if cols & b or d1 & (1 << (row + k)) or d2 & (1 << (row - k + size)):
            continue
        found += place(
            row + 1, size, cols | b, d1 | (1 << (row + k)), d2 | (1 << (row - k + size))
        )
    return found

sum(place(0, n, 0, 0, 0) for _ in range(8))
# case: speed-n-queens-free-squares-as-a-mask
n = 5  # 10 when it is timed
def count(full, cols, d1, d2):
    if cols == full:
        return 1
    found = 0
    free = full & ~(cols | d1 | d2)
    while free:
        bit = free & -free
        free ^= bit
        found += count(full, cols | bit, (d1 | bit) << 1, (d2 | bit) >> 1)
    return found

sum(count((1 << n) - 1, 0, 0, 0) for _ in range(7))
# case: speed-sieve-in-bit-masks
n = 8000  # 150000 when it is timed
words = [0] * (n // 32 + 1)
i = 2
while i * i <= n:
    if not words[i >> 5] & (1 << (i & 31)):
        for j in range(i * i, n + 1, i):
            words[j >> 5] |= 1 << (j & 31)
    i += 1
primes = 0
for i in range(2, n + 1):
    if not (words[i >> 5] >> (i & 31)) & 1:
        primes += 1
primes
# case: speed-population-counts
n = 1500  # 50000 when it is timed
def by_clearing(x):
    count = 0
    while x:
        x &= x - 1
        count += 1
    return count

def in_parallel(x):
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F
    return ((x * 0x01010101) & 0xFFFFFFFF) >> 24

total = 0
state = 1
for _ in range(n):
    state ^= (state << 13) & 0xFFFFFFFF
    state ^= state >> 17
    state ^= (state << 5) & 0xFFFFFFFF
    total += by_clearing(state & 0xFFFF) + in_parallel(state)
total
# case: speed-subsets-as-masks
n = 8  # 15 when it is timed
weights = [(i * 37) % 23 + 3 for i in range(n)]
best = 0
for mask in range(1 << n):
    weight = 0
    for i in range(n):
        if mask & (1 << i):
            weight += weights[i]
    if best < weight <= 100:
        best = weight
best
# case: speed-ackermann-small
n = 6  # 2200 when it is timed
def ackermann(m, k):
    if m == 0:
        return k + 1
    if k == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, k - 1))
total = 0
for _ in range(n):
    total += ackermann(2, 20) if _ % 2 else ackermann(1, 100)
total
# case: speed-towers-of-hanoi
n = 8  # 19 when it is timed
def hanoi(k, source, target, spare, pegs):
    if k == 0:
        return 0
    moves = hanoi(k - 1, source, spare, target, pegs)
    pegs[target].append(pegs[source].pop())
    return moves + 1 + hanoi(k - 1, spare, target, source, pegs)

pegs = [list(range(n, 0, -1)), [], []]
(hanoi(n, 0, 2, 1, pegs), len(pegs[2]))
# case: speed-counters-in-closures
n = 4000  # 400000 when it is timed
def make_counter(step):
    count = 0
    def increment():
        nonlocal count
        count += step
        return count
    def value():
        return count
    return increment, value

pairs = [make_counter(i + 1) for i in range(8)]
for i in range(n):
    pairs[i % 8][0]()
sum(value() for _, value in pairs)
# case: speed-memoise-decorator
n = 2  # 2200 when it is timed
def memoise(function):
    known = {}
    def wrapper(*arguments):
        if arguments not in known:
            known[arguments] = function(*arguments)
        return known[arguments]
    return wrapper

total = 0
for i in range(n):
    @memoise
    def paths(rows, columns):
        if rows == 0 or columns == 0:
            return 1
        return paths(rows - 1, columns) + paths(rows, columns - 1)
    total += paths(8, 7 + i % 3)
total
# case: speed-function-composition
n = 800  # 60000 when it is timed
from functools import reduce

def compose(*functions):
    return reduce(lambda f, g: lambda x: g(f(x)), functions)

def scale(k):
    return lambda x: x * k

def shift(k):
    return lambda x: x + k

pipeline = compose(scale(3), shift(4), scale(5), shift(-6), lambda x: x % 1009)
values = list(range(n))
sum(map(pipeline, values)) + sum(pipeline(v) for v in values)
