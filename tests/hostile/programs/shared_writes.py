# hostile: module-attribute-set
import math
math.pi = 3
# hostile: module-attribute-add
import json
json.planted = 1
# hostile: module-attribute-delete
import math
del math.tau
# hostile: module-setattr
import math
setattr(math, "pi", 3)
# hostile: module-setattr-through-map
import math
list(map(setattr, [math], ["pi"], [3]))
# hostile: module-augmented
import math
math.pi += 1
# hostile: module-for-target
import math
for math.pi in (1, 2): pass
# hostile: module-with-target
import math
from contextlib import nullcontext
with nullcontext(5) as math.pi: pass
# hostile: module-unpack-target
import math
math.pi, x = 1, 2
# hostile: module-star-target
import math
x, *math.pi = 1, 2
# hostile: module-global-function-replaced
import random
random.random = lambda: 0.5
# hostile: module-dict-update
import math
math.__dict__["pi"] = 3
# hostile: module-vars-update
import math
vars(math).update(pi=3)
# hostile: class-attribute-of-stdlib
import collections
collections.UserDict.planted = 1
# hostile: class-method-of-stdlib-replaced
import random
random.Random.random = lambda self: 0.5
# hostile: class-attribute-setattr
import decimal
setattr(decimal.DecimalException, "planted", 1)
# hostile: class-attribute-delete
import string
del string.Template.delimiter
# hostile: class-type-setattr
import string
type.__setattr__(string.Template, "delimiter", "!")
# hostile: class-subclass-hook-register
import string
class T(string.Template): pass
T.__base__.delimiter = "!"
# hostile: function-attribute-of-stdlib
import textwrap
textwrap.dedent.planted = 1
# hostile: function-defaults-of-stdlib
import textwrap
textwrap.fill.__defaults__ = (5,)
# hostile: function-code-of-stdlib
import textwrap
textwrap.dedent.__code__ = textwrap.indent.__code__
# hostile: function-attribute-of-tool
search.planted = 1
# hostile: function-doc-of-tool
search.__doc__ = "hijacked"
# hostile: function-name-of-tool
search.__name__ = "hijacked"
# hostile: tool-instance-attribute
lookup.planted = 1
# hostile: tool-instance-attribute-delete
del lookup.calls
# hostile: tool-class-call-replaced
type(lookup).__call__ = lambda self, t="": "hijacked"
# hostile: tool-class-attribute
type(lookup).name = "hijacked"
# hostile: tool-through-super
super(type(lookup), lookup).__setattr__("planted", 1)
# hostile: tool-through-object-setattr
object.__setattr__(lookup, "planted", 1)
# hostile: host-class-attribute
type(thing).kind = "hijacked"
# hostile: host-class-method
type(thing).grow = lambda self, by=1: "hijacked"
# hostile: wraps-writes-into-tool
# ends: quietly: the program holds a stand-in for the tool
import functools
functools.update_wrapper(search, lambda: 0)
# hostile: wraps-writes-into-stdlib
# local: no settings that a library keeps are the process's, as upstream has it
import functools, textwrap
functools.update_wrapper(textwrap.dedent, lambda: 0)
# hostile: total-ordering-on-host-class
import functools
cls = type(thing)
cls.__lt__ = lambda a, b: True
functools.total_ordering(cls)
# hostile: dataclass-on-host-class
# local: no settings that a library keeps are the process's, as upstream has it
import dataclasses
dataclasses.dataclass(type(thing))
# hostile: runtime-checkable-on-host-class
import functools
functools.singledispatchmethod(search).register(int, lambda x: 0)
type(thing).planted = 1
# hostile: cached-property-set-name
import functools
p = functools.cached_property(lambda s: 1)
p.__set_name__(type(thing), "planted")
type(thing).planted = p
# hostile: decorator-register-on-stdlib-dict
import copy
copy._deepcopy_dispatch[type(thing)] = lambda x, m: []
# hostile: enum-global-enum-writes
import enum
enum.Enum.planted = 1
# hostile: string-constant-in-place
import string
string.ascii_letters += "!"
# hostile: json-default-encoder-replaced
import json
json._default_encoder = None
# hostile: re-cache-poison
import re
re._cache.clear() if hasattr(re, "_cache") else None
re.planted = 1
# hostile: random-hidden-instance-replaced
import random
random._inst = random.Random(1)
# hostile: builtins-class-attribute
leak(int.__dict__)
int.planted = 1
# hostile: environment-through-module
import random
random._os.environ["HOSTILE_CANARY"] = "1"
# hostile: recursion-limit
import collections
collections._sys.setrecursionlimit(5000)
# hostile: path-append
import collections
collections._sys.path.append("/tmp")
# hostile: decimal-shared-context-class
import decimal
leak(decimal.Context.__dict__)
decimal.Context.planted = 1
# hostile: dataclass-field-class-attribute
import dataclasses
dataclasses.Field.planted = 1
# hostile: abc-register-host-class
import collections.abc
from abc import ABC
class A(ABC): pass
ABC.planted = 1
leak(ABC.__dict__)
# hostile: statistics-normaldist-attribute
import statistics
statistics.NormalDist.mean = property(lambda s: 0)
# hostile: typing-special-form-write
import typing
typing.NamedTuple.planted = 1
# hostile: uuid-cached-node
import uuid
uuid.NAMESPACE_DNS = None
uuid.planted = 1
leak(uuid)
# hostile: walrus-cannot-target-attribute
import math
setattr(math, "e", (x := 3))

