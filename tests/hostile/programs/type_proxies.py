# hostile: held-mem-type-as-value
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
m = type
A = m("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-type-by-map
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
A = list(map(type, ["A"], [()], [{"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}}]))[0]
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-type-by-partial
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import functools
import numpy as np
A = functools.partial(type, "A", ())({"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-abcmeta
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import abc
import numpy as np
A = abc.ABCMeta("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-enum-functional
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import enum
import numpy as np
A = enum.Enum("A", {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}, "B": 1})
assert np.array(A.B).dtype != object
trip("memory")
# hostile: held-mem-own-enum-functional
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import enum
import numpy as np
class Base(enum.Enum): pass
A = Base("A", {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}, "B": 1})
assert np.array(A.B).dtype != object
trip("memory")
# hostile: held-mem-getattr-hook-raw-type
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
def hook(self, name):
    if name == "__array_interface__":
        return {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}
    raise AttributeError(name)
m = type
A = m("A", (), {"__getattr__": hook})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-set-name-before-adoption
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class D:
    def __set_name__(self, owner, name):
        assert np.array(owner()).dtype != object
        trip("memory")
class A:
    x = D()
    def __getattr__(self, name):
        if name == "__array_interface__":
            return {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}
        raise AttributeError(name)
# hostile: held-mem-set-name-vars
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class D:
    def __set_name__(self, owner, name):
        a = owner()
        vars(a)["__array_interface__"] = {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}
        assert np.array(a).dtype != object
        trip("memory")
class A:
    x = D()
# hostile: held-mem-make-dataclass-namespace-set-name
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import dataclasses
import numpy as np
class D:
    def __set_name__(self, owner, name):
        assert np.array(object.__new__(owner)).dtype != object
        trip("memory")
dataclasses.make_dataclass("A", [], namespace={"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}, "x": D()})
# hostile: held-mem-call-attribute-is-type
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class C:
    __call__ = type
A = C()("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-type-call-dunder
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
A = type.__call__(type, "A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-type-alias
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
t = type[int]
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-annotation
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
def f(x: type): pass
t = f.__annotations__["x"]
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-eq-hook
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class E:
    def __eq__(self, other): return other
t = E() == type
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-isinstance-rebound
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
isinstance = lambda a, b: b
t = isinstance(1, type)
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-metaclass-base
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class M(type): pass
t = M.__base__
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-class-attribute-class
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class M: pass
t = [M.__class__][0]
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-copy-reduce-type
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import copy
import numpy as np
class R:
    def __reduce_ex__(self, p):
        return (type, ("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}}))
A = copy.copy(R())
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-array-function-savetxt
# local: no reads memory by address through a library of C that is authorised
# outside: a file
# imports: numpy
import io
import numpy as np
class A:
    def __array_function__(self, func, types, args, kwargs):
        func("/dev/shm/hostile_escape.txt", [1])
        trip("a file was written")
np.savetxt(io.StringIO(), A())
# hostile: held-mem-array-function-like-frombuffer
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class A:
    def __array_function__(self, func, types, args, kwargs):
        func(np.array([search], dtype=object), dtype="i8")[0] = 1
        trip("a reference was written over")
np.frombuffer(b"12345678", like=A())
# hostile: held-mem-array-function-save
# local: no reads memory by address through a library of C that is authorised
# outside: a file
# imports: numpy
import io
import numpy as np
class A:
    def __array_function__(self, func, types, args, kwargs):
        func("/dev/shm/hostile_escape.npy", [1])
        trip("a file was written")
    def __array__(self, *a, **k): return np.zeros(1)
np.save(io.BytesIO(), A())
# hostile: held-mem-array-function-like-ones
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class A:
    def __array_function__(self, func, types, args, kwargs):
        func((10 ** 11,), dtype="u1")
        trip("memory without bound")
np.ones(3, like=A())
# hostile: held-mem-array-function-loadtxt
# local: no reads memory by address through a library of C that is authorised
# outside: a file
# imports: numpy
import io
import numpy as np
class A:
    def __array_function__(self, func, types, args, kwargs):
        print(func("/etc/hostname", dtype=str))
        trip("a file was read")
np.loadtxt(io.StringIO("1"), like=A())
# hostile: held-mem-array-function-types
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class A:
    def __array_function__(self, func, types, args, kwargs):
        for t in types:
            if t.__name__ == "ndarray":
                t((1,), object, bytearray(8))
                trip("bytes are taken for references")
np.concatenate([A(), np.zeros(1)])
# hostile: held-nd-value
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
c = np.ndarray
c((1,), object, bytearray(8))
trip("bytes are taken for references")
# hostile: held-nd-map
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
list(map(np.ndarray, [(1,)], [object], [bytearray(8)]))
trip("bytes are taken for references")
# hostile: held-nd-partial
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import functools
import numpy as np
functools.partial(np.ndarray, (1,), object)(bytearray(8))
trip("bytes are taken for references")
# hostile: held-nd-type-value
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
c = type(np.zeros(1))
c((1,), object, bytearray(8))
trip("bytes are taken for references")
# hostile: held-nd-class-value
# imports: numpy
import numpy as np
c = np.zeros(1).__class__
c((1,), object, bytearray(8))
trip("bytes are taken for references")
# hostile: held-nd-from-import
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
from numpy import ndarray
ndarray((1,), object, bytearray(8))
trip("bytes are taken for references")
# hostile: held-nd-alias
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
np.ndarray[int, int]((1,), object, bytearray(8))
trip("bytes are taken for references")
# hostile: held-nd-union-args
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
(np.ndarray | None).__args__[0]((1,), object, bytearray(8))
trip("bytes are taken for references")
# hostile: held-nd-baseclass
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
np.ma.array([1]).baseclass((1,), object, bytearray(8))
trip("bytes are taken for references")
# hostile: held-nd-own-mro
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class A(np.ndarray): pass
A.mro()[1]((1,), object, bytearray(8))
trip("bytes are taken for references")
# hostile: held-nd-huge
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
np.ndarray((10 ** 11,), "u1")
trip("memory without bound")
# hostile: held-nd-huge-value
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
c = np.ndarray
c((10 ** 11,), "u1")
trip("memory without bound")
# hostile: held-ma-frombuffer
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
np.ma.frombuffer(np.array([search], dtype=object), dtype="i8")
trip("a reference was readable")
# hostile: held-ma-zeros
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
np.ma.ones((10 ** 11,), dtype="u1")
trip("memory")
# hostile: held-ma-print-option
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
# ends: quietly: the option is its own
import numpy as np
np.ma.masked_print_option.set_display("evil")
a = np.ma.array([1, 2], mask=[1, 0])
# hostile: held-poly-print
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
np.polynomial.set_default_printstyle("ascii")
trip("for everybody")
# hostile: held-rec-fromstring
# local: no reads memory by address through a library of C that is authorised
# weak: numpy from 2.4 or so on refuses it itself
# imports: numpy.*
import numpy as np
np.rec.fromstring(b"\0" * 8, dtype=[("a", "O")])
trip("bytes are taken for references")
# hostile: held-char-chararray
# local: no reads memory by address through a library of C that is authorised
# imports: numpy, numpy.char
import numpy as np
np.char.chararray((10 ** 11,))
trip("memory")
# hostile: held-simplenamespace
# local: no reads memory by address through a library of C that is authorised
# imports: numpy, types
import types
import numpy as np
a = types.SimpleNamespace(**{"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(a).dtype != object
trip("memory")
# hostile: held-ast-node
# local: no reads memory by address through a library of C that is authorised
# imports: numpy, ast
import ast
import numpy as np
a = ast.Name(**{"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(a).dtype != object
trip("memory")
# hostile: held-sample-draws
# local: no reads memory by address through a library of C that is authorised
# imports: pandas
# ends: quietly: it draws from the program's own generator
import pandas as pd
pd.Series(range(100)).sample(5)
# hostile: held-getattr-lambda-list
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
t = [x for x in (type(int),)][0]
A = t.__call__(t, "A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-attrgetter-class
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import operator
import numpy as np
t = operator.attrgetter("__class__")(int)
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-get-origin
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import typing
import numpy as np
t = typing.get_origin(typing.Type[int])
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-get-args
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import typing
import numpy as np
t = typing.get_args(type | None)[0]
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-type-hints-of-host-function
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import typing
import functools
import numpy as np
def f(x: "int" = 1) -> type | None: pass
t = f.__annotations__["return"].__args__[0]
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-isinstance-hook
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
found = []
class M(type):
    def __instancecheck__(cls, o): return found.append(o)
    def __subclasscheck__(cls, o): return found.append(o)
class C(metaclass=M): pass
issubclass(type, C); isinstance(type, C)
t = found[0]
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-type-in-call-arguments-of-type
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class E:
    def __rmul__(self, other): return other
t = type * E() if False else max([type], key=lambda v: 0)
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-super-new
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class M(type):
    def make(cls):
        return super(M, M).__new__(M, "A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
class C(metaclass=M): pass
A = C.make()
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mro-entries
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
seen = []
class B:
    def __mro_entries__(self, bases):
        seen.extend(bases)
        return ()
class C(B(), ): pass
class D(type, B()): pass
t = [x for x in seen if x is not None and getattr(x, "__name__", "") == "type"][0]
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-orig-bases
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class B:
    def __mro_entries__(self, bases): return ()
class D(type, B()): pass
t = vars(D)["__orig_bases__"][0]
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-prepare-bases
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
seen = []
class M(type):
    @classmethod
    def __prepare__(m, name, bases):
        seen.extend(bases)
        return {}
    def __new__(m, name, bases, space):
        seen.extend(bases)
        return super().__new__(m, name, bases, space)
class D(type, metaclass=M): pass
t = seen[0]
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-prepare-ndarray
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
seen = []
def meta(name, bases, space):
    seen.extend(bases)
class D(np.ndarray, metaclass=meta): pass
seen[0]((1,), object, bytearray(8))
trip("bytes taken for references")
# hostile: held-apply-class
# local: no reads memory by address through a library of C that is authorised
# imports: numpy, pandas
import pandas as pd
import numpy as np
A = pd.Series([1]).pipe(lambda s, m: m("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}}), type)
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-map-type-of-types
# local: no reads memory by address through a library of C that is authorised
# imports: numpy, pandas
import pandas as pd
import numpy as np
m = pd.Series([int]).map(type)[0]
A = m("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-setattr-fields-copy
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import copy
import numpy as np
class A: pass
a = A()
a.__dict__ |= {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}}
assert np.array(a).dtype != object
trip("memory")
# hostile: held-simple-namespace-type
# local: no reads memory by address through a library of C that is authorised
# imports: numpy, types
import types
import numpy as np
c = type(types.SimpleNamespace())
a = c(**{"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(a).dtype != object
trip("memory")
# hostile: held-simple-namespace-subclass
# local: no reads memory by address through a library of C that is authorised
# imports: numpy, types
import types
import numpy as np
class S(types.SimpleNamespace): pass
a = S(**{"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(a).dtype != object
trip("memory")
# hostile: held-ast-parsed-node-type
# local: no reads memory by address through a library of C that is authorised
# imports: numpy, ast
import ast
import numpy as np
c = type(ast.parse("x"))
a = c(**{"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(a).dtype != object
trip("memory")
# hostile: held-ast-dict
# imports: numpy, ast
import ast
import numpy as np
a = ast.parse("x")
ast.copy_location(a, a)
vars(a)["__array_interface__"] = {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}
assert np.array(a).dtype != object
trip("memory")
# hostile: held-protocol-class
# local: no reads memory by address through a library of C that is authorised
# ends: quietly: numpy is not told
# imports: numpy
import typing
import numpy as np
class P(typing.Protocol):
    def __getattr__(self, name):
        if name == "__array_interface__":
            return {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}
        raise AttributeError(name)
class Q(P): pass
found = np.array(Q())
trip("memory") if found.dtype == np.uint8 else None
# hostile: held-metaclass-attribute
# imports: numpy
import numpy as np
class Mm(type): pass
class M(type):
    pass
M2 = type("M2", (type,), {})
setattr(M2, "__array_" + "interface__", {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3})
A = M2("A", (), {})
assert np.array(A).dtype != object
trip("memory")
# hostile: held-class-getitem
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class G:
    def __class_getitem__(cls, i): return i
t = G[type]
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-default-argument
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
def f(t=type, *, u=type): return t, u
A = f.__kwdefaults__["u"]("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-builtins-module
# local: no reads memory by address through a library of C that is authorised
# imports: numpy, builtins
import builtins
import numpy as np
A = builtins.type("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-except-star
# local: no reads memory by address through a library of C that is authorised
# ends: quietly: numpy is not told
# imports: numpy
import numpy as np
class E(Exception):
    def __getattr__(self, name):
        if name == "__array_interface__":
            return {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}
        raise AttributeError(name)
try:
    raise E("x")
except E as e:
    found = np.array(e)
trip("memory") if found.dtype == np.uint8 else None
# hostile: held-async-gen
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import asyncio
import numpy as np
async def g():
    t = yield type
    yield t
async def main():
    a = g()
    t = await a.__anext__()
    return t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
A = asyncio.run(main())
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-type-params-or
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class R:
    def __ror__(self, other): return other
    def __or__(self, other): return other
t = type | R()
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
