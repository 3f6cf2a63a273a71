# case: run-coroutine
import asyncio
async def f(x):
    await asyncio.sleep(0)
    return x * 2
asyncio.run(f(4))
# case: gather-order
import asyncio
log = []
async def w(n):
    for i in range(2):
        log.append((n, i))
        await asyncio.sleep(0)
    return n
async def main(): return await asyncio.gather(w(1), w(2))
(asyncio.run(main()), log)
# case: async-for
import asyncio
class It:
    def __init__(self, n): self.n = n
    def __aiter__(self): return self
    async def __anext__(self):
        if self.n == 0: raise StopAsyncIteration
        self.n -= 1
        return self.n
async def main():
    out = []
    async for x in It(3):
        out.append(x)
    else:
        out.append("else")
    return out
asyncio.run(main())
# case: async-generator
import asyncio
async def g():
    for i in range(3):
        yield i
        await asyncio.sleep(0)
async def main():
    a = [x async for x in g()]
    b = {x: y async for x, y in pairs()}
    c = [x async for x in g() if x]
    return a, b, c
async def pairs():
    yield 1, "a"
    yield 2, "b"
asyncio.run(main())
# case: async-with
import asyncio
log = []
class R:
    async def __aenter__(self):
        log.append("in")
        return "res"
    async def __aexit__(self, t, v, tb):
        log.append(t.__name__ if t else "out")
        return True
async def main():
    async with R() as r, R():
        log.append(r)
    async with R():
        raise ValueError
asyncio.run(main())
log
# case: async-exceptions
import asyncio
async def bad():
    await asyncio.sleep(0)
    raise KeyError("async")
async def main():
    try:
        await bad()
    except KeyError as e:
        return repr(e)
    finally:
        print("finally")
asyncio.run(main())
# case: async-uncaught
import asyncio
async def bad():
    raise ValueError("uncaught")
asyncio.run(bad())
# case: gather-return-exceptions
import asyncio
async def f(x):
    if x == 1: raise ValueError(x)
    return x
async def main(): return await asyncio.gather(*(f(i) for i in range(3)), return_exceptions=True)
asyncio.run(main())
# case: create-task-and-cancel
import asyncio
async def forever():
    try:
        while True:
            await asyncio.sleep(0.01)
    except asyncio.CancelledError:
        print("cancelled")
        raise
async def main():
    t = asyncio.create_task(forever())
    await asyncio.sleep(0)
    t.cancel()
    try:
        await t
    except asyncio.CancelledError:
        return t.cancelled()
asyncio.run(main())
# case: wait-for-timeout
import asyncio
async def main():
    try:
        await asyncio.wait_for(asyncio.sleep(5), 0.01)
    except asyncio.TimeoutError:
        return "timeout"
asyncio.run(main())
# case: queue-producer-consumer
import asyncio
async def main():
    q = asyncio.Queue(maxsize=2)
    out = []
    async def prod():
        for i in range(5):
            await q.put(i)
        await q.put(None)
    async def cons():
        while (x := await q.get()) is not None:
            out.append(x * x)
    await asyncio.gather(prod(), cons())
    return out
asyncio.run(main())
# case: semaphore-and-lock
import asyncio
async def main():
    s = asyncio.Semaphore(2)
    active = peak = 0
    async def w():
        nonlocal active, peak
        async with s:
            active += 1
            peak = max(peak, active)
            await asyncio.sleep(0)
            active -= 1
    await asyncio.gather(*(w() for _ in range(5)))
    return peak
asyncio.run(main())
# case: await-custom-awaitable
import asyncio
class A:
    def __await__(self):
        yield from asyncio.sleep(0).__await__()
        return "awaited"
async def main(): return await A()
asyncio.run(main())
# case: coroutine-driven-by-hand
async def f():
    return 5
c = f()
try:
    c.send(None)
except StopIteration as e:
    print(e.value)
# case: async-comprehension-with-await
import asyncio
async def d(x):
    await asyncio.sleep(0)
    return x * 2
async def main():
    return [await d(i) for i in range(3)], {i: await d(i) for i in range(2)}, sum([await d(i) for i in (1, 2)])
