# hostile: str-subclass-as-attribute-name
class S(str):
    def __ne__(self, o): return True
    def __len__(self): return 4
    def startswith(self, *a): return False
leak(getattr(thing.grow, S("__func__")).__globals__)
# hostile: str-subclass-join
class S(str):
    def join(self, *a): return "__globals__"
leak(getattr(search, S("x").join([])))
# hostile: str-subclass-changes-its-mind
class S(str):
    n = 0
    def __str__(self):
        self.n += 1
        return "name" if self.n < 2 else "__globals__"
leak(getattr(search, S("__globals__")))
# hostile: str-subclass-in-format
class S(str):
    def __str__(self): return "harmless {}"
    def __repr__(self): return "'harmless'"
    def __contains__(self, x): return False
    def __iter__(self): return iter("harmless")
print(S("{0._key}").format(lookup))
# hostile: str-subclass-in-attrgetter
import operator
class S(str):
    def split(self, *a): return ["size"]
    def startswith(self, *a): return False
leak(operator.attrgetter(S("__globals__"))(search))
# hostile: str-subclass-as-keyword-to-setattr
class S(str):
    def startswith(self, *a): return False
    def __eq__(self, o): return False
    def __hash__(self): return str.__hash__(self)
setattr(search, S("__doc__"), "hijacked")
# hostile: str-subclass-class-itself-lies
class M(type):
    def __instancecheck__(cls, o): return True
    def __subclasscheck__(cls, o): return True
    def __eq__(cls, o): return True
    def __hash__(cls): return hash(str)
class S(str, metaclass=M):
    def startswith(self, *a): return False
leak(getattr(search, S("__globals__")))
# hostile: metaclass-mro
out = []
class M(type):
    def mro(cls):
        out.append(type.mro(cls))
        return type.mro(cls)
class C(metaclass=M): pass
leak(out[0][-1].__subclasses__())
# hostile: metaclass-new-namespace
# local: no the namespace of the program's own class, as in Python
class M(type):
    def __new__(m, n, b, ns):
        leak(type.__new__(m, n, b, ns).__dict__)
        return type.__new__(m, n, b, ns)
class C(metaclass=M): pass
# hostile: class-property-overrides-dunder-class
class C:
    @property
    def __class__(self): return type(search)
leak(C().__class__((lambda: 0).__code__, {}).__globals__)
leak((lambda: 0).__code__)
# hostile: assign-dunder-class
class A: pass
class B: 
    def go(self): return self.__class__.__base__.__subclasses__()
a = A()
a.__class__ = B
leak(a.go())
# hostile: assign-dunder-class-of-host-object
class Evil:
    def grow(self, by=1): return "hijacked"
thing.__class__ = Evil
leak(type(thing) is Evil and Evil.__dict__)
# hostile: assign-bases
class A: pass
class B: pass
class C(A): pass
C.__bases__ = (B,)
leak(C.__bases__[0].__base__.__subclasses__())
# hostile: subclass-of-host-class-reads-private
class E(type(lookup)):
    def steal(self): return self._key
print(E().steal())
# hostile: subclass-of-host-class-patches-it
class E(type(thing)): pass
E.__base__.kind = "hijacked"
# hostile: super-reads-host-dict
class E(type(lookup)):
    def steal(self): return super().__getattribute__("__dict__")
print(E().steal())
# hostile: descriptor-gets-host-owner
class D:
    def __get__(self, o, c): return c.__base__.__subclasses__()
class C: x = D()
leak(C.x)
# hostile: descriptor-function-get
leak(search.__get__(1).__func__.__globals__)
# hostile: init-subclass-of-abc-registry
from abc import ABCMeta
leak(ABCMeta.__dict__)
# hostile: slots-descriptor-objclass
class C: __slots__ = ("a",)
leak(C.a.__objclass__.__base__.__subclasses__())
# hostile: property-fget-globals
class C:
    @property
    def x(self): return 1
leak(C.x.fget.__globals__)
# hostile: instancecheck-gets-object
class M(type):
    def __instancecheck__(cls, o): return leak(o.__globals__) or True
class C(metaclass=M): pass
isinstance(search, C)
# hostile: eq-gets-host-object
class E:
    def __eq__(self, o):
        leak(o.__globals__)
        return True
search == E()
# hostile: class-getitem-chain
class G:
    def __class_getitem__(cls, i): return i.__globals__
