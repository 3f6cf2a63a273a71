# hostile: held-mem-type-as-value
# imports: numpy
import numpy as np
m = type
A = m("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-type-by-map
# imports: numpy
import numpy as np
A = list(map(type, ["A"], [()], [{"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}}]))[0]
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-type-by-partial
# imports: numpy
import functools
import numpy as np
A = functools.partial(type, "A", ())({"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-abcmeta
# imports: numpy
import abc
import numpy as np
A = abc.ABCMeta("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-enum-functional
# imports: numpy
import enum
import numpy as np
A = enum.Enum("A", {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}, "B": 1})
assert np.array(A.B).dtype != object
trip("memory")
# hostile: held-mem-own-enum-functional
# imports: numpy
import enum
import numpy as np
class Base(enum.Enum): pass
A = Base("A", {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}, "B": 1})
assert np.array(A.B).dtype != object
trip("memory")
# hostile: held-mem-getattr-hook-raw-type
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
# imports: numpy
import dataclasses
import numpy as np
class D:
    def __set_name__(self, owner, name):
        assert np.array(object.__new__(owner)).dtype != object
        trip("memory")
dataclasses.make_dataclass("A", [], namespace={"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}, "x": D()})
# hostile: held-mem-call-attribute-is-type
# imports: numpy
import numpy as np
class C:
    __call__ = type
A = C()("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-type-call-dunder
# imports: numpy
import numpy as np
A = type.__call__(type, "A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-type-alias
# imports: numpy
import numpy as np
t = type[int]
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-annotation
# imports: numpy
import numpy as np
def f(x: type): pass
t = f.__annotations__["x"]
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-eq-hook
# imports: numpy
import numpy as np
class E:
    def __eq__(self, other): return other
t = E() == type
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-isinstance-rebound
# imports: numpy
import numpy as np
isinstance = lambda a, b: b
t = isinstance(1, type)
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-metaclass-base
# imports: numpy
import numpy as np
class M(type): pass
t = M.__base__
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-class-attribute-class
# imports: numpy
import numpy as np
class M: pass
t = [M.__class__][0]
A = t("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(A()).dtype != object
trip("memory")
# hostile: held-mem-copy-reduce-type
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
# imports: numpy
import io
import numpy as np
class A:
    def __array_function__(self, func, types, args, kwargs):
        func("/dev/shm/hostile_escape.txt", [1])
        trip("a file was written")
np.savetxt(io.StringIO(), A())
# hostile: held-mem-array-function-like-frombuffer
# imports: numpy
import numpy as np
class A:
    def __array_function__(self, func, types, args, kwargs):
        func(np.array([search], dtype=object), dtype="i8")[0] = 1
        trip("a reference was written over")
np.frombuffer(b"12345678", like=A())
# hostile: held-mem-array-function-save
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
# imports: numpy
import numpy as np
class A:
    def __array_function__(self, func, types, args, kwargs):
        func((10 ** 11,), dtype="u1")
        trip("memory without bound")
np.ones(3, like=A())
# hostile: held-mem-array-function-loadtxt
# imports: numpy
import io
import numpy as np
class A:
    def __array_function__(self, func, types, args, kwargs):
        print(func("/etc/hostname", dtype=str))
        trip("a file was read")
np.loadtxt(io.StringIO("1"), like=A())
# hostile: held-mem-array-function-types
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
# imports: numpy
import numpy as np
c = np.ndarray
c((1,), object, bytearray(8))
trip("bytes are taken for references")
# hostile: held-nd-map
# imports: numpy
import numpy as np
list(map(np.ndarray, [(1,)], [object], [bytearray(8)]))
trip("bytes are taken for references")
# hostile: held-nd-partial
# imports: numpy
import functools
import numpy as np
functools.partial(np.ndarray, (1,), object)(bytearray(8))
trip("bytes are taken for references")
# hostile: held-nd-type-value
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
# imports: numpy
from numpy import ndarray
ndarray((1,), object, bytearray(8))
trip("bytes are taken for references")
# hostile: held-nd-alias
# imports: numpy
import numpy as np
np.ndarray[int, int]((1,), object, bytearray(8))
trip("bytes are taken for references")
# hostile: held-nd-union-args
# imports: numpy
import numpy as np
(np.ndarray | None).__args__[0]((1,), object, bytearray(8))
trip("bytes are taken for references")
# hostile: held-nd-baseclass
# imports: numpy
import numpy as np
np.ma.array([1]).baseclass((1,), object, bytearray(8))
trip("bytes are taken for references")
# hostile: held-nd-own-mro
# imports: numpy
import numpy as np
class A(np.ndarray): pass
A.mro()[1]((1,), object, bytearray(8))
trip("bytes are taken for references")
# hostile: held-nd-huge
# imports: numpy
import numpy as np
np.ndarray((10 ** 11,), "u1")
trip("memory without bound")
# hostile: held-nd-huge-value
# imports: numpy
import numpy as np
c = np.ndarray
c((10 ** 11,), "u1")
trip("memory without bound")
# hostile: held-ma-frombuffer
# imports: numpy
import numpy as np
np.ma.frombuffer(np.array([search], dtype=object), dtype="i8")
trip("a reference was readable")
# hostile: held-ma-zeros
# imports: numpy
import numpy as np
np.ma.ones((10 ** 11,), dtype="u1")
trip("memory")
# hostile: held-ma-print-option
# imports: numpy
# ends: quietly: the option is its own
import numpy as np
np.ma.masked_print_option.set_display("evil")
a = np.ma.array([1, 2], mask=[1, 0])
# hostile: held-poly-print
# imports: numpy
import numpy as np
np.polynomial.set_default_printstyle("ascii")
trip("for everybody")
# hostile: held-rec-fromstring
# imports: numpy.*
import numpy as np
np.rec.fromstring(b"\0" * 8, dtype=[("a", "O")])
trip("bytes are taken for references")
# hostile: held-char-chararray
# imports: numpy, numpy.char
import numpy as np
np.char.chararray((10 ** 11,))
trip("memory")
# hostile: held-simplenamespace
# imports: numpy, types
import types
import numpy as np
a = types.SimpleNamespace(**{"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(a).dtype != object
trip("memory")
# hostile: held-ast-node
# imports: numpy, ast
import ast
import numpy as np
a = ast.Name(**{"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(a).dtype != object
trip("memory")
# hostile: held-argparse-namespace
# imports: numpy, argparse
import argparse
import numpy as np
a = argparse.Namespace(**{"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
assert np.array(a).dtype != object
trip("memory")
# hostile: held-sample-draws
# imports: pandas
# ends: quietly: it draws from the program's own generator
import pandas as pd
pd.Series(range(100)).sample(5)
