# case: list
[x * x for x in range(5)], [x for x in "abc" if x != "b"], [(x, y) for x in (1, 2) for y in "ab"]
# case: set-and-dict
({x % 3 for x in range(9)}, {k: len(k) for k in ("a", "bb")}, {v: k for k, v in {"a": 1}.items()})
# case: generator-expression
g = (x * 2 for x in range(3))
(next(g), list(g), list(g), sum(x for x in range(5)), max((len(w) for w in ("a", "bbb")), default=0))
# case: multiple-conditions
[x for x in range(50) if x % 2 == 0 if x % 3 == 0 if x > 10]
# case: dependent-iterables
[(i, j) for i in range(4) for j in range(i)], [c for w in ("ab", "cd") for c in w]
# case: condition-between-fors
[(i, j) for i in range(6) if i % 2 for j in range(i) if j > 1]
# case: nested-matrix
m = [[1, 2, 3], [4, 5, 6]]
([[r[i] for r in m] for i in range(3)], [x for r in m for x in r], [[x * 2 for x in r] for r in m])
# case: conditional-expression-element
["even" if x % 2 == 0 else "odd" for x in range(3)]
# case: first-iterable-evaluated-outside
def f():
    log = []
    def src():
        log.append("src")
        return range(2)
    g = (x for x in src())
    log.append("made")
    list(g)
    return log
f()
# case: later-iterables-are-lazy
log = []
def src(n):
    log.append(n)
    return range(2)
g = (1 for a in src(0) for b in src(1))
log.append("made")
list(g)
log
# case: generator-first-iterable-error-is-immediate
try:
    g = (x for x in 5)
    print("made")
except TypeError as e:
    print("at creation", e)
# case: dict-evaluation-order
log = []
def t(v):
    log.append(v)
    return v
{t(k): t(v) for k, v in [("a", 1), ("b", 2)]}
log
# case: exceptions-inside
[1 // x for x in (2, 1, 0)]
# case: walrus-filter
data = ["3", "x", "5"]
[n for s in data if (n := int(s) if s.isdigit() else None) is not None]
# case: in-function-with-nonlocal
def f():
    n = 0
    def bump():
        nonlocal n
        n += 1
        return n
    return [bump() for _ in range(3)], n
f()
# case: in-default-argument
def f(a=[i for i in range(3)], b={i for i in range(2)}): return a, b
f()
# case: shadowing-own-iterable
x = [1, 2, 3]
x = [x for x in x if x > 1]
x
# case: nested-same-names
[x for x in [x for x in [x for x in range(3)]]]
# case: comprehension-of-lambdas-with-default
[f(10) for f in [lambda a, k=k: a + k for k in range(3)]]
# case: unpack-in-comprehension
[a + sum(rest) for a, *rest in [(1, 2, 3), (4,)]], {a: b for a, b in zip("xy", [1, 2])}
# case: nested-generators-pipeline
def nums():
    yield from range(10)
evens = (n for n in nums() if n % 2 == 0)
squares = (n * n for n in evens)
sum(squares)
# case: async-free-generator-argument
def f(g, k=None): return list(g)
(f(i for i in range(2)), f((i for i in range(2)), k=1), "".join(c for c in "ab"))
# case: subscripts-and-calls
d = {"a": [1, 2], "b": [3]}
[v[0] for v in d.values()], [str(x).zfill(2) for x in sum(d.values(), [])], {k: [*v, 0] for k, v in d.items()}
# case: large
sum([i for i in range(20000) if i % 7 == 3])
# case: flatten-recursive
def flat(x):
    return [y for z in x for y in (flat(z) if isinstance(z, list) else [z])]
flat([1, [2, [3, [4]], 5]])
# case: primes-one-liner
[n for n in range(2, 50) if all(n % d for d in range(2, int(n ** 0.5) + 1))]
# case: group-by-comprehension
words = ["apple", "avocado", "bean", "cherry", "corn"]
{k: [w for w in words if w[0] == k] for k in sorted({w[0] for w in words})}
# case: pythagorean-triples
[(a, b, c) for c in range(1, 25) for b in range(1, c) for a in range(1, b) if a * a + b * b == c * c]
# case: generator-is-not-subscriptable
(i for i in range(3))[0]
# case: class-attribute-iterables
class C:
    items = (1, 2, 3)
    doubled = [i * 2 for i in items]
    pairs = list(zip(items, doubled))
C.pairs
# case: yield-values-through-comprehension-of-generator
def g():
    yield 1
    yield 2
([x for x in g()], {x for x in g()}, {x: x for x in g()}, [*g()], (*g(),))
# case: range-longer-than-a-machine-word
(next(x for x in range(10 ** 30) if x > 4), [x for x in range(10 ** 30, 10 ** 30 + 2)])
# case: error-inside-a-long-range
[x for x in range(10 ** 30) if x > 3 or [][0]]
