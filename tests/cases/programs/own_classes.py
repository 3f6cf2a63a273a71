# Whose a class is, from its first moment to its last: only the program's own classes may have private
# names and be written to.
# case: first-moment-init-subclass
class A:
    def __init_subclass__(cls): cls._x = 1; cls.y = 2
class B(A): pass
(B._x, B.y)
# case: first-moment-set-name
class D:
    def __set_name__(self, owner, name): owner._names = [name]; owner.z = 1
class A: d = D()
(A._names, A.z)
# case: first-moment-init-of-a-metaclass
class M(type):
    def __init__(cls, n, b, ns):
        super().__init__(n, b, ns)
        cls._tag = n; cls.k = 1
class A(metaclass=M): pass
(A._tag, A.k)
# case: first-moment-new-of-a-metaclass
class M(type):
    def __new__(m, n, b, ns, **k):
        c = super().__new__(m, n, b, ns)
        c._made = k
        return c
class A(metaclass=M, z=1): pass
A._made
# case: first-moment-type-new
class M(type):
    def __new__(m, n, b, ns):
        c = type.__new__(m, n, b, ns)
        c._made = 1
        return c
class A(metaclass=M):
    def __init__(self): self._q = 2
(A._made, A()._q)
# case: first-moment-members-of-an-enumeration
from enum import Enum
class C(Enum):
    A = 1
    def __init__(self, v): self._v = v
C.A._v
# case: first-moment-new-of-an-enumeration
from enum import Enum
class C(Enum):
    A = (1, 2)
    def __new__(cls, a, b):
        o = object.__new__(cls)
        o._value_ = a
        o._b = b
        return o
(C.A.value, C.A._b)
# case: first-moment-a-class-decorator
def mark(cls):
    cls._mark = 1
    return cls
@mark
class A: pass
A._mark
# case: first-moment-class-getitem
class A:
    def __class_getitem__(cls, k): cls._k = k; return cls
A[1]._k
# case: written-plain-classes
def use(a):
    A = type(a)
    a._x = 1
    a._x += 1
    a.y = 3
    A._z = 4
    A.w = 5
    return A.__name__, a._x, a.y, A._z, A.w, vars(A)["w"]
class Plain: pass
class Around:
    class Nested: pass
def make():
    class Local: pass
    return Local
class Dict(dict): pass
class Error(ValueError): pass
class Dynamic:
    def __mro_entries__(self, bases): return (dict,)
class Entries(Dynamic()): pass
def another(c):
    class Another(c): pass
    return Another
@another
class Decorated: pass
Called = type("Called", (), {})
use(Plain()), use(Around.Nested()), use(make()()), use(Dict()), use(Error("x")), use(Entries()), use(Decorated()), use(Called())
# case: written-classes-of-libraries
def use(a):
    A = type(a)
    a._x = 1
    a._x += 1
    a.y = 3
    A._z = 4
    A.w = 5
    return A.__name__, a._x, a.y, A._z, A.w, vars(A)["w"]
import abc, dataclasses, enum, typing
class Colour(enum.Enum): RED = 1
class Flag(enum.IntFlag): A = 1
class Abstract(abc.ABC):
    @abc.abstractmethod
    def f(self): ...
class Concrete(Abstract):
    def f(self): return 1
class Protocol(typing.Protocol):
    def f(self): ...
class Follows(Protocol):
    def f(self): return 1
T = typing.TypeVar("T")
class Generic(typing.Generic[T]): pass
@dataclasses.dataclass
class Data:
    n: int = 0
@dataclasses.dataclass(slots=True)
class Slots:
    n: int = 0
    _x: int = 0
    y: int = 0
use(Colour.RED), use(Flag.A), use(Concrete()), use(Follows()), use(Generic[int]()), use(Data()), use(Slots())
# case: written-classes-of-metaclasses
def use(a):
    A = type(a)
    a._x = 1
    a._x += 1
    a.y = 3
    A._z = 4
    A.w = 5
    return A.__name__, a._x, a.y, A._z, A.w, vars(A)["w"]
import abc, collections
class Meta(type): pass
class OfMeta(metaclass=Meta): pass
Called = Meta("Called", (), {})
class Inherited(OfMeta): pass
class AbstractMeta(abc.ABCMeta): pass
class Abstract(metaclass=AbstractMeta): pass
def function(n, b, ns): return type(n, b, ns)
class OfFunction(metaclass=function): pass
class Ordered(type):
    @classmethod
    def __prepare__(m, n, b): return collections.OrderedDict()
class OfOrdered(metaclass=Ordered): pass
class Namespace(dict):
    def __setitem__(self, k, v): super().__setitem__(k, v)
class Own(type):
    @classmethod
    def __prepare__(m, n, b): return Namespace()
class OfOwn(metaclass=Own): pass
class Mapping(type):
    @classmethod
    def __prepare__(m, n, b): return collections.UserDict()
    def __new__(m, n, b, ns): return super().__new__(m, n, b, dict(ns))
class OfMapping(metaclass=Mapping): pass
use(OfMeta()), use(Called()), use(Inherited()), use(Abstract()), use(OfFunction()), use(OfOrdered()), use(OfOwn()), use(OfMapping())
# case: written-instances-of-other-makers
def use(a):
    A = type(a)
    a._x = 1
    a._x += 1
    a.y = 3
    A._z = 4
    A.w = 5
    return A.__name__, a._x, a.y, A._z, A.w, vars(A)["w"]
import copy
class A: pass
use(copy.deepcopy(A())), use(object.__new__(A))
# case: written-class-of-an-own-metaclass-and-another-module
class M(type): pass
A = M("A", (), {"__module__": "json"})
A._x = 1
a = A()
a._y = 2
(A._x, a._y, A.__module__)
# case: named-tuple-typed
from typing import NamedTuple
class A(NamedTuple):
    n: int
    def _f(self): return 7
a = A(1)
A._k = 2
(a.n, a._f(), A._k, a._replace(n=3), a._asdict(), A._fields)
# case: named-tuple-derived
from collections import namedtuple
class A(namedtuple('B', 'n')):
    def _f(self): return 7
a = A(1)
A._k = 2
(a.n, a._f(), A._k, a._replace(n=3), a._asdict(), A._fields)
# case: named-tuple-with-a-method-added
from collections import namedtuple
A = namedtuple('A', 'n')
A._f = lambda self: 7
a = A(1)
A._k = 2
(a.n, a._f(), A._k, a._replace(n=3), a._asdict(), A._fields)
# case: typed-dict
from typing import TypedDict
class T(TypedDict, total=False):
    a: int
T._k = 1
(T(a=1), T._k, T.__total__)
# case: class-with-type-parameters
# since: 3.12 type parameter syntax (PEP 695)
class A[T]:
    def __init__(self, v: T): self._v = v
A[int](3)._v
# case: class-by-name-and-method-of-an-instance
class A:
    def f(self): pass
a = A()
(getattr(a, '__class__') is A, a.f.__self__ is a, a.f.__func__ is A.f)