asyncio.run(main())
# case: async-lambda-like-closure
import asyncio
async def make(n):
    async def inner(x): return x + n
    return inner
async def main():
    f = await make(10)
    return await f(5)
asyncio.run(main())
# case: async-contextmanager-decorator
import asyncio
from contextlib import asynccontextmanager
@asynccontextmanager
async def r():
    print("open")
    try:
        yield 7
    finally:
        print("close")
async def main():
    async with r() as v:
        return v
asyncio.run(main())
# case: async-generator-asend-aclose
import asyncio
async def g():
    try:
        x = yield 1
        yield x * 2
    finally:
        print("closed")
async def main():
    a = g()
    out = [await a.__anext__(), await a.asend(21)]
    await a.aclose()
    return out
asyncio.run(main())
# case: top-level-await
import asyncio
async def f():
    await asyncio.sleep(0)
    return 41
x = await f()
x + 1
# case: top-level-await-in-expression
import asyncio
async def f(x): return x
print(await f(1) + await f(2))
[await f(i) for i in range(3)]
# case: top-level-async-for-and-with
class R:
    async def __aenter__(self): return 1
    async def __aexit__(self, *a): print("exit")
async def g():
    yield 1
    yield 2
async with R() as r:
    print(r)
async for x in g():
    print(x)
# case: task-group
# since: 3.11 asyncio.TaskGroup
import asyncio
async def f(x):
    await asyncio.sleep(0)
    return x
async def main():
    async with asyncio.TaskGroup() as tg:
        ts = [tg.create_task(f(i)) for i in range(3)]
    return [t.result() for t in ts]
asyncio.run(main())
# case: await-non-awaitable
import asyncio
async def main(): await 5
asyncio.run(main())
# case: await-outside-async-is-syntax-error
def f():
    await g()
# case: async-method-and-property
import asyncio
class C:
    n = 3
    async def get(self): return self.n
    @classmethod
    async def make(cls): return cls()
async def main(): return await (await C.make()).get()
asyncio.run(main())
# case: loop-made-by-hand
import asyncio
async def f(n):
    await asyncio.sleep(0)
    return n
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
try:
    print(loop.run_until_complete(f(5)), loop.is_running(), loop.is_closed())
finally:
    loop.close()
async def g():
    return asyncio.get_event_loop() is asyncio.get_running_loop(), await asyncio.to_thread(sum, [1, 2])
