# case: quicksort
def qs(a): return a if len(a) < 2 else qs([x for x in a[1:] if x < a[0]]) + [a[0]] + qs([x for x in a[1:] if x >= a[0]])
qs([5, 3, 8, 1, 9, 2, 5])
# case: mergesort
def ms(a):
    if len(a) <= 1: return a
    m = len(a) // 2
    l, r = ms(a[:m]), ms(a[m:])
    out = []
    i = j = 0
    while i < len(l) and j < len(r):
        if l[i] <= r[j]:
            out.append(l[i]); i += 1
        else:
            out.append(r[j]); j += 1
    return out + l[i:] + r[j:]
ms([5, 2, 9, 1, 5, 6])
# case: bubble-sort-in-place
a = [5, 1, 4, 2, 8]
for i in range(len(a)):
    swapped = False
    for j in range(len(a) - 1 - i):
        if a[j] > a[j + 1]:
            a[j], a[j + 1] = a[j + 1], a[j]
            swapped = True
    if not swapped:
        break
a
# case: sieve
n = 60
s = [True] * (n + 1)
s[0] = s[1] = False
for i in range(2, int(n ** 0.5) + 1):
    if s[i]:
        s[i * i::i] = [False] * len(s[i * i::i])
[i for i, p in enumerate(s) if p]
# case: n-queens
def queens(n, row=0, cols=(), d1=(), d2=()):
    if row == n: return 1
    return sum(queens(n, row + 1, cols + (c,), d1 + (row - c,), d2 + (row + c,)) for c in range(n) if c not in cols and row - c not in d1 and row + c not in d2)
queens(6)
# case: dijkstra
import heapq
g = {"a": {"b": 1, "c": 4}, "b": {"c": 2, "d": 5}, "c": {"d": 1}, "d": {}}
def dist(src):
    d = {src: 0}
    h = [(0, src)]
    while h:
        c, u = heapq.heappop(h)
        if c > d[u]: continue
        for v, w in g[u].items():
            if c + w < d.get(v, float("inf")):
                d[v] = c + w
                heapq.heappush(h, (d[v], v))
    return d
dist("a")
# case: bfs-grid
from collections import deque
grid = ["S.#", ".##", "..E"]
def path():
    q = deque([(0, 0, 0)]); seen = {(0, 0)}
    while q:
        r, c, n = q.popleft()
        if grid[r][c] == "E": return n
        for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            y, x = r + dr, c + dc
            if 0 <= y < 3 and 0 <= x < 3 and grid[y][x] != "#" and (y, x) not in seen:
                seen.add((y, x)); q.append((y, x, n + 1))
path()
# case: topological-sort
deps = {"app": ["lib", "log"], "lib": ["core"], "log": ["core"], "core": []}
out, seen = [], set()
def visit(n):
    if n in seen: return
    seen.add(n)
    for d in deps[n]: visit(d)
    out.append(n)
for k in deps: visit(k)
out
# case: longest-common-subsequence
def lcs(a, b):
    t = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            t[i + 1][j + 1] = t[i][j] + 1 if x == y else max(t[i][j + 1], t[i + 1][j])
    i, j, out = len(a), len(b), []
    while i and j:
        if a[i - 1] == b[j - 1]:
            out.append(a[i - 1]); i -= 1; j -= 1
        elif t[i - 1][j] >= t[i][j - 1]: i -= 1
        else: j -= 1
    return "".join(reversed(out))
lcs("AGGTAB", "GXTXAYB")
# case: knapsack
items = [(60, 10), (100, 20), (120, 30)]
best = [0] * 51
for v, w in items:
    for c in range(50, w - 1, -1):
        best[c] = max(best[c], best[c - w] + v)
best[50]
# case: edit-distance-memo
from functools import lru_cache
def ed(a, b):
    @lru_cache(None)
    def go(i, j):
        if i == 0 or j == 0: return i + j
        if a[i - 1] == b[j - 1]: return go(i - 1, j - 1)
        return 1 + min(go(i - 1, j), go(i, j - 1), go(i - 1, j - 1))
    return go(len(a), len(b))
ed("kitten", "sitting")
# case: word-count
text = "the quick brown fox jumps over the lazy dog The end"
c = {}
for w in text.lower().split():
    c[w] = c.get(w, 0) + 1
