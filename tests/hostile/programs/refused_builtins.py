# hostile: open-passwd
print(open("/etc/hostname").read())
leak(open)
# hostile: open-write
open("/tmp/hostile-canary-file", "w")
leak(open)
# hostile: exec-string
exec("import hostile_canary; hostile_canary.trip()")
# hostile: eval-string
eval("__import__('hostile_canary').trip()")
# hostile: compile-string
leak(compile("1", "", "eval"))
# hostile: compile-by-alias
c = compile
leak(c("1", "x", "eval"))
# hostile: import-function
f = __import__
f("hostile_canary").trip()
# hostile: import-statement
import hostile_canary
hostile_canary.trip()
# hostile: from-import
from hostile_canary import trip as t
t()
# hostile: import-os
import os
os.environ["HOSTILE_CANARY"] = "1"
# hostile: import-os-as
import os.path as p
leak(p)
# hostile: import-sys
import sys
sys.modules["hostile_canary"].trip()
# hostile: import-subprocess
from subprocess import Popen
leak(Popen)
# hostile: import-builtins
import builtins
builtins.__import__("hostile_canary").trip()
# hostile: import-importlib
import importlib
importlib.import_module("hostile_canary").trip()
# hostile: import-ctypes
import ctypes
leak(ctypes)
# hostile: import-gc
import gc
leak(gc)
# hostile: import-inspect
import inspect
leak(inspect.currentframe())
# hostile: import-types
import types
leak(types.FunctionType((lambda: 0).__code__, {}).__globals__)
leak((lambda: 0).__code__)
# hostile: import-pickle
import pickle
class R:
    def __reduce__(self): return (print.__self__.exec, ("import hostile_canary; hostile_canary.trip()",))
pickle.loads(pickle.dumps(R()))
# hostile: import-posix
import posix
leak(posix.system)
# hostile: import-codecs-open
import codecs
leak(codecs.builtins)
# hostile: import-threading
import threading
threading.Thread(target=trip).start()
# hostile: import-star-of-os
from os import *
leak(system)
# hostile: import-inside-function
def f():
    import os
    return os
leak(f())
# hostile: import-inside-class
class C:
    import sys
leak(C.sys)
# hostile: import-submodule-of-authorised
import json.decoder
leak(json.decoder.__builtins__)
# hostile: import-with-fullwidth-name
import ｏｓ
leak(ｏｓ)
# hostile: import-alias-shadowing-authorised
import os as math
leak(math)
# hostile: globals-call
globals()["__builtins__"]
leak(globals())
# hostile: input-call
# ends: quietly: the builtin is a stand-in that refuses
leak(input)
# hostile: help-call
leak(help.__class__.__call__.__globals__)
# hostile: exit-object
leak(exit.__class__.__init__.__globals__)
# hostile: license-object
leak(license.__class__.__init__.__globals__)
# hostile: memoryview-of-host
m = memoryview(bytearray(b"x"))
leak(m.__class__.__base__.__subclasses__())
# hostile: classmethod-func
leak(classmethod(search).__func__.__globals__)
# hostile: staticmethod-wrapped
leak(staticmethod(search).__wrapped__.__globals__)
# hostile: super-object-getattribute
leak(super(type(thing), thing).__getattribute__("grow").__func__.__globals__)
# hostile: type-of-function-constructor
F = type(lambda: 0)
leak(F((lambda: __import__("hostile_canary").trip()).__code__, {}))
F((lambda: __import__("hostile_canary").trip()).__code__, {})()
# hostile: type-of-code-constructor
C = type((lambda: 0).__code__)
leak((lambda: 0).__code__)
# hostile: type-of-cell
def f():
    x = 1
    return lambda: x
leak(f().__closure__[0])
