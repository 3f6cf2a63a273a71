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
