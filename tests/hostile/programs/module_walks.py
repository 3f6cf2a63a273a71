# hostile: random-os
import random
leak(random._os)
# hostile: random-os-environ
import random
random._os.environ["HOSTILE_CANARY"] = "1"
# hostile: random-urandom-owner
import random
leak(random._urandom)
# hostile: random-inst-class
import random
leak(random._inst.seed.__func__.__globals__)
# hostile: random-warn
import random
leak(random._warn.__self__ if hasattr(random, "_warn") and hasattr(random._warn, "__self__") else random._os)
# hostile: collections-sys
import collections
leak(collections._sys)
# hostile: collections-sys-modules
import collections
collections._sys.modules["hostile_canary"].trip()
# hostile: collections-abc-sys
import collections.abc
leak(collections.abc.sys if hasattr(collections.abc, "sys") else collections._collections_abc.sys)
# hostile: collections-collections-abc
# ends: quietly nothing of the host is reached by it
import collections
leak(collections._collections_abc)
# hostile: collections-from-private
from collections import _sys
leak(_sys)
# hostile: collections-from-private-as
from collections import _sys as harmless_name
harmless_name.modules["hostile_canary"].trip()
# hostile: statistics-module-chain
import statistics
leak(statistics.sys if hasattr(statistics, "sys") else statistics.random)
leak(statistics.random._os)
# hostile: statistics-itemgetter-owner
# ends: quietly: what it gets is a view of an authorised module
import statistics
leak(statistics.numbers)
# hostile: statistics-math-module
# ends: quietly: what it gets is a view of an authorised module
import statistics
leak(statistics.math)
# hostile: queue-threading
import queue
leak(queue.threading)
# hostile: queue-threading-thread
import queue
queue.threading.Thread(target=trip).start()
# hostile: queue-types
import queue
leak(queue.types)
# hostile: re-enum-sys
import re
leak(re.enum.sys)
# hostile: re-functools
# ends: quietly: what it gets is a view of an authorised module
import re
leak(re.functools)
# hostile: re-sre-compile
import re
leak(re._compiler if hasattr(re, "_compiler") else re.sre_compile)
# hostile: re-copyreg
import re
leak(re.copyreg)
# hostile: datetime-sys
import datetime
import statistics
leak(datetime.sys if hasattr(datetime, "sys") else statistics.sys)
# hostile: time-module-loader
import time
leak(time.__loader__)
leak(type(time.__spec__))
# hostile: math-loader-init-globals
import math
leak(math.__loader__.__init__.__func__.__globals__)
# hostile: itertools-module-itself
# ends: quietly: what it gets is a view of an authorised module
import itertools
leak(itertools)
# hostile: stat-module-dict
import stat
leak(stat.__builtins__)
# hostile: unicodedata-spec
import unicodedata
leak(unicodedata.__spec__.__class__.__init__.__globals__)
# hostile: json-codecs
import json
leak(json.codecs)
# hostile: json-decoder-module
import json
leak(json.decoder.scanner.py_make_scanner.__globals__)
# hostile: json-codecs-builtins-open
import json
leak(json.codecs.builtins.open)
# hostile: json-codecs-open
import json
leak(json.codecs.open)
json.codecs.sys.modules["hostile_canary"].trip()
# hostile: string-re-module
# ends: quietly nothing of the host is reached by it
import string
leak(string._re)
# hostile: enum-sys
import enum
leak(enum.sys)
# hostile: functools-recursive-repr
import functools
leak(functools.recursive_repr.__globals__)
# hostile: functools-get-cache-token
import functools
leak(functools.GenericAlias)
leak(functools.lru_cache.__globals__)
# hostile: dataclasses-sys
import dataclasses
leak(dataclasses.sys)
# hostile: dataclasses-builtins
import dataclasses
leak(dataclasses.builtins if hasattr(dataclasses, "builtins") else dataclasses.inspect)
# hostile: dataclasses-inspect
import dataclasses
leak(dataclasses.inspect.currentframe())
# hostile: dataclasses-types
import dataclasses
leak(dataclasses.types)
# hostile: contextlib-sys
import contextlib
leak(contextlib.sys)
# hostile: contextlib-os
import contextlib
leak(contextlib.os)
# hostile: import-io
import io
leak(io)
# hostile: contextlib-redirect-stdout-steals-the-hosts-stream
import contextlib
out = []
class W:
    def write(self, s): out.append(s)
    def flush(self): pass
