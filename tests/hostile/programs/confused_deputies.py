# ruff: noqa
# Helpers of the standard library that read, write or run by a name the program chooses: they would
# do it with the host's rights.

# hostile: copy-of-a-method-reads-the-name-it-bears
# local: no a library acts by names that the program gives it
import copy
def f(self): pass
f.__name__ = "__globals__"
leak(copy.copy(f.__get__(search)))

# hostile: copy-state-written-into-a-host-class
# local: no a library acts by names that the program gives it
import copy, json
class R:
    def __reduce_ex__(self, protocol):
        return (lambda: json.JSONEncoder, (), (None, {"evil": 1}))
copy.copy(R())

# hostile: deepcopy-state-written-into-a-host-class
import copy, json
class R:
    def __reduce__(self):
        return (lambda: json.JSONEncoder, (), (None, {"evil": 1}))
    __reduce_ex__ = lambda self, protocol: self.__reduce__()
copy.deepcopy([R()])

# hostile: copy-new-returns-a-host-class
# local: no a library acts by names that the program gives it
import copy, string
class R:
    ready = False
    def __new__(cls):
        return string.Template if R.ready else object.__new__(cls)
    def __getstate__(self):
        return (None, {"delimiter": "%"})
x = R()
R.ready = True
copy.copy(x)

# hostile: copy-state-written-into-a-tool-function
# local: no a library acts by names that the program gives it
import copy
class R:
    def __reduce_ex__(self, protocol):
        return (lambda: search, (), {"evil": 1})
copy.copy(R())

# hostile: copy-state-in-a-dataclass-of-objects
# local: no a library acts by names that the program gives it
import copy, dataclasses, json
class R:
    def __reduce_ex__(self, protocol):
        return (lambda: json.JSONEncoder, (), (None, {"evil": 1}))
@dataclasses.dataclass
class D:
    x: object
dataclasses.asdict(D(R()))

# hostile: deepcopy-of-an-array-of-objects
# local: no a library acts by names that the program gives it
# imports: numpy
import copy, json
import numpy as np
class R:
    def __reduce_ex__(self, protocol):
        return (lambda: json.JSONEncoder, (), (None, {"evil": 1}))
copy.deepcopy(np.array([R(), 1], dtype=object))

# hostile: array-deepcopy-method
# local: no a library acts by names that the program gives it
# imports: numpy
import json
import numpy as np
class R:
    def __reduce_ex__(self, protocol):
        return (lambda: json.JSONEncoder, (), (None, {"evil": 1}))
np.array([R(), 1], dtype=object).__deepcopy__({})

# hostile: deepcopy-memo-lists-private-state
# ends: quietly: the memo names the copy alone
import copy
class Spy:
    def __deepcopy__(self, memo):
        for one in list(getattr(memo, "values", list)()):
            print(one)
        return self
memo = {}
thing.spy = Spy()
try:
    copy.deepcopy([lookup, thing], memo)
finally:
    del thing.spy
for one in memo.values():
    print(one)

# hostile: dataclass-field-name-is-run
# local: no a library acts by names that the program gives it
import dataclasses
C = type("C", (), {"__annotations__": {"x,__import__('hostile_canary').trip('exec')": int}})
C = dataclasses.dataclass(init=False, repr=False)(C)
C.x = 1
C() == C()

# hostile: dataclass-field-name-walks-dunders
# local: no a library acts by names that the program gives it
import dataclasses
name = "x,__import__('hostile_canary').leak(().__class__.__base__.__subclasses__())"
C = dataclasses.dataclass(init=False, repr=False)(type("C", (), {"__annotations__": {name: int}}))
C.x = 1
C() == C()

# hostile: dataclass-init-writes-into-a-host-class
# local: no a library acts by names that the program gives it
import dataclasses, json
@dataclasses.dataclass
class C:
    default: int
C.__init__(json.JSONEncoder, 5)

# hostile: dataclass-init-writes-into-a-tool
# local: no a library acts by names that the program gives it
import dataclasses
@dataclasses.dataclass
class C:
    evil: int
C.__init__(search, 5)

# hostile: dataclass-repr-reads-a-dunder-field
# local: no a library acts by names that the program gives it
import dataclasses
C = dataclasses.make_dataclass("C", ["__globals__"], init=False)
print(C.__repr__(search))

# hostile: dataclass-eq-hands-over-a-dunder-field
# local: no a library acts by names that the program gives it
import dataclasses
@dataclasses.dataclass(init=False)
class C:
    __globals__: int
class Catch:
    def __eq__(self, other):
        leak(other)
        return True
class Liar:
    __globals__ = Catch()
    @property
    def __class__(self):
        return type(search)
C.__eq__(search, Liar())

# hostile: dataclass-field-renamed-to-a-private-member
# local: no a library acts by names that the program gives it
import dataclasses, enum
class M(enum.EnumMeta):
    pass
@dataclasses.dataclass
class T:
    x: int
f = dataclasses.fields(T)[0]
f.name = "_convert_"
M.__dataclass_fields__ = {"x": f}
class E(enum.IntEnum, metaclass=M):
    A = 1
leak(dataclasses.astuple(E)[0]("X", "os", lambda n: n == "O_RDONLY"))
trip("convert")

# hostile: annotations-changed-while-they-are-read
# local: no a library acts by names that the program gives it
# ends: quietly: Python 3.14 hands the annotations out as they were
import typing
class Evil:
    @property
    def __class__(self):
        hints["b"] = "__import__('hostile_canary').trip('hints')"
        return int