leak(G[search])
# hostile: getattr-hook-returns-dunder
class P:
    def __init__(self, t): self.t = t
    def __getattr__(self, n): return getattr(self.t, n)
leak(P(search).__globals__)
# hostile: getattribute-hook-forward
class P:
    def __getattribute__(self, n): return object.__getattribute__(search, n)
leak(P().__globals__)
# hostile: name-mangling-makes-dunder
class _globals__: pass
class __C:
    def f(self): return search.__globals__
leak(__C().f())
# hostile: name-mangled-private-of-host
class Tool:
    def f(self, o): return o._key
print(Tool().f(lookup))
# hostile: fullwidth-attribute
leak(search.__ｇｌｏｂａｌｓ__)
# hostile: fullwidth-dunder-name
leak(__ｂuiltins__.__dict__ if not isinstance(__builtins__, dict) else __ｂuiltins__)
# hostile: italic-attribute-name
leak(search.__𝑔𝑙𝑜𝑏𝑎𝑙𝑠__)
# hostile: italic-builtin
# ends: quietly: the builtin is a stand-in that refuses
leak(𝑜𝑝𝑒𝑛)
# hostile: bold-eval
𝐞𝐯𝐚𝐥("__import__('hostile_canary').trip()")
# hostile: fraktur-attribute
leak((i for i in ()).gi_𝖋rame)
# hostile: fullwidth-import
from ｃollections import _ｓys
leak(_sys)
# hostile: unicode-keyword-argument
print("{ｆ.__globals__[SECRET]}".format(**{"ｆ": search}))
# hostile: unicode-private-of-tool
print(lookup._ｋｅｙ)
# hostile: del-hook-after-end
class D:
    def __del__(self): leak(search.__globals__)
D()
x = search.__globals__
# hostile: hash-hook-gets-frame
class H:
    def __hash__(self):
        g = (i for i in ())
        leak(g.gi_frame)
        return 1
{H(): 1}
# hostile: class-body-function-globals
class C:
    g = (lambda: 0).__globals__
    leak(g)
# hostile: decorator-gets-guard-internals
import functools
def spy(f):
    leak(f.__globals__)
    return f
@spy
def g(): return 1
# hostile: default-argument-reads-internals
def f(a=(lambda: 0).__globals__): return a
leak(f())
# hostile: lambda-default-code
leak((lambda c=(lambda: 0).__code__: c)())
# hostile: overwrite-guard-names
import re as r
for n in ("__guard__", "_guard", "__getattr__", "_getattr_", "__g", "_g", "__builtins__"):
    pass
__builtins__ = {"x": 1}
leak((lambda: 0).__globals__ | {"__builtins__": (lambda: 0).__builtins__})
# hostile: rebind-type-to-confuse-guards
type = lambda o: int
isinstance = lambda o, t: True
str = lambda s: "harmless"
leak(getattr(search, "__globals__"))
# hostile: exception-class-with-lying-dict
class E(Exception):
    def __getattribute__(self, n): return object.__getattribute__(self, n)
try:
    raise E
except E as e:
    leak(e.__traceback__)
# hostile: enum-member-map-type
import enum
class C(enum.Enum):
    A = 1
leak(C.__class__.__init__.__globals__ if hasattr(C.__class__.__init__, "__globals__") else C.__class__.__new__.__globals__)
# hostile: dataclass-generated-function-globals
from dataclasses import dataclass
@dataclass
class D: x: int
leak(D.__init__.__globals__)
# hostile: dataclass-annotation-string-injection
from dataclasses import dataclass, field
@dataclass
class D:
    x: "int" = 1
leak(D.__eq__.__globals__)
# hostile: namedtuple-field-code-injection
from collections import namedtuple
N = namedtuple("N", ["a"])
leak(N._make.__func__.__globals__)
# hostile: generic-alias-origin-walk
leak(list[int].__origin__.__base__.__subclasses__())
# hostile: typevar-evaluate-owner
import typing
leak(typing.TypeVar("T").__class__.__mro__[-1].__subclasses__())
# hostile: prepared-namespace-answers-for-the-guards
import random
class Everything:
    def __contains__(self, item): return True
class Namespace(dict):
    def __missing__(self, name):
        if name == "@own":
            return Everything()
        raise KeyError(name)
class M(type):
    @classmethod
    def __prepare__(m, n, b): return Namespace()
class C(metaclass=M):
    leak(random._os)
# hostile: builtins-replaced-in-a-class
class A:
    global __builtins__
    __builtins__ = {"len": trip}
def f(): return len()
f()