print(loop.is_closed(), asyncio.run(g()))
# case: async-comprehension-nested-in-class-method
import asyncio
async def agen(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i
class A:
    async def f(self):
        return [[j async for j in agen(i)] async for i in agen(3) if i]
asyncio.run(A().f())
# case: async-generator-expression
import asyncio
async def agen(n):
    for i in range(n):
        yield i
async def main():
    g = (x * 2 async for x in agen(3))
    return [x async for x in g], type(g).__name__
asyncio.run(main())
# case: async-dict-and-set-comprehension-with-walrus
import asyncio
async def agen():
    for i in range(4): yield i
async def main():
    d = {k: (v := k * 2) async for k in agen()}
    s = {x async for x in agen() if await asyncio.sleep(0, x % 2)}
    return d, v, s
asyncio.run(main())
# case: await-in-comprehension-condition-and-element
import asyncio
async def d(x):
    await asyncio.sleep(0)
    return x * 2
async def main():
    return [await d(x) for x in range(3) if (await d(x)) > 0]
asyncio.run(main())
# case: async-comprehension-outside-async-is-error
def f():
    return [x async for x in y]
# case: async-generator-throw-and-finally
import asyncio
async def g():
    try:
        yield 1
        yield 2
    except ValueError as e:
        print("caught", e)
        yield 3
    finally:
        print("fin")
async def main():
    a = g()
    print(await a.__anext__(), await a.athrow(ValueError("v")))
    try:
        await a.__anext__()
    except StopAsyncIteration:
        print("end")
asyncio.run(main())
# case: async-generator-return-with-value-is-error
async def g():
    yield 1
    return 2
# case: yield-from-in-async-is-error
async def g():
    yield from []
# case: async-with-suppress-and-order
import asyncio
class C:
    def __init__(self, n): self.n = n
    async def __aenter__(self):
        print("in", self.n)
        return self.n
    async def __aexit__(self, t, v, tb):
        print("out", self.n, t and t.__name__)
        return self.n == 1
async def main():
    async with C(1) as a, C(2) as b:
        raise ValueError(a + b)
    return "after"
asyncio.run(main())
# case: async-with-missing-protocol
import asyncio
async def main():
    async with 3: pass
asyncio.run(main())
# case: async-for-over-sync-iterable
import asyncio
async def main():
    async for x in [1]: pass
asyncio.run(main())
# case: async-for-else-break-continue
import asyncio
async def g():
    for i in range(5): yield i
async def main():
    async for i in g():
        if i == 1: continue
        if i == 3: break
        print(i)
    else:
        print("no")
    async for i in g(): pass
    else: print("else", i)
asyncio.run(main())
# case: aiter-anext-builtins
import asyncio
async def g():
    yield 1
async def main():
    it = aiter(g())
    return await anext(it), await anext(it, "default")
asyncio.run(main())
# case: task-cancel-in-finally
import asyncio
async def w():
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        print("cancelled")
        raise
    finally:
        print("fin")
async def main():
    t = asyncio.ensure_future(w())
    await asyncio.sleep(0)
    t.cancel()
    try:
        await t
    except asyncio.CancelledError:
        return t.cancelled()
asyncio.run(main())
# case: task-group-fails-with-group
# since: 3.11 task groups
import asyncio
async def bad(n):
    await asyncio.sleep(0)
    raise ValueError(n)
async def main():
    try:
        async with asyncio.TaskGroup() as g:
            g.create_task(bad(1))
            g.create_task(bad(2))
    except* ValueError as e:
        print(sorted(x.args[0] for x in e.exceptions))
asyncio.run(main())
# case: asyncio-timeout-context
# since: 3.11 asyncio.timeout
import asyncio
async def main():
    try:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(5)
    except TimeoutError as e:
        return repr(e)
asyncio.run(main())
# case: coroutine-never-awaited-is-silent
async def f(): return 1
c = f()
c.close()
print(type(c).__name__)
# case: coroutine-reuse
import asyncio
async def f(): return 1
async def main():
    c = f()
    print(await c)
    await c
asyncio.run(main())
# case: event-condition-lock
import asyncio
async def main():
    e, c, out = asyncio.Event(), asyncio.Condition(), []
    async def a():
        await e.wait()
        async with c:
            out.append("a")
            c.notify_all()
    async def b():
        async with c:
            e.set()
            await c.wait()
            out.append("b")
    await asyncio.gather(a(), b())
    return out
asyncio.run(main())
# case: asyncio-as-completed-and-wait
import asyncio
async def f(n):
    await asyncio.sleep(n / 100)
    return n
async def main():
    r = [await x for x in asyncio.as_completed([f(3), f(1), f(2)])]
    done, pending = await asyncio.wait([asyncio.create_task(f(1)), asyncio.create_task(f(50))], return_when=asyncio.FIRST_COMPLETED)
    for p in pending: p.cancel()
    return r, [d.result() for d in done], len(pending)
asyncio.run(main())
# case: async-exit-stack
import asyncio, contextlib
@contextlib.asynccontextmanager
async def cm(n):
    print("in", n)
    try: yield n
    finally: print("out", n)
async def main():
    async with contextlib.AsyncExitStack() as s:
        a = await s.enter_async_context(cm(1))
        b = await s.enter_async_context(cm(2))
        s.callback(print, "cb")
        return a + b
asyncio.run(main())
# case: run-in-running-loop
import asyncio
async def main():
    c = asyncio.sleep(0)
    try:
        asyncio.run(c)
    except RuntimeError as e:
        print(e)
        c.close()
asyncio.run(main())
# case: contextvar-like-async-locals
import asyncio
out = []
async def w(n):
    for i in range(2):
        out.append((n, i))
        await asyncio.sleep(0)
async def main(): await asyncio.gather(*(w(n) for n in "ab"))
asyncio.run(main())
out