sorted(c.items(), key=lambda kv: (-kv[1], kv[0]))[:3]
# case: roman-numerals
def roman(n):
    out = ""
    for v, s in ((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        while n >= v:
            out += s
            n -= v
    return out
[roman(n) for n in (4, 1994, 2024)]
# case: matrix-multiply-and-transpose
a = [[1, 2], [3, 4]]
b = [[5, 6], [7, 8]]
([[sum(a[i][k] * b[k][j] for k in range(2)) for j in range(2)] for i in range(2)], list(map(list, zip(*a))))
# case: game-of-life
cells = {(1, 0), (1, 1), (1, 2)}
def step(s):
    n = {}
    for x, y in s:
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                if dx or dy:
                    n[x + dx, y + dy] = n.get((x + dx, y + dy), 0) + 1
    return {p for p, c in n.items() if c == 3 or c == 2 and p in s}
(sorted(step(cells)), step(step(cells)) == cells)
# case: tokenizer-and-calculator
import re
def calc(src):
    toks = re.findall(r"\d+\.?\d*|[-+*/()]", src)
    pos = 0
    def peek(): return toks[pos] if pos < len(toks) else None
    def eat():
        nonlocal pos
        pos += 1
        return toks[pos - 1]
    def atom():
        t = eat()
        if t == "(":
            v = expr()
            eat()
            return v
        if t == "-": return -atom()
        return float(t)
    def term():
        v = atom()
        while peek() in ("*", "/"):
            v = v * atom() if eat() == "*" else v / atom()
        return v
    def expr():
        v = term()
        while peek() in ("+", "-"):
            v = v + term() if eat() == "+" else v - term()
        return v
    return expr()
[calc(s) for s in ("1+2*3", "(1+2)*3", "-4/2+10", "2*(3+(4-1))")]
# case: stack-machine
def run(code):
    st = []
    for ins, *arg in code:
        match ins:
            case "push": st.append(arg[0])
            case "add": st.append(st.pop() + st.pop())
            case "mul": st.append(st.pop() * st.pop())
            case "dup": st.append(st[-1])
            case _: raise ValueError(f"bad instruction {ins!r}")
    return st
print(run([("push", 3), ("dup",), ("mul",), ("push", 1), ("add",)]))
run([("jump",)])
# case: trie
class Trie:
    def __init__(self): self.kids, self.end = {}, False
    def add(self, w):
        n = self
        for c in w: n = n.kids.setdefault(c, Trie())
        n.end = True
    def words(self, pre=""):
        if self.end: yield pre
        for c, k in sorted(self.kids.items()): yield from k.words(pre + c)
t = Trie()
for w in ("car", "cat", "ca", "dog"): t.add(w)
list(t.words())
# case: lru-cache-by-hand
from collections import OrderedDict
class LRU:
    def __init__(self, n): self.n, self.d = n, OrderedDict()
    def get(self, k):
        if k not in self.d: return -1
        self.d.move_to_end(k)
        return self.d[k]
    def put(self, k, v):
        self.d[k] = v
        self.d.move_to_end(k)
        if len(self.d) > self.n: self.d.popitem(last=False)
c = LRU(2)
c.put(1, 1); c.put(2, 2); a = c.get(1); c.put(3, 3)
(a, c.get(2), list(c.d.items()))
# case: event-simulation
import heapq
events, log, clock = [], [], 0
def at(t, name): heapq.heappush(events, (t, name))
at(5, "close"); at(1, "open"); at(3, "customer")
while events:
    clock, name = heapq.heappop(events)
    log.append(f"{clock:>2} {name}")
    if name == "customer" and clock < 5: at(clock + 1.5, "leave")
log
# case: newton-square-root
def sqrt(x, eps=1e-12):
    g = x
    while abs(g * g - x) > eps:
        g = (g + x / g) / 2
    return g
round(sqrt(2), 10)
# case: binary-tree-class
class T:
    def __init__(self, v): self.v, self.l, self.r = v, None, None
    def add(self, v):
        side = "l" if v < self.v else "r"
        k = getattr(self, side)
        if k: k.add(v)
        else: setattr(self, side, T(v))
    def __iter__(self):
        if self.l: yield from self.l
        yield self.v
        if self.r: yield from self.r
    def depth(self): return 1 + max((k.depth() for k in (self.l, self.r) if k), default=0)
t = T(5)
for v in (3, 8, 1, 4, 9): t.add(v)
(list(t), t.depth())
# case: permutations-by-hand
def perms(a):
    if not a: yield []
    for i, x in enumerate(a):
        for p in perms(a[:i] + a[i + 1:]): yield [x] + p
list(perms([1, 2, 3]))
# case: run-length-encoding
from itertools import groupby
enc = [(k, len(list(g))) for k, g in groupby("aaabccd")]
(enc, "".join(k * n for k, n in enc))
# case: bank-ledger-report
tx = [("ann", 100), ("bob", -20), ("ann", -30), ("bob", 50)]
tot = {}
for who, amt in tx:
    tot[who] = tot.get(who, 0) + amt
for who in sorted(tot):
    print(f"{who.title():<5} {tot[who]:>+6}")
"rich" if tot["ann"] > 50 else "poor"
# case: monte-carlo-seeded
import random
rng = random.Random(1)
inside = sum(1 for _ in range(2000) if rng.random() ** 2 + rng.random() ** 2 < 1)
4 * inside / 2000
# case: two-sum-and-anagrams
def two(a, t):
    seen = {}
    for i, x in enumerate(a):
        if t - x in seen: return [seen[t - x], i]
        seen[x] = i
groups = {}
for w in ["eat", "tea", "tan", "ate", "nat", "bat"]:
    groups.setdefault("".join(sorted(w)), []).append(w)
(two([2, 7, 11, 15], 9), list(groups.values()))
# case: union-find
p = list(range(6))
def find(x):
    while p[x] != x:
        p[x] = p[p[x]]
        x = p[x]
    return x
for a, b in ((0, 1), (1, 2), (4, 5)): p[find(a)] = find(b)
len({find(i) for i in range(6)})
# case: state-machine
class Light:
    order = {"red": "green", "green": "yellow", "yellow": "red"}
    def __init__(self): self.s = "red"
    def __next__(self):
        self.s = self.order[self.s]
        return self.s
    def __iter__(self): return self
l = Light()
[next(l) for _ in range(4)]
# case: numpy-idioms
import numpy as np
a = np.arange(6).reshape(2, 3)
(a.sum(), a.mean(axis=0).tolist(), (a @ a.T).tolist(), a[a > 2].tolist(), np.where(a % 2 == 0, a, -1).tolist(), np.linalg.norm([3, 4]).item(), a.T.shape, np.concatenate([a, a]).shape)
# case: pandas-idioms
import pandas as pd
df = pd.DataFrame({"k": ["a", "b", "a"], "v": [1, 2, 3]})
df["w"] = df["v"] * 2
(df.groupby("k")["v"].sum().to_dict(), df[df.v > 1].shape, df.sort_values("v", ascending=False).iloc[0].to_dict(), df["w"].apply(lambda x: x + 1).tolist(), df.describe().loc["mean", "v"])
