# hostile: while-true
# limit: endless loop
while True:
    pass
# hostile: while-true-with-work
# limit: endless loop
n = 0
while True:
    n += 1
# hostile: nested-while
# limit: endless loop
while True:
    i = 0
    while i < 1000:
        i += 1
# hostile: lambdas-that-call-nothing
# limit: endless loop
from itertools import count
any(map(lambda x: False, count()))
# hostile: for-over-count
# limit: endless loop
from itertools import count
for i in count():
    pass
# hostile: for-over-growing-list
# limit: endless loop
a = [1]
for x in a:
    a.append(x)
# hostile: for-over-own-iterator
# limit: endless loop
class I:
    def __iter__(self): return self
    def __next__(self): return 1
for x in I():
    pass
# hostile: except-bare-around-loop
# limit: swallow
try:
    while True:
        pass
except:
    pass
trip("after")
# hostile: except-base-exception
# limit: swallow
try:
    while True:
        pass
except BaseException:
    trip("in handler")
# hostile: except-exception-as
# limit: swallow
try:
    while True: pass
except Exception as e:
    trip(str(e))
# hostile: except-in-endless-retry
# limit: swallow
while True:
    try:
        while True:
            pass
    except BaseException:
        trip("retry")
# hostile: finally-continue
# limit: swallow
for i in range(10 ** 9):
    try:
        while True:
            pass
    finally:
        trip("finally")
        continue
# hostile: finally-break
# limit: swallow
while True:
    try:
        while True:
            pass
    finally:
        break
trip("after")
# hostile: finally-return
# limit: swallow
def f():
    try:
        while True:
            pass
    finally:
        return 5
trip(f())
# hostile: finally-with-work
# limit: swallow
try:
    while True: pass
finally:
    trip("cleanup ran")
    while True: pass
# hostile: else-after-swallow
# limit: swallow
for _ in range(1):
    try:
        for i in range(10 ** 12): pass
    except BaseException:
        continue
else:
    trip("else")
# hostile: suppress
# limit: swallow
from contextlib import suppress
with suppress(BaseException):
    while True: pass
trip("after")
# hostile: exit-returns-true
# limit: swallow
class C:
    def __enter__(self): return self
    def __exit__(self, *a): return True
with C():
    while True: pass
trip("after")
# hostile: exit-does-work
# limit: swallow
class C:
    def __enter__(self): return self
    def __exit__(self, *a):
        trip("exit ran")
        return True
with C():
    while True: pass
# hostile: exit-stack
# limit: swallow
from contextlib import ExitStack
with ExitStack() as s:
    s.push(lambda *a: True)
    while True: pass
trip("after")
# hostile: exit-stack-callback
# limit: swallow
from contextlib import ExitStack
with ExitStack() as s:
    s.callback(trip, "callback ran")
    while True: pass
# hostile: contextmanager-catches-at-yield
# limit: swallow
from contextlib import contextmanager
@contextmanager
def c():
    try:
        yield
    except BaseException:
        trip("caught at yield")
with c():
    while True: pass
# hostile: generator-catches-at-yield
# limit: swallow
def g():
    while True:
        try:
            yield
            while True: pass
        except BaseException:
            trip("caught in generator")
for x in g():
    pass
# hostile: generator-finally-on-close
# limit: swallow
def g():
    try:
        yield
    finally:
        while True: pass
it = g()
next(it)
del it
trip("after close")
# hostile: generator-throw-from-outside
# limit: swallow
def g():
    try:
        yield
    except BaseException:
        pass
    trip("generator went on")
    yield
it = g()
next(it)
try:
    while True: pass
except BaseException as e:
    it.throw(e)
# hostile: except-star
# limit: swallow
try:
    while True: pass
except* BaseException:
    trip("except star")
# hostile: except-star-exception
# limit: swallow
try:
    while True: pass
except* Exception:
    pass
trip("after")
# hostile: match-in-handler
# limit: swallow
try:
    while True: pass
except BaseException as e:
    match e:
        case BaseException(args=a):
            trip(a)
# hostile: handler-type-is-dynamic
# limit: swallow
def kinds(): return (BaseException,)
try:
    while True: pass
except kinds():
    trip("dynamic")
# hostile: handler-type-from-metaclass
# limit: swallow
class M(type):
    def __subclasscheck__(c, o): return True
    def __instancecheck__(c, o): return True
class E(BaseException, metaclass=M): pass
try:
    while True: pass
except (E, BaseException):
    trip("metaclass")
# hostile: nested-handlers-ten-deep
# limit: swallow
def f(n):
    try:
        if n: f(n - 1)
        while True: pass
    except BaseException:
        pass
f(10)
trip("after")
# hostile: recursion-swallowed-tree
# limit: swallow
def f(n=0):
    try:
        f(n + 1)
    except BaseException:
        pass
    try:
        f(n + 1)
    except BaseException:
        pass
f()
trip("after")
# hostile: recursion-error-loop
# limit: swallow
def f(): f()
while True:
    try:
        f()
    except RecursionError:
        pass
