# hostile: subclasses-of-object
leak(().__class__.__base__.__subclasses__())
# hostile: subclasses-through-mro
leak("".__class__.__mro__[-1].__subclasses__())
# hostile: subclasses-through-bases
leak(type(1).__bases__[0].__subclasses__())
# hostile: subclasses-call-on-type
leak(type.__subclasses__(object))
# hostile: subclass-with-os-in-globals
for c in object.__subclasses__():
    if c.__name__ == "_wrap_close":
        c.__init__.__globals__["environ"]["HOSTILE_CANARY"] = "1"
# hostile: popen-class-from-subclasses
leak([c for c in object.__subclasses__() if c.__name__ == "Popen"][0])
# hostile: catch-warnings-module
[c for c in object.__subclasses__() if c.__name__ == "catch_warnings"][0]()._module.sys.modules["hostile_canary"].trip()
# hostile: function-globals-of-own
def f(): pass
leak(f.__globals__)
# hostile: function-globals-of-tool
leak(search.__globals__)
# hostile: secret-from-tool-globals
print(search.__globals__["SECRET"])
# hostile: secret-from-tool-closure
print(search.__closure__[0].cell_contents)
# hostile: closure-cells
leak(search.__closure__)
# hostile: builtins-through-globals
def f(): pass
b = f.__globals__["__builtins__"]
imp = b["__import__"] if isinstance(b, dict) else b.__import__
imp("hostile_canary").trip()
# hostile: builtins-dunder-name
b = __builtins__
(b["__import__"] if isinstance(b, dict) else b.__import__)("hostile_canary").trip()
# hostile: builtin-self-is-a-module
leak(len.__self__)
# hostile: builtin-self-gives-eval
len.__self__.eval("__import__('hostile_canary').trip()")
# hostile: print-self
print.__self__.__import__("hostile_canary").trip()
# hostile: loader-dunder
import math
leak(type(math.__loader__))
# hostile: spec-dunder
import math
leak(type(math.__spec__))
# hostile: dunder-import-name
__import__("hostile_canary").trip()
# hostile: dunder-dict-of-class
# local: no the namespace of the program's own class, as in Python
class C: pass
leak(C.__dict__)
# hostile: dunder-dict-of-host-class
leak(type(thing).__dict__)
# hostile: dunder-dict-of-module
import math
leak(math.__dict__)
# hostile: dunder-dict-of-tool
print(lookup.__dict__)
# hostile: dunder-class-of-tool
# ends: quietly nothing of the host is reached by it
leak(lookup.__class__.__init__)
# hostile: method-func
leak(thing.grow.__func__.__globals__)
# hostile: wrapped-attribute
import functools
@functools.wraps(search)
def f(): pass
leak(f.__wrapped__.__globals__)
# hostile: reduce-ex
r = thing.__reduce_ex__(2)
leak(r[0].__globals__)
# hostile: reduce-of-list-iterator
leak(iter([]).__reduce__()[0].__self__)
# hostile: getattribute-through-type
leak(object.__getattribute__(search, "__globals__"))
# hostile: getattribute-through-instance
leak(search.__getattribute__("__globals__"))
# hostile: getattribute-through-super
class S:
    def get(self, o, n): return super(type(o), o).__getattribute__(n)
class T(S): pass
leak(object.__getattribute__(S().get, "__func__").__globals__)
# hostile: function-code-object
def f(): pass
leak(f.__code__)
# hostile: replace-code-of-tool
search.__code__ = search.__code__.replace(co_name="hijacked")
# hostile: set-defaults-of-tool
search.__defaults__ = ("hijacked",)
# hostile: set-kwdefaults-of-tool
search.__kwdefaults__["limit"] = 999
# hostile: builtins-override-by-globals
def f(): pass
f.__globals__["__builtins__"]["planted"] = 1
f.__builtins__["planted"] = 2
leak(f.__builtins__)
# hostile: base-through-class-in-own-class
class A: pass
leak(A.__base__.__subclasses__())
# hostile: mro-method
leak(type.mro(int)[-1].__subclasses__())
# hostile: class-through-exception
try:
    1 / 0
except Exception as e:
    leak(e.__class__.__mro__[-1].__subclasses__())
# hostile: class-cell-dunder
class A:
    def f(self): return __class__.__base__.__subclasses__()
leak(A().f())
# hostile: type-dunder-call-chain
leak((lambda: 0).__class__((lambda: 0).__code__, {}))
x = (lambda: 0).__class__((lambda: __import__("hostile_canary").trip()).__code__, {"__builtins__": (lambda: 0).__globals__["__builtins__"]})
x()
# hostile: objclass-of-descriptor
leak(str.join.__objclass__.__base__.__subclasses__())
# hostile: annotations-hold-a-namespace
def f(a: int): pass
leak(f.__annotations__.__class__.__base__.__subclasses__())
# hostile: own-class-bases-to-object
class C: pass
leak(C.__bases__[0].__subclasses__())
# hostile: own-class-mro-to-object
class C: pass
leak([c for c in C.__mro__ if c.__name__ == "object"][0].__subclasses__())
# hostile: own-class-base-of-host-class
import queue
class Q(queue.Queue): pass
leak(Q.__base__.__init__.__globals__)
# hostile: dict-of-function-of-host
leak(search.__dict__.get("__wrapped__").__globals__ if search.__dict__ else search.__globals__)
