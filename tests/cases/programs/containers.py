# case: list-methods
a = [3, 1, 2]
a.append(5); a.extend([7, 8]); a.insert(0, 9); a.remove(1); p = a.pop(); q = a.pop(0)
a.reverse()
(a, p, q, a.index(2), a.count(5), a.copy() is a)
# case: list-sort
a = [3, 1, 2]
r = a.sort()
b = sorted(a, reverse=True)
c = sorted(["bb", "a", "ccc"], key=len)
d = sorted([(1, "b"), (1, "a"), (0, "z")])
e = sorted([(1, "b"), (1, "a")], key=lambda t: t[0])
(r, a, b, c, d, e)
# case: list-operators
a = [1, 2]
b = a + [3]
c = a * 2
a += (4, 5)
(a, b, c, [0] * 3, [[]] * 2)
# case: list-aliasing
grid = [[0] * 2] * 2
grid[0][0] = 1
a = b = []
a.append(1)
(grid, b, a is b)
# case: list-plus-tuple-error
[1] + (2,)
# case: nested-list-mutation
m = [[i * 3 + j for j in range(3)] for i in range(3)]
m[1][1] = "x"
m[0], m[2] = m[2], m[0]
(m, [list(r) for r in zip(*m)])
# case: list-delete
a = list(range(10))
del a[0]
del a[2:4]
del a[::2]
del a[-1]
a
# case: list-clear-and-contains
a = [1, None, "x"]
r = (None in a, 2 in a, "x" in a)
a.clear()
(r, a)
# case: tuple-basics
t = (1, 2, 3)
(t[0], t[1:], t + (4,), t * 2, t.index(2), t.count(3), (), (1,), 1, 2, len(t), hash(t) == hash((1, 2, 3)))
# case: tuple-holding-list
t = ([1], 2)
t[0].append(5)
try:
    t[0] += [9]
except TypeError as e:
    print(e)
t
# case: tuple-assign-error
t = (1, 2)
t[0] = 5
# case: dict-methods
d = {"a": 1, "b": 2}
d["c"] = 3
(d.get("z"), d.get("z", 0), d.pop("a"), d.pop("zz", None), d.setdefault("q", []), d.setdefault("b", 9), list(d), list(d.values()), list(d.items()), d.popitem())
# case: dict-update-and-merge
a = {"x": 1}
a.update(y=2)
a.update({"z": 3}, w=4)
a.update([("p", 5)])
b = a | {"x": 100}
a |= {"n": 0}
(a, b, {**a, "x": -1})
# case: dict-constructor-forms
(dict(a=1, b=2), dict([("k", "v")]), dict({"z": 1}, y=2), dict(zip("ab", [1, 2])), dict.fromkeys("ab", 0), dict())
# case: dict-iteration-order
d = {}
for k in "zebra":
    d[k] = d.get(k, 0) + 1
del d["e"]
d["e"] = 9
(list(d.items()), list(reversed(d)), next(iter(d)))
# case: dict-views
d = {"a": 1, "b": 2}
k = d.keys()
v = d.values()
d["c"] = 3
(k, v, k & {"a", "z"}, k - {"a"}, ("a", 1) in d.items(), len(k), 3 in v)
# case: dict-missing
class D(dict):
    def __missing__(self, key):
        self[key] = key * 2
        return self[key]
d = D(a=1)
(d["a"], d["bb"], d.get("zz"), d)
# case: dict-key-types
d = {1: "int", 1.0: "float", True: "bool", "1": "s", (1, 2): "t", None: "n", frozenset({1}): "f"}
(d, len(d))
# case: dict-missing-key-error
{"a": 1}["b"]
# case: unhashable-key
{[1]: 2}
# case: dict-changed-during-iteration
d = {1: 1, 2: 2}
for k in d:
    d[k + 10] = 0
# case: dict-nested-update
d = {}
d.setdefault("x", {}).setdefault("y", []).append(1)
d["x"]["y"] += [2]
d["x"]["z"] = {"w": 1}
d["x"]["z"]["w"] += 41
d
# case: set-methods
s = {1, 2, 3}
s.add(4); s.discard(9); s.remove(1); s.update([7], (8,))
(sorted(s), sorted(s | {100}), sorted(s & {2, 3}), sorted(s - {2}), sorted(s ^ {2, 50}), s.issuperset({2}), {1}.issubset(s))
# case: set-inplace
s = {1, 2, 3}; t = s
s |= {4}; s &= {2, 3, 4}; s -= {2}; s ^= {9}
(sorted(s), s is t)
# case: frozenset
f = frozenset([1, 2, 2])
(sorted(f), f == {1, 2}, hash(f) == hash(frozenset([2, 1])), {f: "v"}[frozenset({1, 2})], type(f | {3}).__name__)
# case: set-remove-error
{1}.remove(2)
# case: set-of-lists-error
{[1]}
# case: range-behaviour
r = range(2, 20, 3)
(list(r), len(r), r[1], r[-1], r[1:3], 5 in r, 6 in r, r.index(8), range(0), list(range(5, 0, -2)), range(3) == range(0, 3, 1), r.start, r.stop, r.step)
# case: range-step-zero
range(1, 2, 0)
# case: counter
from collections import Counter
c = Counter("abracadabra")
c.update("aa")
(c.most_common(2), c["z"], c + Counter(a=1), c - Counter(a=3), sorted(c.elements())[:3], c.total())
# case: defaultdict
from collections import defaultdict
d = defaultdict(list)
for k, v in [("a", 1), ("b", 2), ("a", 3)]:
    d[k].append(v)