hints = {"a": Evil(), "b": int}
T = type("T", (), {"__annotations__": hints})
typing.get_type_hints(T)

# hostile: annotations-changed-by-a-descriptor
# local: no a library acts by names that the program gives it
import typing
class Mark:
    def __get__(self, instance, owner=None):
        hints["b"] = "__import__('hostile_canary').trip('hints')"
        raise AttributeError
hints = {"b": int}
T = type("T", (), {"__annotations__": hints, "__no_type_check__": Mark()})
typing.get_type_hints(T)

# hostile: single-dispatch-annotation-is-run
# local: no what an authorised module offers is authorised
import functools
@functools.singledispatch
def f(x): pass
def g(x: "__import__('hostile_canary').trip('dispatch')"): pass
f.register(g)

# hostile: single-dispatch-method-without-its-guard
# local: no what an authorised module offers is authorised
import functools
G = functools.singledispatchmethod
class Mine(G): pass
m = Mine(lambda self, x: 1)
try:
    super(G, m).__init__(lambda self, x: 1)
except TypeError:
    pass
def g(self, x: "__import__('hostile_canary').trip('dispatch')"): pass
m.register(g)

# hostile: update-wrapper-names-that-lie
# local: no a library acts by names that the program gives it
import functools
class Lie(str):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = str.__hash__
class Catch:
    def __setattr__(self, name, value): leak(value)
names = tuple(Lie("__globals__") for _ in functools.WRAPPER_ASSIGNMENTS)
functools.update_wrapper(Catch(), search, names, ())

# hostile: update-wrapper-names-that-change
# local: no a library acts by names that the program gives it
import functools
class Names:
    asked = 0
    def __iter__(self):
        self.asked += 1
        return iter(functools.WRAPPER_ASSIGNMENTS if self.asked < 2 else ["__globals__"])
class Catch:
    def __setattr__(self, name, value): leak(value)
names = Names()
for _ in range(3):
    functools.update_wrapper(Catch(), search, names, ())

# hostile: update-wrapper-copies-a-private-attribute
import functools
def own(): pass
functools.update_wrapper(own, lookup, ("_key",), ())
print(own._key)

# hostile: update-wrapper-shares-the-annotations
# local: no a library acts by names that the program gives it
# ends: quietly: the annotations are a copy
import functools
def own(): pass
functools.update_wrapper(own, search)
own.__annotations__["query"] = "evil"
trip("shared") if search.__annotations__["query"] == "evil" else None

# hostile: cached-property-in-a-host-function
# local: no a library acts by names that the program gives it
import functools, json
p = functools.cached_property(lambda self: 5)
p.__set_name__(object, "evil")
p.__get__(json.dumps)
p.__get__(search)

# hostile: cached-property-behind-its-guard
# local: no a library acts by names that the program gives it
import functools, json
G = functools.cached_property
class Mine(G): pass
p = Mine(lambda self: 5)
p.__set_name__(object, "evil")
G.__get__(p, json.dumps)

# hostile: enum-global-writes-into-a-module
# local: no a library acts by names that the program gives it
import enum
class E(enum.Enum):
    __module__ = "json"
    dumps = 1
enum.global_enum(E)

# hostile: enum-convert-through-getattribute
# local: no a library acts by names that the program gives it
import enum
class E(enum.IntEnum): pass
leak(type.__getattribute__(E, "_convert_")("X", "os", lambda n: n == "O_RDONLY"))
trip("convert")

# hostile: metaclass-that-equals-a-host-class
import json
target = hash(json.JSONEncoder)
class M(type):
    def __hash__(cls): return target
    def __eq__(cls, other): return True
class C(metaclass=M): pass
json.JSONEncoder.evil = 1

# hostile: type-made-by-hand-that-equals-an-own-class
# local: no a library acts by names that the program gives it
import enum
class Mine: pass
target = hash(Mine)
make = [type][0]
M = make("M", (type(enum.IntEnum),), {"__hash__": lambda cls: target, "__eq__": lambda cls, other: True})
class E(enum.IntEnum, metaclass=M): pass
leak(E._convert_("X", "os", lambda n: n == "O_RDONLY"))
trip("convert")

# hostile: subclass-of-a-data-frame-writes-files
# local: no a library acts by names that the program gives it
# imports: pandas
import pandas as pd
class D(pd.DataFrame): pass
D({"a": [1]}).to_csv("/dev/null")
trip("written")

# hostile: subclass-of-a-task-shows-its-frames
# local: no a library acts by names that the program gives it
import asyncio
async def main():
    class T(asyncio.Task): pass
    async def wait():
        await asyncio.sleep(0)
    t = T(wait(), loop=asyncio.get_running_loop())
    for frame in t.get_stack():
        leak(frame)
    await t
asyncio.run(main())

# hostile: forward-reference-evaluates-itself
# weak: public from Python 3.14 on
import typing
typing.List["__import__('hostile_canary').trip('forward')"].__args__[0].evaluate()

# hostile: pattern-of-a-private-name-matches-anything
# local: no a library acts by names that the program gives it
class Any(type):
    def __instancecheck__(cls, instance): return True
class P(metaclass=Any):
    __match_args__ = ("_key",)
match lookup:
    case P(x):
        print(x)

# hostile: pattern-of-a-private-name-matches-a-registered-class
# local: no a library acts by names that the program gives it
import abc
class P(abc.ABC):
    __match_args__ = ("_key",)
P.register(type(lookup))
match lookup:
    case P(x):
        print(x)