# hostile: recursion-through-str
# limit: swallow
class C:
    def __str__(self): return str(self)
while True:
    try:
        str(C())
    except RecursionError:
        pass
# hostile: recursion-through-getattr
# limit: swallow
class C:
    def __getattr__(self, n): return getattr(self, n + "x")
while True:
    try:
        C().a
    except RecursionError:
        pass
# hostile: recursion-through-repr-of-nesting
# limit: swallow
x = []
for i in range(100000): x = [x]
while True:
    try:
        repr(x)
    except RecursionError:
        pass
# hostile: del-hook-loops
# limit: swallow
class D:
    def __del__(self):
        while True: pass
D()
while True:
    pass
trip("after")
# hostile: del-hook-revives-itself
# limit: swallow
class D:
    def __del__(self):
        D()
D()
while True:
    D()
# hostile: eq-callback-in-list-index
# limit: swallow
class E:
    def __eq__(self, o):
        try:
            while True: pass
        except BaseException:
            trip("in __eq__")
        return False
[1, 2, 3].index(E())
# hostile: hash-callback
# limit: swallow
class H:
    def __hash__(self):
        try:
            while True: pass
        except BaseException:
            trip("in __hash__")
        return 1
{H(): 1}
# hostile: lt-callback-in-sort
# limit: swallow
class L:
    def __lt__(self, o):
        while True: pass
try:
    sorted([L(), L()])
except BaseException:
    pass
trip("after sort")
# hostile: key-callback-in-sorted
# limit: swallow
def k(x):
    try:
        while True: pass
    except BaseException:
        trip("in key")
    return 0
sorted([1, 2, 3], key=k)
# hostile: key-callback-in-max
# limit: swallow
try:
    max([1, 2], key=lambda x: [None for _ in iter(int, 1)])
except BaseException:
    pass
trip("after")
# hostile: len-callback
# limit: swallow
class L:
    def __len__(self):
        while True: pass
try:
    len(L())
except BaseException:
    pass
trip("after")
# hostile: bool-callback
# limit: swallow
class B:
    def __bool__(self):
        while True: pass
try:
    if B(): pass
except BaseException:
    pass
trip("after")
# hostile: callback-in-hasattr
# limit: swallow
class H:
    @property
    def x(self):
        while True: pass
hasattr(H(), "x")
trip("after")
# hostile: callback-in-dict-get-item
# limit: swallow
class E:
    def __hash__(self): return 1
    def __eq__(self, o):
        while True: pass
try:
    {E(): 1}[E()]
except BaseException:
    pass
trip("after")
# hostile: callback-in-re-sub
# limit: swallow
import re
def cb(m):
    while True: pass
try:
    re.sub("a", cb, "aaa")
except BaseException:
    pass
trip("after")
# hostile: callback-in-json-default
# limit: swallow
import json
def d(o):
    while True: pass
try:
    json.dumps([1j], default=d)
except BaseException:
    pass
trip("after")
# hostile: callback-in-reduce
# limit: swallow
from functools import reduce
try:
    reduce(lambda a, b: [0 for _ in iter(int, 1)], [1, 2])
except BaseException:
    pass
trip("after")
# hostile: callback-in-defaultdict
# limit: swallow
from collections import defaultdict
def make():
    while True: pass
try:
    defaultdict(make)["x"]
except BaseException:
    pass
trip("after")
# hostile: map-callback-swallows
# limit: swallow
def f(x):
    try:
        while True: pass
    except BaseException:
        return x
for x in map(f, iter(int, 1)): trip("next")
# hostile: lambda-recursion
# limit: swallow
f = lambda f: f(f)
while True:
    try:
        f(f)
    except BaseException:
        pass
# hostile: comprehension-endless
# limit: endless loop
[x for x in iter(int, 1)]
# hostile: generator-expression-endless
# limit: endless loop
for x in (1 for _ in iter(int, 1)): pass
# hostile: nested-for-large
# limit: operations
for a in range(10 ** 5):
    for b in range(10 ** 5):
        for c in range(10 ** 5):
            pass
# hostile: async-endless
# limit: swallow
import asyncio
async def main():
    while True:
        try:
            await asyncio.sleep(0)
        except BaseException:
            trip("in coroutine")
asyncio.run(main())
# hostile: async-endless-without-await
# limit: swallow
import asyncio
async def main():
    try:
        while True: pass
    except BaseException:
        pass
asyncio.run(main())
trip("after")
# hostile: async-long-sleep
# limit: blocks
import asyncio
asyncio.run(asyncio.sleep(1000))
# hostile: async-cancelled-swallowed
# limit: swallow
import asyncio
async def stubborn():
    while True:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            pass
async def main():
    t = asyncio.create_task(stubborn())
    await asyncio.sleep(0.01)
    t.cancel()
    await t
asyncio.run(main())
# hostile: async-gather-return-exceptions
# limit: swallow
import asyncio
async def w():
    while True: pass
async def main(): return await asyncio.gather(w(), w(), return_exceptions=True)
asyncio.run(main())
trip("after gather")
# hostile: async-call-soon-chain
# limit: swallow
import asyncio
async def main():
    loop = asyncio.get_running_loop()
    def again(): loop.call_soon(again)
    again()
    await asyncio.Event().wait()
