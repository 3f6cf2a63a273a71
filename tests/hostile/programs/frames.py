# hostile: traceback-of-exception
try:
    1 / 0
except ZeroDivisionError as e:
    leak(e.__traceback__)
# hostile: traceback-frame
try:
    thing.fail()
except ValueError as e:
    leak(e.__traceback__.tb_next.tb_frame)
# hostile: traceback-frame-locals-secret
try:
    thing.fail()
except ValueError as e:
    print(e.__traceback__.tb_next.tb_frame.f_locals["secret_local"])
# hostile: traceback-frame-globals
try:
    1 / 0
except ZeroDivisionError as e:
    leak(e.__traceback__.tb_frame.f_globals)
# hostile: traceback-frame-back
try:
    1 / 0
except ZeroDivisionError as e:
    f = e.__traceback__.tb_frame
    while f.f_back:
        f = f.f_back
    leak(f.f_globals)
# hostile: traceback-by-getattr
try:
    1 / 0
except ZeroDivisionError as e:
    leak(getattr(e, "__trace" + "back__"))
# hostile: traceback-in-exit
class C:
    def __enter__(self): return self
    def __exit__(self, t, v, tb):
        leak(tb.tb_frame)
        return True
with C():
    1 / 0
# hostile: traceback-in-exit-by-star-args
class C:
    def __enter__(self): return self
    def __exit__(self, *a):
        leak(a[2].tb_frame.f_globals)
with C():
    1 / 0
# hostile: traceback-in-async-exit
import asyncio
class C:
    async def __aenter__(self): return self
    async def __aexit__(self, t, v, tb):
        leak(tb.tb_frame)
        return True
async def main():
    async with C():
        1 / 0
asyncio.run(main())
# hostile: traceback-in-exit-stack-callback
from contextlib import ExitStack
with ExitStack() as st:
    st.push(lambda t, v, tb: leak(tb.tb_frame) and True)
    1 / 0
# hostile: traceback-through-generator-throw
def g():
    try:
        yield
    except ValueError as e:
        leak(e.__traceback__)
it = g()
next(it)
try:
    it.throw(ValueError("x"))
except StopIteration:
    pass
# hostile: traceback-with-traceback-round-trip
try:
    1 / 0
except ZeroDivisionError as e:
    leak(ValueError().with_traceback(e.__traceback__).__traceback__)
# hostile: traceback-of-context
try:
    try:
        1 / 0
    except ZeroDivisionError:
        raise KeyError
except KeyError as e:
    leak(e.__context__.__traceback__.tb_frame)
# hostile: traceback-by-format
try:
    1 / 0
except ZeroDivisionError as e:
    print("{0.__traceback__.tb_frame.f_globals}".format(e))
    leak(e.__traceback__)
# hostile: traceback-by-match
try:
    1 / 0
except ZeroDivisionError as e:
    match e:
        case ZeroDivisionError(__traceback__=t):
            leak(t)
# hostile: generator-frame
def g(): yield
leak(g().gi_frame)
# hostile: generator-frame-globals
g = (i for i in range(3))
leak(g.gi_frame.f_globals)
# hostile: generator-frame-back-to-host
def g():
    yield it.gi_frame.f_back
it = g()
leak(next(it))
# hostile: generator-code
leak((i for i in ()).gi_code)
# hostile: generator-frame-by-getattr
leak(getattr((i for i in ()), "gi_" + "frame"))
# hostile: coroutine-frame
async def f(): pass
c = f()
try:
    leak(c.cr_frame)
finally:
    c.close()
# hostile: coroutine-code
async def f(): pass
c = f()
try:
    leak(c.cr_code)
finally:
    c.close()
# hostile: async-generator-frame
async def f(): yield
leak(f().ag_frame)
# hostile: async-generator-code
async def f(): yield
leak(f().ag_code)
# hostile: coroutine-await-chain
import asyncio
async def inner(): await asyncio.sleep(0)
async def outer(): await inner()
c = outer()
c.send(None)
x = c.cr_await
leak(x.cr_frame)
c.close()
# hostile: task-get-stack
import asyncio
async def w(): await asyncio.sleep(0)
async def main():
    t = asyncio.create_task(w())
    await asyncio.sleep(0)
    leak(t.get_stack()[0])
asyncio.run(main())
# hostile: task-get-coro-frame
import asyncio
async def main():
    leak(asyncio.current_task().get_coro().cr_frame)
asyncio.run(main())
# hostile: generator-subclass-attribute-forge
class G:
    gi_frame = property(lambda self: (i for i in ()).gi_frame)
leak(G().gi_frame)
# hostile: frame-by-attrgetter
import operator
leak(operator.attrgetter("gi_frame.f_globals")(i for i in ()))
# hostile: exception-attribute-error-obj
try:
    search.nothing_here
except AttributeError as e:
    leak(e.obj.__globals__)
# hostile: name-error-from-host-frame
try:
    lookup(1)
except AttributeError as e:
    leak(e.__traceback__.tb_next.tb_frame.f_globals)
# hostile: exception-group-tracebacks
try:
    raise ExceptionGroup("g", [ValueError()])
except ExceptionGroup as e:
    leak(e.__traceback__.tb_frame)
# hostile: stop-iteration-value-of-frame
def g():
    return it.gi_frame
    yield
it = g()
try:
    next(it)
except StopIteration as e:
    leak(e.value)
# hostile: unbound-type-getset
leak(type(search).__dict__["__globals__"].__get__(search))
# hostile: code-consts
def f(): return 1
leak(f.__code__)
print(f.__code__.co_consts)
# hostile: code-replace-run
def f(): return 1
f.__code__ = f.__code__.replace(co_consts=(None, 2))
leak(f.__code__)
# hostile: breakpointhook
# ends: quietly: the builtin is a stand-in that refuses
leak(breakpoint)
# hostile: frame-through-augmented-assignment
# local: no an augmented assignment to a frame means harm
class E:
    def __radd__(self, other): leak(other)
def gen(): yield 1
g = gen()
next(g)
g.gi_frame += E()
# hostile: frame-through-guarded-augmented-assignment
class E:
    def __rmul__(self, other): leak(other)
def gen(): yield 1
g = gen()
next(g)
g.gi_frame *= E()
# hostile: code-through-augmented-assignment-in-class-body
class E:
    def __rpow__(self, other): leak(other)
g = (i for i in [1])
class C:
    g.gi_code **= E()
# hostile: frame-through-value-pattern
class E:
    def __eq__(self, other): leak(other)
def gen(): yield 1
g = gen()
next(g)
match E():
    case g.gi_frame: pass