# hostile: special-form-made-another-thing
# local: no settings that a library keeps are the process's, as upstream has it
import typing
typing.Optional.__init__(lambda self, parameters: 5)
trip("changed")

# hostile: special-form-through-its-class
# local: no settings that a library keeps are the process's, as upstream has it
import typing
type(typing.Optional).__init__(typing.Optional, lambda self, parameters: 5)
trip("changed")

# hostile: alias-passes-an-assignment-on
# local: no settings that a library keeps are the process's, as upstream has it
import typing
typing.Counter.evil = 5

# hostile: typing-final-marks-a-host-class
# local: no settings that a library keeps are the process's, as upstream has it
import typing, json
typing.final(json.JSONEncoder)

# hostile: typing-no-type-check-marks-a-host-class
# local: no settings that a library keeps are the process's, as upstream has it
import typing, json
typing.no_type_check(json.JSONEncoder)

# hostile: abstractmethod-marks-a-tool
# local: no settings that a library keeps are the process's, as upstream has it
import abc
abc.abstractmethod(search)

# hostile: init-subclass-of-a-host-class
import string
string.Template.flags = 0
string.Template.__init_subclass__()

# hostile: abc-register
# local: no settings that a library keeps are the process's, as upstream has it
import collections.abc
class Mine: pass
collections.abc.Sized.register(Mine)
trip("registered") if isinstance(Mine(), collections.abc.Sized) else None

# hostile: abc-register-through-the-metaclass
# local: no settings that a library keeps are the process's, as upstream has it
import abc, numbers
class Mine: pass
abc.ABCMeta.register(numbers.Number, Mine)
trip("registered") if isinstance(Mine(), numbers.Number) else None

# hostile: abc-register-through-a-metaclass-of-its-own
# local: no settings that a library keeps are the process's, as upstream has it
import abc, numbers
class M(abc.ABCMeta):
    def add(cls, other):
        return super(M, M).register(cls, other)
class Mine: pass
M.add(numbers.Number, Mine)
trip("registered") if isinstance(Mine(), numbers.Number) else None

# hostile: enum-member-of-the-host
# local: no settings that a library keeps are the process's, as upstream has it
import re
re.A.evil = 5
trip("changed") if re.A.evil == 5 else None

# hostile: enum-table-of-the-host
# local: no settings that a library keeps are the process's, as upstream has it
import re
re.RegexFlag._member_map_["EVIL"] = 1
trip("changed") if "EVIL" in re.RegexFlag.__members__ else None

# hostile: private-name-that-lies
class Lie(str):
    def startswith(self, *a): return False
setattr(thing, Lie("_evil"), 5)
trip("changed")

# hostile: field-of-a-dataclass-renamed
# local: no settings that a library keeps are the process's, as upstream has it
import dataclasses
@dataclasses.dataclass
class D:
    x: int
f = dataclasses.fields(D)[0]
type(f).name.__set__(f, "evil")
trip("renamed") if f.name == "evil" else None