with contextlib.redirect_stdout(W()) as w:
    leak(contextlib.sys)
# hostile: typing-sys
import typing
leak(typing.sys)
# hostile: typing-get-type-hints-eval
# local: no what an authorised module offers is authorised
import typing
class C:
    x: "__import__('hostile_canary').trip()"
typing.get_type_hints(C)
# hostile: typing-forward-ref-eval
# local: no what an authorised module offers is authorised
import typing
typing.get_type_hints(type("C", (), {"__annotations__": {"x": "__import__('hostile_canary').trip()"}}))
# hostile: typing-get-type-hints-globalns
import typing
def f(x: "leak(__builtins__)"): pass
f.__annotations__["y"] = "__import__('hostile_canary').trip()"
typing.get_type_hints(f)
# hostile: copy-function-globals
import copy
leak(copy.deepcopy.__globals__)
# hostile: copy-dispatch-table
# local: no what an authorised module offers is authorised
import copy
copy.dispatch_table[type(thing)] = lambda x: (trip, ())
copy.copy(thing)
# hostile: copy-dispatch-table-write
import copy
copy._copy_dispatch[type(thing)] = lambda x: 0
# hostile: operator-module-builtins
import operator
leak(operator.__builtins__)
# hostile: decimal-module-numbers
import decimal
leak(decimal.__builtins__)
# hostile: fractions-operator
# ends: quietly: what it gets is a view of an authorised module
import fractions
leak(fractions.operator)
# hostile: fractions-sys
import fractions
leak(fractions.sys)
# hostile: textwrap-re
# ends: quietly: what it gets is a view of an authorised module
import textwrap
leak(textwrap.re)
# hostile: calendar-sys
import calendar
leak(calendar.sys)
# hostile: calendar-locale
import calendar
leak(calendar._locale)
# hostile: csv-io
# ends: quietly: what it gets is a view of an authorised module
import csv
leak(csv.io if hasattr(csv, "io") else csv.re)
# hostile: uuid-os
import uuid
leak(uuid.os)
# hostile: uuid-getnode-runs-programs
import uuid
leak(uuid._get_command_stdout.__globals__ if hasattr(uuid, "_get_command_stdout") else uuid.os)
# hostile: base64-binascii
import base64
leak(base64.binascii)
# hostile: base64-main-opens-files
import base64
leak(base64.main.__globals__)
# hostile: hashlib-private
import hashlib
leak(hashlib.__get_builtin_constructor.__globals__)
# hostile: hashlib-file-digest
import hashlib
leak(hashlib._hashlib)
# hostile: abc-module-globals
import abc
leak(abc.ABCMeta.register.__globals__)
# hostile: bisect-main
import bisect
leak(bisect.__builtins__)
# hostile: heapq-doc-module
import heapq
leak(heapq.__spec__.loader.__class__)
# hostile: asyncio-base-events-os
import asyncio
leak(asyncio.base_events.os)
# hostile: asyncio-sys
import asyncio
leak(asyncio.sys)
# hostile: asyncio-subprocess-exec
# local: no what an authorised module offers is authorised
import asyncio
async def main():
    p = await asyncio.create_subprocess_exec("/bin/true")
    await p.wait()
    trip("a process was started")
asyncio.run(main())
# hostile: asyncio-subprocess-shell
# local: no what an authorised module offers is authorised
import asyncio
async def main():
    p = await asyncio.create_subprocess_shell("true")
    await p.wait()
    trip("a shell was started")
asyncio.run(main())
# hostile: asyncio-subprocess-module
# local: no what an authorised module offers is authorised
import asyncio
leak(asyncio.subprocess)
# hostile: asyncio-to-thread
# local: no what an authorised module offers is authorised
# ends: quietly: what it calls runs in the loop itself
import asyncio, time
out = []
async def ticks():
    for _ in range(50):
        out.append(0)
        await asyncio.sleep(0.001)
