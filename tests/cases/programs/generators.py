# case: simple
def g():
    yield 1
    yield 2
(list(g()), [*g()], tuple(g()), next(g()))
# case: laziness
log = []
def g():
    log.append("start")
    yield 1
    log.append("end")
it = g()
log.append("made")
next(it)
next(it, "default")
log
# case: stop-iteration-value
def g():
    yield 1
    return "result"
it = g()
next(it)
try:
    next(it)
except StopIteration as e:
    print(e.value, e.args)
# case: send
def acc():
    total = 0
    while True:
        x = yield total
        if x is None:
            return total
        total += x
g = acc()
out = [next(g), g.send(5), g.send(10)]
try:
    g.send(None)
except StopIteration as e:
    out.append(("stop", e.value))
out
# case: send-before-start
def g():
    yield
g().send(1)
# case: throw-caught-inside
def g():
    while True:
        try:
            yield "ready"
        except ValueError as e:
            yield f"caught {e}"
it = g()
(next(it), it.throw(ValueError("v")), next(it))
# case: throw-uncaught
def g():
    yield 1
it = g()
next(it)
it.throw(KeyError("k"))
# case: throw-then-exhausted
def g():
    yield 1
    yield 2
it = g()
next(it)
try:
    it.throw(RuntimeError("r"))
except RuntimeError as e:
    print(e)
list(it)
# case: close-runs-finally
log = []
def g():
    try:
        yield 1
        yield 2
    finally:
        log.append("cleanup")
it = g()
next(it)
it.close()
it.close()
(log, list(it))
# case: generator-exit-seen
log = []
def g():
    try:
        yield
    except GeneratorExit:
        log.append("exit")
        raise
it = g()
next(it)
it.close()
log
# case: generator-ignores-exit
def g():
    try:
        yield 1
    except GeneratorExit:
        yield 2
it = g()
next(it)
it.close()
# case: close-unstarted
log = []
def g():
    log.append("ran")
    yield
it = g()
it.close()
(log, list(it))
# case: yield-from-iterables
def g():
    yield from [1, 2]
    yield from "ab"
    yield from (x * x for x in range(3))
list(g())
# case: yield-from-return-value
def inner():
    x = yield 1
    return x * 10
def outer():
    r = yield from inner()
    yield r
g = outer()
(next(g), g.send(5))
# case: yield-from-passes-send-and-throw
def inner():
    out = []
    try:
        while True:
            out.append((yield len(out)))
    except ValueError:
        return out
def outer():
    r = yield from inner()
    yield ("inner gave", r)
g = outer()
next(g); g.send("a"); g.send("b")
g.throw(ValueError)
# case: yield-from-close
log = []
def inner():
    try:
        yield 1
    finally:
        log.append("inner")
def outer():
    try:
        yield from inner()
    finally:
        log.append("outer")
g = outer()
next(g)
g.close()
log
# case: recursive-tree-walk
tree = (((None, 1, None), 2, (None, 3, None)), 4, (None, 5, None))
def walk(t):
    if t:
        l, v, r = t
        yield from walk(l)
        yield v
        yield from walk(r)
list(walk(tree))
# case: infinite-with-islice
from itertools import islice, takewhile
def fib():
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b
(list(islice(fib(), 10)), list(takewhile(lambda x: x < 30, fib())))
# case: pipeline
def read():
    yield from ["3", "x", "", "12"]
def strip(src):
    for s in src:
        if s: yield s
def ints(src):
    for s in src:
        try:
            yield int(s)
        except ValueError:
            yield None
list(ints(strip(read())))
# case: generator-in-for-with-break
log = []
def g():
    try:
        for i in range(100):
            yield i
    finally:
        log.append("closed")
for x in g():
    if x == 2: break
log
# case: return-in-generator-stops
def g(n):
    for i in range(10):
        if i == n: return
        yield i
(list(g(3)), list(g(0)))
# case: yield-expression-forms
def g():
    x = yield
    y = (yield x) or "none"
    z = [(yield y), (yield)]
    yield z
it = g()
(next(it), it.send(1), it.send(2), it.send(3), it.send(4))
# case: yield-precedence
def g():
    x = yield 1, 2
    yield x
it = g()
(next(it), it.send("v"))
# case: yield-in-condition-and-call
def g():
    if (yield "ask"):
        print((yield "second"), "printed")
