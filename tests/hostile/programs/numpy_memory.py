# hostile: memory-interface-in-a-class-body
# imports: numpy
import numpy as np
class A:
    __array_interface__ = {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}
print(np.array(A()).tobytes())
trip("memory was read by address")
# hostile: memory-interface-as-a-property
# imports: numpy
import numpy as np
class A:
    @property
    def __array_interface__(self):
        return {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}
print(np.array(A()).tobytes())
trip("memory was read by address")
# hostile: memory-interface-struct-in-a-class-body
# imports: numpy
import numpy as np
class A:
    __array_struct__ = None
trip("the protocol was defined")
# hostile: memory-interface-annotated-field
# imports: numpy
import dataclasses
import numpy as np
@dataclasses.dataclass
class A:
    __array_interface__: dict
print(np.array(A({"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3})).tobytes())
trip("memory was read by address")
# hostile: memory-interface-made-dataclass
# imports: numpy
import dataclasses
import numpy as np
A = dataclasses.make_dataclass("A", ["__array_interface__"])
print(np.array(A({"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3})).tobytes())
trip("memory was read by address")
# hostile: memory-interface-setattr
# imports: numpy
import numpy as np
class A: pass
a = A()
setattr(a, "__array_" + "interface__", {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3})
print(np.array(a).tobytes())
trip("memory was read by address")
# hostile: memory-interface-setattr-on-the-class
# imports: numpy
import numpy as np
class A: pass
setattr(A, "__array_" + "interface__", {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3})
print(np.array(A()).tobytes())
trip("memory was read by address")
# hostile: memory-interface-through-vars
# imports: numpy
import numpy as np
class A: pass
a = A()
vars(a)["__array_interface__"] = {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}
found = np.array(a)
assert found.dtype != object
trip("memory was read by address")
# hostile: memory-interface-through-vars-of-a-derived-class
# imports: numpy, pandas
import numpy as np
import pandas as pd
class A(pd.Timestamp if False else Exception): pass
a = A()
vars(a)["__array_interface__"] = {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}
found = np.array(a)
assert found.dtype != object
trip("memory was read by address")
# hostile: memory-interface-by-getattr
# imports: numpy
import numpy as np
class A:
    def __getattr__(self, name):
        if name == "__array_interface__":
            return {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}
        raise AttributeError(name)
found = np.array(A())
assert found.dtype != object
trip("memory was read by address")
# hostile: memory-interface-by-getattribute
# imports: numpy
import numpy as np
class A:
    def __getattribute__(self, name):
        if name == "__array_interface__":
            return {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}
        raise AttributeError(name)
found = np.array(A())
assert found.dtype != object
trip("memory was read by address")
# hostile: memory-interface-in-a-type-call
# imports: numpy
import numpy as np
A = type("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
print(np.array(A()).tobytes())
trip("memory was read by address")
# hostile: memory-interface-in-a-type-of-type-call
# imports: numpy
import numpy as np
A = type(int)("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
print(np.array(A()).tobytes())
trip("memory was read by address")
# hostile: memory-interface-in-a-prepared-namespace
# imports: numpy
import numpy as np
class M(type):
    @classmethod
    def __prepare__(m, name, bases):
        return {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}}
class A(metaclass=M): pass
print(np.array(A()).tobytes())
trip("memory was read by address")
# hostile: memory-interface-from-a-metaclass
# imports: numpy
import numpy as np
class M(type):
    def __new__(m, name, bases, space):
        space["__array_" + "interface__"] = {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}
        made = super().__new__(m, name, bases, space)
        print(np.array(made()).tobytes())
        trip("memory was read by address")
        return made
class A(metaclass=M): pass
# hostile: memory-interface-by-calling-an-own-metaclass
# imports: numpy
import numpy as np
class M(type): pass
A = M("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
print(np.array(A()).tobytes())
trip("memory was read by address")
# hostile: memory-interface-as-a-row-label
# imports: numpy, pandas
import numpy as np
import pandas as pd
row = pd.Series([{"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}, 2], index=["__array_interface__", "x"])
found = np.array(row)
assert found.dtype != object
trip("memory was read by address")
# hostile: memory-interface-as-a-label-of-an-own-series
# imports: numpy, pandas
import numpy as np
import pandas as pd
class Row(pd.Series):
    _internal_names_set = set()
row = Row([{"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}, 2], index=["__array_interface__", "x"])
found = np.array(row)
assert found.dtype != object
trip("memory was read by address")
# hostile: memory-interface-updated-into-a-function
# imports: numpy
import functools
import numpy as np
class A: pass
a = A()
vars(a)["__array_interface__"] = {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}
f = functools.update_wrapper(lambda: 0, a)
found = np.array(f)
assert found.dtype != object
trip("memory was read by address")
# hostile: memory-references-over-a-buffer
# imports: numpy
import numpy as np
np.ndarray((1,), dtype=object, buffer=bytearray(8))
trip("bytes are taken for references")
# hostile: memory-references-over-a-buffer-by-type
# imports: numpy
import numpy as np
type(np.zeros(1))((1,), object, bytearray(8))
trip("bytes are taken for references")
# hostile: memory-references-over-a-buffer-by-new
# imports: numpy
import numpy as np
np.ndarray.__new__(np.ndarray, (1,), object, bytearray(8))
trip("bytes are taken for references")
# hostile: memory-references-over-a-buffer-in-a-subclass
# imports: numpy
import numpy as np
class A(np.ndarray): pass
A((1,), object, bytearray(8))
trip("bytes are taken for references")
# hostile: memory-references-over-a-buffer-in-a-recarray
# imports: numpy
import numpy as np
np.recarray((1,), dtype=[("a", object)], buf=bytearray(8))
trip("bytes are taken for references")
# hostile: memory-bytes-of-references
# imports: numpy
import numpy as np
np.frombuffer(np.array([search], dtype=object), dtype="i8")[0] = 1
trip("a reference was written over")
# hostile: memory-bytes-of-references-by-constructor
# imports: numpy
import numpy as np
np.ndarray((1,), "i8", buffer=np.array([search], dtype=object))
trip("references are writable as numbers")
# hostile: memory-bytes-of-references-by-view-of-memory
# imports: numpy
import numpy as np
memoryview(np.array([search], dtype=object)).cast("B")
trip("references are writable as bytes")
# hostile: memory-bytes-of-references-by-data
# imports: numpy
import numpy as np
np.frombuffer(np.array([search], dtype=object).data, dtype="u1")
trip("references are writable as bytes")
# hostile: memory-bytes-of-references-by-readinto
# imports: numpy
import io
import numpy as np
a = np.array([None], dtype=object)
io.BytesIO(id(None).to_bytes(8, "little")).readinto(a)
trip("a reference was written over")
# hostile: memory-resize-without-check
# imports: numpy
import numpy as np
a = np.zeros(1000)
b = a[:]
a.resize(1, refcheck=False)
trip("an array points at memory that was given back")
# hostile: memory-resize-without-check-by-name
# imports: numpy
import numpy as np
a = np.zeros(1000)
b = a[:]
getattr(a, "resize")(1, refcheck=False)
trip("an array points at memory that was given back")
# hostile: memory-resize-without-check-off-the-class
# imports: numpy
import numpy as np
a = np.zeros(1000)
b = a[:]
np.ndarray.resize(a, 1, refcheck=False)
trip("an array points at memory that was given back")
# hostile: memory-as-strided
# imports: numpy
import numpy as np
print(np.lib.stride_tricks.as_strided(np.zeros(1), (1000,), (8,)).sum())
trip("memory was read past its end")
# hostile: memory-generator-of-a-dead-source
# imports: numpy
import numpy as np
class Source:
    capsule = np.random.PCG64(1).capsule
    lock = None
np.random.Generator(Source())
trip("a generator without its memory")
# hostile: memory-address-of-a-generator
# imports: numpy
import numpy as np
print(np.random.PCG64(1).cffi.state_address)
trip("an address was told")
# hostile: memory-codes-past-the-end
# imports: pandas
import pandas as pd
pd.Categorical.from_codes([10], categories=["a"], validate=False)
trip("positions are not checked")
# hostile: memory-levels-past-the-end
# imports: pandas
import pandas as pd
pd.MultiIndex(levels=[["a"]], codes=[[10]], verify_integrity=False)
trip("positions are not checked")
# hostile: memory-set-codes-past-the-end
# imports: pandas
import pandas as pd
pd.MultiIndex.from_tuples([(1, 2)]).set_codes([[5], [5]], verify_integrity=False)
trip("positions are not checked")
# hostile: memory-interface-in-a-functions-dict
# imports: numpy
import numpy as np
def f(): pass
f.__dict__["__array_interface__"] = {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}
found = np.array(f)
assert found.dtype != object
trip("memory was read by address")
# hostile: memory-of-an-own-array-by-ctypes
# imports: numpy
import numpy as np
class Array(np.ndarray): pass
leak(np.zeros(1).view(Array).ctypes.data_as.__func__.__globals__)
# hostile: memory-description-by-copy
# imports: numpy
import copy
import numpy as np
class A:
    def __reduce_ex__(self, protocol):
        return (np.dtype, ("V8", False, True), (3, "|", None, ("a",), {"a": (np.dtype("O"), 0)}, 8, 1, 0))
d = copy.copy(A())
np.frombuffer(b"\0" * 8, d)
trip("bytes are taken for references")
# hostile: memory-description-by-deepcopy-of-a-list
# imports: numpy
import copy
import numpy as np
class A:
    def __reduce_ex__(self, protocol):
        return (np.dtype, ("V8", False, True), (3, "|", None, ("a",), {"a": (np.dtype("O"), 0)}, 8, 1, 0))
d = copy.deepcopy([A()])[0]
np.frombuffer(b"\0" * 8, d)
trip("bytes are taken for references")
# hostile: memory-interface-by-copy
# imports: numpy
import copy
import functools
import numpy as np
class A:
    def __reduce_ex__(self, protocol):
        state = {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}}
        return (functools.partial, (print,), (print, (), {}, state))
found = np.array(copy.copy(A()))
assert found.dtype != object
trip("memory was read by address")
