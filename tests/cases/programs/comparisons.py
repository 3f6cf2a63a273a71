# case: chained-comparison
x = 5
(1 < x < 10, 1 < x > 3, 10 > x > 7, 1 < 2 < 3 < 4 > 0, 1 == 1.0 == True)
# case: chained-comparison-evaluates-once
log = []
def t(n):
    log.append(n)
    return n
r = t(1) < t(2) < t(0) < t(9)
(r, log)
# case: and-or-values
(0 or "a", "" or [] or 0, 1 and 2, 0 and 1, None or 0, "x" and "", [] and 1 or 2)
# case: short-circuit
log = []
def t(v):
    log.append(v)
    return v
t(0) and t(1)
t(1) or t(2)
t(0) or t("") or t(3)
log
# case: not-precedence
(not 1 == 2, not True or True, not (1 and 0))
# case: is-and-is-not
a = [1]; b = a; c = [1]
(a is b, a is c, a is not c, None is None, a == c)
# case: membership
(1 in [1, 2], "b" in "abc", "z" not in "abc", 3 in range(5), "k" in {"k": 1}, 1 in {1, 2}, (1,) in [(1,)])
# case: membership-protocols
class C:
    def __contains__(self, v): return v == 42
class D:
    def __iter__(self): return iter([1, 2, 3])
class E:
    def __getitem__(self, i):
        if i > 3: raise IndexError
        return i * 10
(42 in C(), 1 in C(), 2 in D(), 5 in D(), 30 in E(), 31 in E())
# case: conditional-expression
def sign(n): return "neg" if n < 0 else "zero" if n == 0 else "pos"
[sign(-1), sign(0), sign(1)]
# case: conditional-expression-lazy
log = []
def t(v):
    log.append(v)
    return v
t("yes") if t(True) else t("no")
log
# case: list-and-tuple-ordering
([1, 2] < [1, 3], (1,) < (1, 0), [] < [0], "abc" < "abd", (1, "a") < (1, "b"), [2] > [1, 99])
# case: set-comparisons
({1} < {1, 2}, {1, 2} <= {1, 2}, {1} < {2}, {1, 2} >= {2}, {1} | {2} == {1, 2}, {1}.isdisjoint({2}))
# case: dict-equality
({"a": 1, "b": 2} == {"b": 2, "a": 1}, {1: 1} == {1.0: True}, {} == {})
# case: rich-comparison-dunders
class P:
    def __init__(self, v): self.v = v
    def __lt__(self, o): return self.v < o.v
    def __eq__(self, o): return isinstance(o, P) and self.v == o.v
    def __hash__(self): return hash(self.v)
a, b = P(1), P(2)
(a < b, a > b, a == P(1), a != b, sorted([b, a])[0] is a, len({P(1), P(1), P(2)}))
# case: comparison-returns-non-bool
class A:
    def __lt__(self, o): return "less"
    def __eq__(self, o): return []
r = A() < 1
(r, A() == 1, not (A() == 1), A() != 1)
# case: total-ordering
from functools import total_ordering
@total_ordering
class V:
    def __init__(self, v): self.v = v
    def __eq__(self, o): return self.v == o.v
    def __lt__(self, o): return self.v < o.v
(V(1) <= V(1), V(2) >= V(1), V(2) > V(1), V(1) != V(2))
# case: truth-protocols
class L:
    def __init__(self, n): self.n = n
    def __len__(self): return self.n
class B:
    def __bool__(self): return False
    def __len__(self): return 9
[bool(L(0)), bool(L(2)), bool(B()), bool(object()), "t" if L(0) else "f"]
# case: truth-of-builtins
[bool(v) for v in (0, 0.0, 0j, "", "0", [], [0], {}, {0: 0}, set(), (), (0,), None, ..., range(0), range(1), b"", float("nan"))]
# case: incomparable-types
try:
    1 < "a"
except TypeError as e:
    print(e)
try:
    [1] < (1,)
except TypeError as e:
    print(e)
try:
    {} < {}
except TypeError as e:
    print(e)
# case: custom-bool-error
class B:
    def __bool__(self): return 3
bool(B())
# case: eq-without-hash
class A:
    def __eq__(self, o): return True
{A(): 1}
# case: comparison-in-boolean-chain
a, b, c = 1, 2, 3
(a < b and b < c or a > c, a < (b if c else 0) < c, (a < b) == True, a < b == 2)
# case: any-all-short-circuit
seen = []
def g():
    for v in (0, 1, 2):
        seen.append(v)
        yield v
(any(g()), seen[:], all(g()), seen)