it = g()
next(it)
it.send(True)
next(it, None)
# case: yield-in-f-string-and-display
def g():
    s = f"<{(yield 1)}>"
    d = {(yield s): (yield 3)}
    yield d
it = g()
[next(it), it.send("a"), it.send("k"), it.send("v")]
# case: stop-iteration-inside-becomes-runtime-error
def g():
    yield 1
    raise StopIteration("bad")
list(g())
# case: next-inside-generator-becomes-runtime-error
def g(it):
    while True:
        yield next(it)
try:
    list(g(iter([1])))
except RuntimeError as e:
    print(e, type(e.__cause__).__name__)
# case: exception-propagates-from-generator
def g():
    yield 1
    raise KeyError("inside")
out = []
try:
    for x in g():
        out.append(x)
except KeyError as e:
    out.append(repr(e))
out
# case: generator-already-executing
def g():
    yield next(it)
it = g()
next(it)
# case: generator-with-context-manager
from contextlib import contextmanager
log = []
@contextmanager
def res(n):
    log.append(n)
    yield
    log.append(-n)
def g():
    with res(1):
        yield "a"
        with res(2):
            yield "b"
(list(g()), log)
# case: iterator-class
class Count:
    def __init__(self, n): self.n = n
    def __iter__(self): return self
    def __next__(self):
        if self.n == 0: raise StopIteration
        self.n -= 1
        return self.n
(list(Count(3)), 2 in Count(5), sum(Count(4)), dict(zip("ab", Count(2))))
# case: iterable-class-with-generator
class Tree:
    def __init__(self, v, *kids): self.v, self.kids = v, kids
    def __iter__(self):
        yield self.v
        for k in self.kids:
            yield from k
t = Tree(1, Tree(2, Tree(3)), Tree(4))
(list(t), max(t), sorted(t, reverse=True))
# case: itertools-tour
import itertools as it
(list(it.chain([1], [2])), list(it.accumulate([1, 2, 3])), list(it.combinations("abc", 2)), list(it.permutations([1, 2])), list(it.product("ab", [0, 1])), [(k, list(g)) for k, g in it.groupby("aabb")], list(it.zip_longest("ab", "c", fillvalue="-")), list(it.islice(it.cycle("xy"), 5)), list(it.starmap(pow, [(2, 3)])), list(it.dropwhile(lambda x: x < 2, [1, 2, 1])), list(it.pairwise([1, 2, 3])), list(it.repeat("r", 2)), list(it.islice(it.count(5, 2), 3)), list(it.compress("abc", [1, 0, 1])), list(it.filterfalse(None, [0, 1])))
# case: tee
from itertools import tee
a, b = tee(iter(range(3)))
(next(a), next(a), list(b), list(a))
# case: generator-methods-exist
def g(): yield
it = g()
(hasattr(it, "send"), hasattr(it, "throw"), hasattr(it, "close"), iter(it) is it, type(it).__name__)
# case: coroutine-style-averager
def averager():
    total = count = 0
    avg = None
    while True:
        x = yield avg
        total += x; count += 1
        avg = total / count
a = averager()
next(a)
[a.send(x) for x in (10, 20, 60)]
# case: generator-with-loop-else-and-try
def g():
    for i in range(2):
        try:
            yield i
        finally:
            yield f"f{i}"
    else:
        yield "else"
list(g())
# case: throw-into-finally
log = []
def g():
    try:
        yield 1
    except ZeroDivisionError:
        log.append("zde")
        raise ValueError("replaced") from None
    finally:
        log.append("fin")
it = g()
next(it)
try:
    it.throw(ZeroDivisionError)
except ValueError as e:
    log.append(str(e))
log
# case: closures-over-generator-locals
def g():
    for i in range(3):
        yield lambda: i
fs = list(g())
[f() for f in fs]
# case: lambda-generator
f = lambda: (yield 5)
g = f()
next(g)
# case: sieve-generator
def primes():
    found = []
    n = 2
    while True:
        if all(n % p for p in found if p * p <= n):
            found.append(n)
            yield n
        n += 1
from itertools import islice
list(islice(primes(), 12))
# case: unpack-partial-generator
def g():
    yield 1
    yield 2
    raise ValueError("third")
a, b, c = g()
# case: next-default-and-error
it = iter([])
print(next(it, "d"))
next(it)
