# hostile: memory-interface-in-a-class-body
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class A:
    __array_interface__ = {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}
print(np.array(A()).tobytes())
trip("memory was read by address")
# hostile: memory-interface-as-a-property
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class A:
    @property
    def __array_interface__(self):
        return {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}
print(np.array(A()).tobytes())
trip("memory was read by address")
# hostile: memory-interface-struct-in-a-class-body
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class A:
    __array_struct__ = None
trip("the protocol was defined")
# hostile: memory-interface-annotated-field
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import dataclasses
import numpy as np
@dataclasses.dataclass
class A:
    __array_interface__: dict
print(np.array(A({"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3})).tobytes())
trip("memory was read by address")
# hostile: memory-interface-made-dataclass
# local: no reads memory by address through a library of C that is authorised
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
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class A: pass
a = A()
vars(a)["__array_interface__"] = {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}
found = np.array(a)
assert found.dtype != object
trip("memory was read by address")
# hostile: memory-interface-through-vars-of-a-derived-class
# local: no reads memory by address through a library of C that is authorised
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
# local: no reads memory by address through a library of C that is authorised
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
# local: no reads memory by address through a library of C that is authorised
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
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
A = type("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
print(np.array(A()).tobytes())
trip("memory was read by address")
# hostile: memory-interface-in-a-type-of-type-call
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
A = type(int)("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
print(np.array(A()).tobytes())
trip("memory was read by address")
# hostile: memory-interface-in-a-prepared-namespace
# local: no reads memory by address through a library of C that is authorised
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
# local: no reads memory by address through a library of C that is authorised
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
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class M(type): pass
A = M("A", (), {"__array_interface__": {"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}})
print(np.array(A()).tobytes())
trip("memory was read by address")
# hostile: memory-interface-as-a-row-label
# local: no reads memory by address through a library of C that is authorised
# imports: numpy, pandas
import numpy as np
import pandas as pd
row = pd.Series([{"data": (id(search), True), "shape": (64,), "typestr": "|u1", "version": 3}, 2], index=["__array_interface__", "x"])
found = np.array(row)
assert found.dtype != object
trip("memory was read by address")
# hostile: memory-interface-as-a-label-of-an-own-series
# local: no reads memory by address through a library of C that is authorised
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
# local: no reads memory by address through a library of C that is authorised
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
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
np.ndarray((1,), dtype=object, buffer=bytearray(8))
trip("bytes are taken for references")
# hostile: memory-references-over-a-buffer-by-type
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
type(np.zeros(1))((1,), object, bytearray(8))
trip("bytes are taken for references")
# hostile: memory-references-over-a-buffer-by-new
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
np.ndarray.__new__(np.ndarray, (1,), object, bytearray(8))
trip("bytes are taken for references")
# hostile: memory-references-over-a-buffer-in-a-subclass
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class A(np.ndarray): pass
A((1,), object, bytearray(8))
trip("bytes are taken for references")
# hostile: memory-references-over-a-buffer-in-a-recarray
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
np.recarray((1,), dtype=[("a", object)], buf=bytearray(8))
trip("bytes are taken for references")
# hostile: memory-bytes-of-references
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
np.frombuffer(np.array([search], dtype=object), dtype="i8")[0] = 1
trip("a reference was written over")
# hostile: memory-bytes-of-references-by-constructor
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
np.ndarray((1,), "i8", buffer=np.array([search], dtype=object))
trip("references are writable as numbers")
# hostile: memory-bytes-of-references-by-view-of-memory
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
memoryview(np.array([search], dtype=object)).cast("B")
trip("references are writable as bytes")
# hostile: memory-bytes-of-references-by-data
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
np.frombuffer(np.array([search], dtype=object).data, dtype="u1")
trip("references are writable as bytes")
# hostile: memory-bytes-of-references-by-readinto
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import io
import numpy as np
a = np.array([None], dtype=object)
io.BytesIO(id(None).to_bytes(8, "little")).readinto(a)
trip("a reference was written over")
# hostile: memory-resize-without-check
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
a = np.zeros(1000)
b = a[:]
a.resize(1, refcheck=False)
trip("an array points at memory that was given back")
# hostile: memory-resize-without-check-by-name
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
a = np.zeros(1000)
b = a[:]
getattr(a, "resize")(1, refcheck=False)
trip("an array points at memory that was given back")
# hostile: memory-resize-without-check-off-the-class
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
a = np.zeros(1000)
b = a[:]
np.ndarray.resize(a, 1, refcheck=False)
trip("an array points at memory that was given back")
# hostile: memory-as-strided
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
print(np.lib.stride_tricks.as_strided(np.zeros(1), (1000,), (8,)).sum())
trip("memory was read past its end")
# hostile: memory-generator-of-a-dead-source
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class Source:
    capsule = np.random.PCG64(1).capsule
    lock = None
np.random.Generator(Source())
trip("a generator without its memory")
# hostile: memory-address-of-a-generator
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
print(np.random.PCG64(1).cffi.state_address)
trip("an address was told")
# hostile: memory-codes-past-the-end
# local: no reads memory by address through a library of C that is authorised
# imports: pandas
import pandas as pd
pd.Categorical.from_codes([10], categories=["a"], validate=False)
trip("positions are not checked")
# hostile: memory-levels-past-the-end
# local: no reads memory by address through a library of C that is authorised
# imports: pandas
import pandas as pd
pd.MultiIndex(levels=[["a"]], codes=[[10]], verify_integrity=False)
trip("positions are not checked")
# hostile: memory-set-codes-past-the-end
# local: no reads memory by address through a library of C that is authorised
# imports: pandas
import pandas as pd
pd.MultiIndex.from_tuples([(1, 2)]).set_codes([[5], [5]], verify_integrity=False)
trip("positions are not checked")
# hostile: memory-interface-in-a-functions-dict
# local: no reads memory by address through a library of C that is authorised
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
# local: no reads memory by address through a library of C that is authorised
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
# local: no reads memory by address through a library of C that is authorised
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
# local: no reads memory by address through a library of C that is authorised
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
# hostile: memory-past-the-numbers-of-a-generator
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
generator = np.random.MT19937(1)
state = generator.state
state["state"]["pos"] = 3000
generator.state = state
generator.random_raw(2)
trip("memory behind the generator was read")
# hostile: memory-past-the-numbers-of-a-generator-by-object
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
generator = np.random.Philox(1)
state = generator.state
state["buffer_pos"] = -3
object.__setattr__(generator, "state", state)
generator.random_raw(2)
trip("memory before the generator was read")
# hostile: memory-past-the-numbers-of-a-generator-by-augmented-assignment
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class Bad:
    def __radd__(self, state):
        state["state"]["pos"] = 3000
        return state
generator = np.random.MT19937(1)
generator.state += Bad()
generator.random_raw(2)
trip("memory behind the generator was read")
# hostile: memory-past-the-numbers-of-an-own-generator
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class Mine(np.random.MT19937):
    pass
generator = Mine(1)
state = generator.state
state["state"]["pos"] = 3000
Mine.state.__set__(generator, state)
generator.random_raw(2)
trip("memory behind the generator was read")
# hostile: memory-past-the-numbers-of-a-random-state
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
generator = np.random.RandomState(1)
name, key, _position, *rest = generator.get_state()
generator.set_state((name, key, 3000, *rest))
generator.rand(2)
trip("memory behind the generator was read")
# hostile: memory-past-the-numbers-of-the-random-state-of-all
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class Twice(dict):
    def __getitem__(self, name):
        return 3000 if name == "pos" else super().__getitem__(name)
state = np.random.get_state(legacy=False)
np.random.set_state({**state, "state": Twice(state["state"])})
if np.random.get_state()[2] == 3000:
    np.random.set_state(state)
    trip("memory behind the generator was read")
else:
    np.random.nothing
# hostile: memory-past-the-words-of-a-seed
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class Short(np.random.SeedSequence):
    def generate_state(self, n_words, dtype=np.uint32):
        return np.zeros(1, dtype)
np.random.PCG64(Short(1))
trip("memory behind the seed was read")
# hostile: memory-past-the-words-of-a-seed-that-lies
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class Short:
    __class__ = np.random.SeedSequence
    def generate_state(self, n_words, dtype=np.uint32):
        return np.zeros(1, dtype)
list(map(type(np.random.PCG64(1)), [Short()]))
trip("memory behind the seed was read")
# hostile: memory-past-the-words-of-a-seed-by-default-rng
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class Short(np.random.SeedSequence):
    def generate_state(self, n_words, dtype=np.uint32):
        return np.zeros(1, dtype)
np.random.default_rng(Short(1))
trip("memory behind the seed was read")
# hostile: memory-past-the-words-of-a-seed-of-an-own-generator
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import numpy as np
class Short(np.random.SeedSequence):
    def generate_state(self, n_words, dtype=np.uint32):
        return np.zeros(1, dtype)
type("Mine", (np.random.PCG64,), {})(Short(1))
trip("memory behind the seed was read")
# hostile: memory-let-go-while-looked-at
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
import copy
import numpy as np
class Mine(np.ndarray):
    __copy__ = None
    def __reduce_ex__(self, protocol):
        return (lambda: kept[0], (), (1, (1,), np.dtype("i8"), False, b"12345678"))
kept = [Mine((100,))]
view = kept[0][:]
copy.copy(kept[0])
trip("the view looks at memory that is free") if kept[0].size == 1 else None
# hostile: memory-by-the-address-in-a-buffer-of-a-frame
# local: no reads memory by address through a library of C that is authorised
# imports: pandas.*
import pandas.api.interchange
trip("from_dataframe() makes arrays at any address")
# hostile: memory-of-blocks-placed-anywhere
# local: no reads memory by address through a library of C that is authorised
# imports: pandas.*
import pandas.api.internals
trip("create_dataframe_from_blocks() checks nothing")
# hostile: memory-by-functions-under-other-names
# local: no reads memory by address through a library of C that is authorised
# imports: numpy.*
import numpy.ma.core
numpy.ma.core.fromfile
trip("numpy.ma.fromfile is refused")
# hostile: files-by-functions-under-other-names
# local: no reads memory by address through a library of C that is authorised
# imports: numpy.*
import numpy.ma.mrecords
numpy.ma.mrecords.fromtextfile
trip("it opens any file")
# hostile: memory-addresses-printed-on-the-hosts-stream
# local: no reads memory by address through a library of C that is authorised
# imports: numpy
# weak: it prints on the stream by which the worker answers
import numpy as np
np.nditer(np.arange(3)).debug_print()
trip("printed")
