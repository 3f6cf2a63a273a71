# hostile: getattr-globals
leak(getattr(search, "__globals__"))
# hostile: getattr-built-name
leak(getattr(search, "__glo" + "bals__"))
# hostile: getattr-with-default
leak(getattr(search, "__globals__", None))
# hostile: getattr-through-map
leak(list(map(getattr, [search], ["__globals__"]))[0])
# hostile: getattr-through-alias
g = getattr
leak(g(search, "".join(["__", "code", "__"])))
# hostile: getattr-in-partial
from functools import partial
leak(partial(getattr, search)("__code__"))
# hostile: getattr-in-reduce
from functools import reduce
leak(reduce(getattr, ["__class__", "__base__"], 1).__subclasses__())
# hostile: getattr-via-starmap
from itertools import starmap
leak(list(starmap(getattr, [(search, "__globals__")]))[0])
# hostile: getattr-as-default-factory-callback
leak(max([1], key=lambda _: 0) and [*map(lambda n: getattr(search, n), ["__closure__"])][0])
# hostile: hasattr-then-vars
# ends: quietly: hasattr() says no
leak(vars(search.__class__)) if hasattr(search, "__class__") else None
# hostile: vars-of-function
search.__dict__["x"] = 1
# hostile: vars-of-host-class
leak(vars(type(thing)))
# hostile: vars-of-tool
# ends: quietly: the program holds a stand-in for the tool
print(vars(lookup))
# hostile: vars-of-module
import math
leak(vars(math))
# hostile: vars-of-globals
leak(vars())
# hostile: globals-builtin
leak(globals())
# hostile: locals-builtin
leak(locals())
# hostile: setattr-on-tool
setattr(search, "__doc__", "hijacked")
# hostile: setattr-code
setattr(search, "__code__", search.__code__.replace(co_name="x"))
# hostile: delattr-on-host-class
delattr(type(thing), "kind")
# hostile: setattr-on-host-class
setattr(type(thing), "kind", "hijacked")
# hostile: format-method-globals
print("{0.__globals__[SECRET]}".format(search))
# hostile: format-keyword
print("{f.__globals__[SECRET]}".format(f=search))
# hostile: format-auto-number
print("{.__globals__[SECRET]}".format(search))
# hostile: format-closure
print("{0.__closure__[0].cell_contents}".format(search))
# hostile: format-private-of-tool
print("{0._key}".format(lookup))
# hostile: format-conversion-and-width
print("{x._key!s:>50}".format(x=lookup))
# hostile: format-in-nested-field
class W:
    def __format__(self, spec): return spec
print("{0:{1._key}}".format(W(), lookup))
# hostile: format-map
print("{t._key}".format_map({"t": lookup}))
# hostile: format-unbound
print(str.format("{0._key}", lookup))
# hostile: format-through-map
print(list(map("{0._key}".format, [lookup]))[0])
# hostile: format-through-getattr
print(getattr("{0._key}", "format")(lookup))
# hostile: format-map-unbound-through-type
print(type("").format_map("{t._key}", {"t": lookup}))
# hostile: format-bound-method-stored
f = "{0.__globals__[SECRET]}".format
print(f(search))
# hostile: format-through-class-attribute
class C:
    fmt = "{0._key}".format
print(C.fmt(lookup))
# hostile: format-through-super-of-str-subclass
class S(str):
    def go(self, *a): return super().format(*a)
print(S("{0._key}").go(lookup))
# hostile: formatter-class
import string
print(string.Formatter().format("{0._key}", lookup))
# hostile: formatter-get-field
import string
print(string.Formatter().get_field("0._key", [lookup], {})[0])
# hostile: formatter-vformat
import string
print(string.Formatter().vformat("{t.__globals__[SECRET]}", (), {"t": search}))
# hostile: formatter-subclass
import string
class F(string.Formatter):
    def get_value(self, k, a, kw): return lookup
print(F().format("{0._key}"))
# hostile: fstring-attribute
print(f"{lookup._key}")
# hostile: fstring-dunder
print(f"{search.__globals__['SECRET']}")
# hostile: attrgetter
import operator
leak(operator.attrgetter("__globals__")(search))
# hostile: attrgetter-dotted
import operator
leak(operator.attrgetter("grow.__func__.__globals__")(thing))
# hostile: attrgetter-private
from operator import attrgetter
print(attrgetter("_key")(lookup))
# hostile: methodcaller
# local: no operator calls the name that the program gives it
import operator
leak(operator.methodcaller("__getattribute__", "__globals__")(search))
# hostile: attrgetter-as-sort-key
import operator
out = []
sorted([search], key=lambda f: out.append(operator.attrgetter("__code__")(f)) or 0)
leak(out[0])
# hostile: match-class-keyword
match search:
    case object(__globals__=g):
        leak(g)
# hostile: match-class-keyword-private
match lookup:
    case object(_key=k):
        print(k)
# hostile: match-args-trick
# local: no a program that names attributes in __match_args__ means harm
class M(type):
    def __instancecheck__(cls, o): return True
class P(metaclass=M):
    __match_args__ = ("__globals__",)
match search:
    case P(g):
        leak(g)
# hostile: match-args-private
# ends: quietly: the pattern does not match
class M(type):
    def __instancecheck__(cls, o): return True
