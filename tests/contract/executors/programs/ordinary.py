# Programs of ordinary Python; each ends with the value True.
# case: pickle of its own classes
import pickle
class Point:
    def __init__(self, x): self.x = x
pickle.loads(pickle.dumps(Point(3))).x == 3
# case: dataclasses under text annotations
from __future__ import annotations
from dataclasses import InitVar, KW_ONLY, dataclass, field, fields
from typing import ClassVar
@dataclass
class Part:
    kind: ClassVar[str] = 'part'
    size: int
    scale: InitVar[int]
    _: KW_ONLY
    names: list[str] = field(default_factory=list)
    def __post_init__(self, scale): self.size *= scale
part = Part(2, 3, names=['a'])
(part.size, [f.name for f in fields(part)], part.names) == (6, ['size', 'names'], ['a'])
# case: type hints
from __future__ import annotations
import typing
class Node:
    next: Node | None = None
typing.get_type_hints(Node)['next'] == (Node | None)
# case: source of functions
import inspect
def double(x):
    return 2 * x
inspect.getsource(double) == 'def double(x):\n    return 2 * x\n'
# case: lines of a traceback
import traceback
try:
    [][3]
except IndexError:
    text = traceback.format_exc()
'[][3]' in text
# case: lines of functions
import linecache
def double(x):
    return 2 * x
linecache.getline(double.__code__.co_filename, 3).strip() == 'return 2 * x'
# case: structures of ctypes
import ctypes
class Pair(ctypes.Structure):
    _fields_ = [('a', ctypes.c_int), ('b', ctypes.c_int)]
(Pair(1, 2).b, ctypes.sizeof(Pair)) == (2, 8)
# case: private names, namespaces and other classes
from collections import namedtuple
Row = namedtuple('Row', 'a 1', rename=True)
class A: pass
class B: pass
x = A()
x.__class__ = B
x.y = eval('40 + 2')
(Row(1, 2)._1, x.__dict__, type(x), globals()['A']) == (2, {'y': 42}, B, A)
# case: names of its namespace
public = [name for name in globals() if not name.startswith('_')]
(public, __doc__, type(open), exit is quit) == ([], None, type(len), True)
# case: file name of its code
(lambda: 0).__code__.co_filename.startswith('<program ')
# case: its main module
import sys
kept = 5
import __main__
from __main__ import kept as same
(sys.modules['__main__'].kept, __main__.kept, same) == (5, 5, 5)
# case: changed members of modules
import types
counting = types.ModuleType('counting')
code = 'counter = 0\ndef inc():\n    global counter\n    counter += 1'
exec(code, counting.__dict__)
counting.inc()
counting.counter == 1
# case: counts of operations
total = 0
for a in range(1200):
    for b in range(1200):
        total += a * b
n = 0
while n < 1_200_000: n += 1
(total, n) == (719_400**2, 1_200_000)
# case: its arguments, which are none
import argparse
argparse.ArgumentParser().parse_args() == argparse.Namespace()
# case: declarations
if True:
    global declared
declared = 3
declared == 3
# case: finalizers
import gc
seen = []
class Last:
    def __del__(self): seen.append(1)
Last()
gc.collect()
seen == [1]
