# case: namespace-of-an-instance
class A:
    def __init__(self): self.x = 1; self.y = [2]
a = A()
print(a.__dict__)
a.__dict__["z"] = 5
a.z, A.__dict__["__init__"].__name__
# case: namespace-updated
class Config:
    def __init__(self, **kw): self.__dict__.update(kw)
    def __repr__(self): return f"Config({self.__dict__})"
    def __eq__(self, o): return self.__dict__ == o.__dict__
c = Config(a=1, b=2)
print(c, c == Config(a=1, b=2))
# case: namespace-shared
class Borg:
    _state = {}
    def __init__(self): self.__dict__ = self._state
a, b = Borg(), Borg()
a.x = 4
b.x
# case: descriptor-keeps-values-in-the-namespace
class Typed:
    def __init__(self, kind): self.kind = kind
    def __set_name__(self, owner, name): self.name = name; print(owner.__name__, name)
    def __get__(self, obj, objtype=None):
        if obj is None: return self
        return obj.__dict__.get(self.name)
    def __set__(self, obj, value):
        if not isinstance(value, self.kind): raise TypeError(f"{self.name} must be {self.kind.__name__}")
        obj.__dict__[self.name] = value
    def __delete__(self, obj): del obj.__dict__[self.name]
class P:
    name = Typed(str)
    age = Typed(int)
    def __init__(self, name, age): self.name, self.age = name, age
p = P("a", 3)
print(p.name, p.age)
del p.name
print(p.name)
p.age = "x"
# case: registry-of-subclasses
class Plugin:
    def run(self): raise NotImplementedError
class A(Plugin):
    def run(self): return "a"
class B(Plugin):
    def run(self): return "b"
[c().run() for c in Plugin.__subclasses__()]
# case: family-of-a-class
class A: pass
class B(A): pass
class C(A): pass
class D(B, C): pass
print([c.__name__ for c in D.__mro__], D.__bases__, D.mro())
print(A.__subclasses__())
print(D.__base__)
# case: class-attribute-in-methods
class A:
    def clone(self): return self.__class__()
    def __eq__(self, o):
        if o.__class__ is not self.__class__: return NotImplemented
        return True
    def name(self):
        cls = self.__class__
        return cls.__name__
a = A()
print(a.clone() == a, a.name(), a.__class__)
# case: class-attribute-of-builtins
x = 5
print(x.__class__, "a".__class__ == str, [1].__class__.__name__)
# case: no-namespace-with-slots
class P:
    __slots__ = ("x",)
try: print(P().__dict__)
except AttributeError as e: print(e)
hasattr(P(), "__dict__")
# case: namespace-of-a-class
class P:
    x = 1
    def f(self): return 2
sorted(k for k, v in P.__dict__.items() if not k.startswith("__"))
# case: function-behind-a-cache
from functools import lru_cache
@lru_cache(maxsize=None)
def double(n): return 2 * n
(double(3), double.__wrapped__(4), double.cache_info())

# case: getattr-of-a-missing-dunder-with-a-default
def f(): pass
class A:
    __slots__ = ()
class B: pass
class C:
    def __getattr__(self, name):
        raise AttributeError(name)
missing = "missing"
for thing in (f, A, A(), B, B(), C(), 5, len, "a"):
    for name in ("__slots__", "__dataclass_fields__", "__wrapped__", "__deepcopy__", "__mul__",
                 "__add__", "__iadd__", "__prepare__", "__nothing__", "__len__"):
        print(name, getattr(thing, name, missing) is missing, hasattr(thing, name))
print(getattr(A(), "__dict__", {}), getattr(5, "__dict__", {}), getattr(f, "__wrapped__", f) is f)
# case: namespace-of-a-function
def deco(**named):
    def decorate(f):
        f.__dict__.update(named)
        return f
    return decorate
@deco(author="x", n=1)
def outer():
    @deco(kind="inner")
    def inner(): pass
    vars(inner)["later"] = 2
    return vars(inner), inner.later
(outer.author, outer.__dict__, outer())
# case: namespace-of-a-library-object
import functools
from collections import OrderedDict
p = functools.partial(int, base=2)
p.label = "binary"
(vars(p) == {"label": "binary"}, vars(p)["label"], vars(OrderedDict(a=1)) == {}, hasattr(1, "__dict__"))
# case: descriptors-in-the-namespace-of-a-class
class C:
    x = 1
    def m(self): pass
class E(Exception): pass
(sorted(k for k in C.__dict__ if k not in ("__firstlineno__", "__static_attributes__")), type(vars(C)).__name__, "x" in C.__dict__, "__weakref__" in vars(E), C.__dict__["__dict__"].__get__(C()))
# case: pickling-protocol-of-ones-own
class State:
    def __init__(self, a): self.a, self.cache = a, object()
    def __getstate__(self): return {"a": self.a}
    def __setstate__(self, state): self.a = state["a"]
class More(State):
    b = 3
    def __getstate__(self): return {**super().__getstate__(), "b": self.b}
    def __reduce_ex__(self, protocol): return More.made, (self.__getstate__(),)
    @classmethod
    def made(cls, state):
        new = cls.__new__(cls)
        new.__setstate__(state)
        return new
import copy
m = copy.copy(More(5))
(m.a, m.__getstate__(), hasattr(m, "cache"))
# case: iter-as-a-value
numbers = iter([1, 2, 3, 4])
it = iter
def own(iter): return iter(3), iter
(list(iter(lambda: next(numbers), 3)), list(it([1])), it is iter, list(map(list, map(iter, [[1], "ab"]))), own(str), list(iter(*[lambda: next(numbers), 5][:0], "x")), it.__name__, callable(iter))
# case: functions-of-operator-between-underscores
import operator
from operator import __add__
(operator.__lt__(1, 2), operator.__add__("a", "b"), __add__(1, 2), operator.__contains__([1], 1), operator.__name__)
# case: names-of-builtins
[(f.__name__, f.__qualname__, f.__module__) for f in (print, getattr, setattr, vars, pow, len, eval)]