n = defaultdict(lambda: defaultdict(int))
n["x"]["y"] += 5
(d, dict(n["x"]), "q" in d, d["q"], "q" in d)
# case: ordered-dict-and-deque
from collections import OrderedDict, deque
o = OrderedDict(a=1, b=2)
o.move_to_end("a")
q = deque([1, 2, 3], maxlen=3)
q.append(4); q.appendleft(0)
q.rotate(1)
(o, list(o), q, q[0], q.popleft(), list(q))
# case: namedtuple
from collections import namedtuple
P = namedtuple("P", "x y", defaults=[0])
p = P(1)
(p, p.x, p[1], p == (1, 0), p._replace(y=5), p._asdict(), P._fields, P._make([7, 8]), *p)
# case: chainmap
from collections import ChainMap
c = ChainMap({"a": 1}, {"a": 2, "b": 3})
c["z"] = 9
(c["a"], c["b"], c.maps, sorted(c), c.new_child({"a": 0})["a"])
# case: heapq-and-bisect
import heapq, bisect
h = [5, 1, 4]
heapq.heapify(h)
heapq.heappush(h, 0)
a = [1, 3, 5]
bisect.insort(a, 4)
([heapq.heappop(h) for _ in range(4)], bisect.bisect_left(a, 3), bisect.bisect(a, 3), a, heapq.nlargest(2, [3, 9, 4]), heapq.nsmallest(1, "zab"))
# case: container-protocol-class
class Box:
    def __init__(self): self.d = {}
    def __setitem__(self, k, v): self.d[k] = v
    def __getitem__(self, k): return self.d[k]
    def __delitem__(self, k): del self.d[k]
    def __len__(self): return len(self.d)
    def __contains__(self, k): return k in self.d
    def __iter__(self): return iter(self.d)
b = Box()
b["a"] = 1
b["a"] += 5
b[1, 2] = "t"
del b[1, 2]
(b["a"], len(b), "a" in b, list(b))
# case: slice-objects-in-getitem
class G:
    def __getitem__(self, k): return k
g = G()
(g[1], g[1:2], g[::3], g[1, 2], g[1:2, ...], g[()], g[None:None], g[-1:])
# case: slice-assignment
a = list(range(8))
a[1:3] = "xyz"
a[::4] = [0, 0, 0]
a[len(a):] = [99]
a[:0] = [-1]
a
# case: slice-assignment-size-error
a = [1, 2, 3, 4]
a[::2] = [1, 2, 3]
# case: slice-object-methods
s = slice(1, 10, 2)
(s, s.indices(5), s.start, list(range(20))[s], s == slice(1, 10, 2))
# case: index-error
[1, 2, 3][10]
# case: index-type-error
[1, 2]["0"]
# case: zip-and-friends
(list(zip([1, 2, 3], "ab")), list(zip()), dict(zip("ab", (1, 2))), list(map(lambda a, b: a + b, [1, 2], [10, 20])), list(filter(None, [0, 1, "", 2])), list(reversed([1, 2])))
# case: zip-strict
list(zip([1, 2], [1], strict=True))
# case: enumerate-and-sorted-stability
data = [("b", 2), ("a", 2), ("c", 1)]
(sorted(data, key=lambda p: p[1]), sorted(data, key=lambda p: (-p[1], p[0])), list(enumerate("ab", start=5)))
# case: copy-shallow-and-deep
import copy
a = [[1], {"k": [2]}]
b = copy.copy(a)
c = copy.deepcopy(a)
a[0].append(9); a[1]["k"].append(8)
(b, c)
# case: list-of-callables
[f(3) for f in (lambda x: x + 1, str, abs, [10, 20, 30, 40].__getitem__ if False else float)]
# case: recursive-list
a = [1]
a.append(a)
d = {}
d["self"] = d
(repr(a), repr(d), a[1][1][0])
# case: star-in-displays
a, b = [1, 2], {"x": 1}
([*a, 3, *a], (*a, *"hi"), {*a, 2, 3}, {**b, "y": 2, **{"x": 9}}, [*range(3), *{}])