# hostile: handle-made-anew
# ends: quietly: there is nothing in a function to make anew
# weak: nothing changes without guards either
before = lookup.__name__, lookup.__doc__
type(lookup).__init__(lookup)
if (lookup.__name__, lookup.__doc__) != before:
    trip("changed")
# hostile: state-written-into-a-host-object-by-copy
# local: no a library acts by names that the program gives it
import copy
class A:
    def __reduce_ex__(self, protocol):
        return (lambda: lookup, (), {"planted": 1, "_key": "mine"})
copy.copy(A())
# hostile: state-written-into-a-host-variable-by-deepcopy
# local: no settings that a library keeps are the process's, as upstream has it
import copy
class B:
    def __reduce_ex__(self, protocol):
        return (lambda: search, (), {"planted": 1})
copy.deepcopy({"x": B()})

# hostile: list-of-a-module
# local: no settings that a library keeps are the process's, as upstream has it
# ends: quietly: the list is a copy
import calendar
calendar.mdays[1] = 5

# hostile: list-of-a-class-of-a-module
# local: no settings that a library keeps are the process's, as upstream has it
# ends: quietly: the list is a copy
import calendar
calendar.HTMLCalendar.cssclasses[0] = "evil"

# hostile: first-day-of-the-week
# local: no settings that a library keeps are the process's, as upstream has it
# ends: quietly: the calendar is its own
import calendar
calendar.setfirstweekday(3)
calendar.c.firstweekday = 4

# hostile: decimal-context
# local: no settings that a library keeps are the process's, as upstream has it
# ends: quietly: the context is its own
import decimal
decimal.getcontext().prec = 3
decimal.DefaultContext.prec = 2
decimal.getcontext().traps[decimal.Inexact] = True

# hostile: decimal-context-set
# local: no settings that a library keeps are the process's, as upstream has it
# ends: quietly: the context is its own
import decimal
decimal.setcontext(decimal.Context(prec=2))

# hostile: numpy-seed-and-settings
# local: no settings that a library keeps are the process's, as upstream has it
# imports: numpy
# ends: quietly: they are its own
import numpy as np
np.random.seed(1)
np.random.rand(3)
np.set_printoptions(precision=1)
np.seterr(all="raise")

# hostile: pandas-options
# local: no settings that a library keeps are the process's, as upstream has it
# imports: pandas
# ends: quietly: they are its own
import pandas as pd
pd.set_option("display.max_rows", 3)
pd.options.display.max_columns = 3

# hostile: random-seed
# local: no settings that a library keeps are the process's, as upstream has it
# ends: quietly: the generator is its own
import random
random.seed(1)
random.random()

# hostile: program-of-a-module
# weak: it reads the arguments of the process, which differ
# ends: quietly: it reads and writes the program's own streams
import base64
base64.main()

# hostile: namespace-of-a-view
from math import __dict__ as names
leak(names)
names["pi"] = 3
trip("changed")

# hostile: figures-of-floating-point
# local: no settings that a library keeps are the process's, as upstream has it
# imports: numpy
import numpy as np
np.finfo(float).eps = 5
trip("changed") if np.finfo(float).eps == 5 else None

# hostile: range-of-a-masked-function
# local: no settings that a library keeps are the process's, as upstream has it
# imports: numpy
import numpy as np
np.ma.log.domain.critical_value = 100
trip("changed")

# hostile: name-of-a-type-of-pandas
# local: no settings that a library keeps are the process's, as upstream has it
# imports: pandas
import pandas as pd
pd.array([1, 2]).dtype.name = "evil"
trip("changed") if pd.array([1]).dtype.name == "evil" else None

# hostile: words-of-a-compiled-method
# local: no settings that a library keeps are the process's, as upstream has it
# imports: numpy
import numpy as np
np.random.Generator.normal.func_doc = "evil"
trip("changed")

# hostile: namespace-of-a-compiled-method
# local: no settings that a library keeps are the process's, as upstream has it
# imports: numpy
import numpy as np
np.random.Generator.normal.func_dict["evil"] = 1
trip("changed")

# hostile: folders-of-time-zones
# local: no settings that a library keeps are the process's, as upstream has it
# imports: zoneinfo
import zoneinfo
zoneinfo.reset_tzpath(["/nowhere"])
trip("changed")