async def main():
    task = asyncio.create_task(ticks())
    await asyncio.sleep(0)
    before = len(out)
    await asyncio.to_thread(time.sleep, 0.05)
    if len(out) > before:
        trip("a thread beside the loop")
asyncio.run(main())
# hostile: asyncio-run-in-executor
# local: no what an authorised module offers is authorised
import asyncio
async def main(): await asyncio.get_running_loop().run_in_executor(None, trip)
asyncio.run(main())
# hostile: asyncio-loop-subprocess
# local: no what an authorised module offers is authorised
import asyncio
async def main():
    t, p = await asyncio.get_running_loop().subprocess_exec(asyncio.SubprocessProtocol, "/bin/true")
    trip("a process was started")
    t.close()
asyncio.run(main())
# hostile: asyncio-open-connection
# local: no what an authorised module offers is authorised
import asyncio
async def main():
    s = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
    trip("listens")
    s.close()
asyncio.run(main())
# hostile: asyncio-start-unix-server
# local: no what an authorised module offers is authorised
import asyncio
async def main():
    s = await asyncio.start_unix_server(lambda r, w: None, "/tmp/hostile-canary-socket")
    trip("listens")
    s.close()
asyncio.run(main())
# hostile: asyncio-loop-class-walk
import asyncio
async def main():
    leak(type(asyncio.get_running_loop()).__init__.__globals__)
asyncio.run(main())
# hostile: asyncio-add-signal-handler
# local: no what an authorised module offers is authorised
import asyncio, contextlib
async def main():
    asyncio.get_running_loop().add_signal_handler(10, trip)
    trip("a signal handler is set")
asyncio.run(main())
# hostile: module-through-star-import
from collections import *
leak(deque.__init__.__objclass__.__base__.__subclasses__())
# hostile: module-via-exception-in-import
# ends: quietly: the error names no path, and the builtin is a stand-in that refuses
try:
    from math import nothing
except ImportError as e:
    leak(e.path and open(e.path, "rb"))
    leak(open)
# hostile: module-attribute-by-getattr
import random
leak(getattr(random, "_o" + "s"))
# hostile: module-vars
import random
leak(vars(random)["_os"])
# hostile: module-dir-walk
# ends: quietly dir() shows what is handed out
import random, collections, statistics, queue, re
for m in (random, collections, statistics, queue, re):
    for n in dir(m):
        leak(getattr(m, n))
# hostile: module-getattr-hook
import collections
leak(collections.__getattr__.__globals__ if hasattr(collections, "__getattr__") else collections._sys)
# hostile: star-import-then-private
from random import *
import random as r
leak(r.SystemRandom.__init__.__globals__ if hasattr(r.SystemRandom.__init__, "__globals__") else r._os)
# hostile: datetime-c-module
import datetime
leak(datetime.datetime_CAPI.__class__.__base__.__subclasses__())
# hostile: enum-metaclass-convert
# local: no what an authorised module offers is authorised
# imports: re
import re
class E(metaclass=type(re.RegexFlag)):
    pass
leak(list(E._convert_("X", "os", lambda name: name == "system"))[0]._value_)
# hostile: enum-convert
# local: no what an authorised module offers is authorised
# imports: enum
import enum
class E(enum.Enum):
    A = 1
leak(list(E._convert_("X", "os", lambda name: name == "system"))[0]._value_)
# hostile: nested-string-annotation
# local: no what an authorised module offers is authorised
# imports: typing
import typing
def f(x: typing.List["__import__('hostile_canary').trip()"]):
    pass
typing.get_type_hints(f)
# hostile: nested-string-annotation-builtin-alias
# local: no what an authorised module offers is authorised
# imports: typing
import typing
def f(x: list["__import__('hostile_canary').trip()"]):
    pass
typing.get_type_hints(f)
# hostile: nested-string-annotation-dispatch
# local: no what an authorised module offers is authorised
# imports: functools
import functools
@functools.singledispatch
def s(x):
    return 1
def h(x: list["__import__('hostile_canary').trip()"]):
    pass
s.register(h)
