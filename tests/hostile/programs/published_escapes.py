# Published escapes from smolagents' executors. The programs are our own, after the public descriptions.
# CVE-2025-5120 (GHSA-6v92-r5mx-h5fx, upstream's #1375): authorised modules contain unauthorised ones, which attributes
# and getattr reach.
# CVE-2025-9959: attributes with two underscores were refused in code, but not in text formatting and in built-ins that
# read them.
# CVE-2026-4963: the fix of CVE-2025-9959 did not cover augmented assignment, assignment, deletion, calls, and with.
# CVE-2025-14931 (ZDI-25-1143, GHSA-q9r5-6hrr-9ph7): data from a sandbox was unpickled.
# hostile: CVE-2025-5120 a private name of a module
import random
random._os.system('true')
trip()
# hostile: CVE-2025-5120 getattr on a module
import random
f = getattr(random, '_os')
getattr(f, 'system')('true')
trip()
# hostile: CVE-2025-5120 a name put together
import random
g = getattr(random, '_' + 'o' + 's')
g.popen('id')
trip()
# hostile: CVE-2025-5120 a module in a module
import queue
queue.threading._os.system('true')
trip()
# hostile: CVE-2025-5120 a chain of modules
import statistics
statistics.random._os.system('true')
trip()
# hostile: CVE-2025-5120 submodules of a package
import asyncio
asyncio.base_events.events.subprocess.run('true')
trip()
# hostile: CVE-2025-5120 the loader of a module
import re
re.__loader__.load_module('re')
trip()
# hostile: CVE-2025-5120 the import system
import collections
collections._sys.modules['hostile_canary'].trip()
# hostile: CVE-2025-5120 imported from it
from random import _os
_os.system('true')
trip()
# hostile: CVE-2025-9959 subclasses of object
for c in ().__class__.__base__.__subclasses__():
    if c.__name__ == 'Popen':
        c(['true']).wait()
        trip()
leak(().__class__.__base__.__subclasses__())
# hostile: CVE-2025-9959 the text of a format
print('{0.__class__.__base__.__subclasses__}'.format(()))
leak(str)
x = '{0.__globals__}'.format(search)
assert x
trip()
# hostile: CVE-2025-9959 format of a class
x = str.format('{0.__globals__[SECRET]}', search)
print(x)
# hostile: CVE-2025-9959 format of a mapping
x = '{f.__globals__}'.format_map({'f': search})
trip()
# hostile: CVE-2025-9959 a formatter
import string
leak(string.Formatter().get_field('0.__globals__', [search], {})[0])
# hostile: CVE-2025-9959 getattr
leak(getattr(search, '__globals__'))
# hostile: CVE-2025-9959 getattr that is mapped
leak(list(map(getattr, [search], ['__globals__']))[0])
# hostile: CVE-2025-9959 a getter
import operator
leak(operator.attrgetter('__globals__')(search))
# hostile: CVE-2026-4963 augmented read
class Take:
    def __radd__(self, other):
        leak(other)
        return other
search.__globals__ += Take()
# hostile: CVE-2026-4963 augmented read of a method
class Take:
    def __ror__(self, other):
        leak(other.__self__ if hasattr(other, '__self__') else other)
        return other
type(thing).__subclasses__ |= Take()
print.__self__ |= Take()
# hostile: CVE-2026-4963 assignment
def f(): pass
def g(): return 1
f.__code__ = g.__code__
f()
trip()
# hostile: CVE-2026-4963 assignment to a tool
leak.__code__ = (lambda *a: trip()).__code__
leak(0)
trip()
# hostile: CVE-2026-4963 setattr
def f(): pass
setattr(f, '__code__', (lambda: trip()).__code__)
f()
# hostile: CVE-2026-4963 hasattr
hasattr(search, '__globals__')
leak(search.__getattribute__('__globals__'))
# hostile: CVE-2026-4963 deletion
del search.__defaults__
trip()
# hostile: CVE-2026-4963 target of a loop
for search.__defaults__ in [(1, 2)]: pass
trip()
# hostile: CVE-2026-4963 target of with
class Gives:
    def __enter__(self): return (1,)
    def __exit__(self, *a): pass
with Gives() as search.__defaults__: pass
trip()
# hostile: CVE-2026-4963 enter that is not its own
class Way:
    __enter__ = property(lambda self: lambda: search.__globals__)
    def __exit__(self, *a): pass
with Way() as space: leak(space)
# hostile: CVE-2026-4963 built-in by its module
import random
exec_ = random.__builtins__['exec']
exec_('x = 1')
trip()
# hostile: CVE-2026-4963 built-in that calls itself so
def evaluate(): pass
evaluate.__module__ = 'builtins'
leak(evaluate.__globals__)
# hostile: CVE-2025-14931 an answer that reduces
# ends: quietly its value is what it gives
# weak: CPython itself unpickles nothing
class Answer:
    def __reduce__(self):
        return (trip, ('unpickled',))
    def __reduce_ex__(self, protocol):
        return (trip, ('unpickled',))
    def __repr__(self):
        return 'an answer'
Answer()
# hostile: CVE-2025-14931 a final answer that reduces
# ends: quietly its value is what it gives
# weak: CPython itself unpickles nothing
class Answer:
    def __reduce_ex__(self, protocol):
        return (trip, ('unpickled',))
final_answer([Answer()])