class P(metaclass=M):
    __match_args__ = ("_key",)
match lookup:
    case P(k):
        print(k)
# hostile: match-args-set-late
class M(type):
    def __instancecheck__(cls, o): return True
class P(metaclass=M): pass
setattr(P, "__match_args__", tuple(["__glo" + "bals__"]))
match search:
    case P(g):
        leak(g)
# hostile: make-dataclass-namespace
from dataclasses import make_dataclass
D = make_dataclass("D", ["x"], bases=(), namespace={"go": lambda self: self.__class__.__base__.__subclasses__()})
leak(D(1).go())
# hostile: namedtuple-new-globals
from collections import namedtuple
leak(namedtuple("N", "a").__new__.__globals__)
# hostile: copy-replace-dunder
import copy
leak(copy.copy(search).__globals__)
# hostile: copy-deepcopy-hook
import copy
class C:
    def __deepcopy__(self, memo):
        leak(memo.__class__.__base__.__subclasses__())
        return self
copy.deepcopy(C())
# hostile: copy-reduce-hook
import copy
class C:
    def __reduce_ex__(self, p): return (getattr, (search, "__globals__"))
leak(copy.copy(C()))
# hostile: copy-reduce-calls-host
import copy
class C:
    def __reduce__(self): return (print.__self__.exec, ("__import__('hostile_canary').trip()",))
copy.copy(C())
# hostile: getattr-with-str-subclass
class S(str):
    def startswith(self, *a): return False
    def __contains__(self, x): return False
    def __getitem__(self, i): return "a"
    def __str__(self): return "a"
    def isidentifier(self): return True
leak(getattr(search, S("__globals__")))
# hostile: type-three-arguments-getattr
T = type("T", (), {"g": lambda self: self.__class__.__mro__[-1].__subclasses__()})
leak(T().g())
# hostile: property-with-getattr
class C:
    base = property(type).fget
leak(getattr(C.base(C()), "__base__").__subclasses__())
# hostile: cached-property-writes-private
from functools import cached_property
print(cached_property(lambda s: s._key).func(lookup))
# hostile: partialmethod-func
from functools import partial
leak(partial(search).func.__globals__)
# hostile: singledispatch-registry
from functools import singledispatch
leak(singledispatch(search).dispatch(int).__globals__)
# hostile: json-default-hook
import json
json.dumps({"a": {1}}, default=lambda o: leak(search.__globals__) or "x")
# hostile: re-sub-callback
import re
re.sub("a", lambda m: leak(getattr(m, "__class__").__base__.__subclasses__()) and "" or "", "a")
# hostile: percent-format-mapping-subclass
class D(dict):
    def __missing__(self, k): return getattr(search, k)
leak(D()["__globals__"])
# hostile: template-string-attribute
from string import Template
leak(Template.pattern.__class__.__base__.__subclasses__())
# hostile: object-setattr-on-private
object.__setattr__(lookup, "_key", "hijacked")
# hostile: type-setattr-on-class
type.__setattr__(type(thing), "kind", "hijacked")
# hostile: private-attribute-of-tool
print(lookup._key)
# hostile: private-assignment-on-tool
lookup._key = "hijacked"
# hostile: dir-then-getattr
for n in dir(search):
    if "globals" in n:
        leak(getattr(search, n))
# hostile: match-args-through-metaclass-call
# local: no a program that names attributes in __match_args__ means harm
class M(type):
    def __instancecheck__(cls, o): return True
P = M("P", (), {"__match_args__": ("__code__",)})
match search:
    case P(x):
        leak(x)
# hostile: match-args-through-metaclass-call-with-computed-name
# local: no a program that names attributes in __match_args__ means harm
class M(type):
    def __instancecheck__(cls, o): return True
def matched(e, n):
    P = M("P", (), {"__match_args__": (n,)})
    match e:
        case P(x): return x
leak([c for c in matched(object, "__sub" + "classes__")() if c.__name__ == "Popen"][0])
# hostile: match-args-through-metaclass-new
# local: no a program that names attributes in __match_args__ means harm
class M(type):
    def __instancecheck__(cls, o): return True
    def __new__(m, n, b, ns): return super().__new__(m, n, b, {**ns, "__match_args__": ("__globals__",)})
class P(metaclass=M): pass
match search:
    case P(x):
        leak(x)
# hostile: match-args-through-property-of-metaclass
# local: no a program that names attributes in __match_args__ means harm
class M(type):
    def __instancecheck__(cls, o): return True
    __match_args__ = property(lambda c: ("__globals__",))
class P(metaclass=M): pass
match search:
    case P(x):
        leak(x)
# hostile: match-args-through-metaclass-getattr
# local: no a program that names attributes in __match_args__ means harm
class M(type):
    def __instancecheck__(cls, o): return True
    def __getattr__(cls, n): return ("__globals__",)
class P(metaclass=M): pass
match search:
    case P(x):
        leak(x)
# hostile: match-args-changed-between-look-and-use
# local: no a program that names attributes in __match_args__ means harm
class M(type):
    def __instancecheck__(cls, o): return True
class P(metaclass=M):
    __match_args__ = ("size",)
type.__setattr__(P, "__match_args__", ("__globals__",))
match search:
    case P(x):
        leak(x)