asyncio.run(main())
# hostile: async-exception-handler-swallows
# limit: swallow
import asyncio
async def main():
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda l, c: None)
    def spin():
        while True: pass
    loop.call_soon(spin)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    trip("after callback")
asyncio.run(main())
# hostile: async-event-never-set
# limit: blocks
import asyncio
async def main(): await asyncio.Event().wait()
asyncio.run(main())
# hostile: thread-pool-through-asyncio
# limit: swallow
import asyncio
async def main():
    def spin():
        while True: pass
    await asyncio.to_thread(spin)
asyncio.run(main())
# hostile: limit-error-stored-and-raised-later
# limit: swallow
saved = []
try:
    while True: pass
except BaseException as e:
    saved.append(e)
trip(len(saved))
# hostile: iterator-swallows-in-next
# limit: swallow
class I:
    def __iter__(self): return self
    def __next__(self):
        try:
            while True: pass
        except BaseException:
            return 1
for x in I(): trip("next value")
# hostile: descriptor-swallows
# limit: swallow
class D:
    def __get__(self, o, c):
        try:
            while True: pass
        except BaseException:
            return 5
class C: x = D()
trip(C().x)
# hostile: format-hook-swallows
# limit: swallow
class F:
    def __format__(self, s):
        try:
            while True: pass
        except BaseException:
            return "x"
trip(f"{F()}")
# hostile: init-subclass-spins
# limit: swallow
class A:
    def __init_subclass__(cls):
        while True: pass
try:
    class B(A): pass
except BaseException:
    pass
trip("after")
# hostile: decorator-swallows-for-a-function
# limit: swallow
import functools
def safe(f):
    @functools.wraps(f)
    def w(*a):
        try:
            return f(*a)
        except BaseException as e:
            return repr(e)
    return w
@safe
def spin():
    while True: pass
trip(spin())
# hostile: print-flood
# limit: endless output
while True:
    print("x" * 1000)
# hostile: print-one-huge-line
# limit: memory of a single call
print("x" * 10 ** 10)
# hostile: log-list-grows
# local: no memory that grows by many small objects has no bound in-process; `memory` of the child has
# limit: memory
a = []
while True:
    a.append("x" * 10000 + str(len(a)))
# hostile: dict-grows
# local: no memory that grows by many small objects has no bound in-process; `memory` of the child has
# limit: memory
d = {}
i = 0
while True:
    d[i] = [i] * 100
    i += 1
# hostile: string-doubles
# local: no sums and extensions are not in the table of sizes
# limit: memory
s = "x"
while True:
    s += s
# hostile: list-doubles
# local: no sums and extensions are not in the table of sizes
# limit: memory
a = [1]
while True:
    a += a
# hostile: integer-squares
# limit: one operation grows
n = 3
while True:
    n *= n
# hostile: tuple-nests
# local: no sums and extensions are not in the table of sizes
# limit: memory
t = (1,)
while True:
    t = t + t
# hostile: bytearray-extends
# local: no sums and extensions are not in the table of sizes
# limit: memory
b = bytearray(b"x")
while True:
    b.extend(b)
# hostile: extend-self
# local: no sums and extensions are not in the table of sizes
# limit: memory
a = [1]
while True:
    a.extend(a)
# hostile: slice-assign-doubles
# local: no sums and extensions are not in the table of sizes
# limit: memory
a = [1]
while True:
    a[len(a):] = a
# hostile: join-doubles
# local: no one call of C, or of a library, that takes long or much
# limit: memory
s = "ab"
while True:
    s = s.join([s, s, s])
# hostile: format-doubles
# local: no one call of C, or of a library, that takes long or much
# limit: memory
s = "ab"
while True:
    s = f"{s}{s}{s}"
# hostile: replace-doubles
# limit: memory
s = "a"
while True:
    s = s.replace("a", "aa")
# hostile: set-update-grows
# local: no one call adds a million items, and looks at no clock while it does
# limit: memory
s = set()
i = 0
while True:
    s.update(range(i, i + 10 ** 6))
    i += 10 ** 6
# hostile: function-recursion-plain
# limit: recursion
def f(n): return f(n + 1) + 1
while True:
    try:
        f(0)
    except Exception:
        pass
# hostile: loop-over-a-range-longer-than-a-machine-word
# limit: swallow
try:
    for i in range(10 ** 30): pass
except BaseException:
    pass
trip("after")
# hostile: prepared-namespace-answers-for-the-counter
# limit: the class body counts through its namespace
class Namespace(dict):
    def __missing__(self, name):
        if name == "@n":
            return 10**9
        raise KeyError(name)
class M(type):
    @classmethod
    def __prepare__(m, n, b): return Namespace()
    def __new__(m, n, b, ns): return type.__new__(m, n, b, dict(ns))
for _ in range(30_000):
    class C(metaclass=M):
        n = 0
        for i in range(200):
            n += 1
trip("the counter was answered for")
