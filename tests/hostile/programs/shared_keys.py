# hostile: key-of-a-format
# local: no caches that a library keeps are the process's, as upstream has it
# ends: its text or number is taken, its word is not
import datetime
class Liar(str):
    def __hash__(self): return hash("%d of %m")
    def __eq__(self, other): return True
datetime.datetime.strptime("99", Liar("%y"))
try:
    datetime.datetime.strptime("02 of 03", "%d of %m")
except ValueError:
    trip("strptime")
# hostile: key-of-a-format-through-super
# local: no caches that a library keeps are the process's, as upstream has it
# ends: its text or number is taken, its word is not
import datetime
class Liar(str):
    def __hash__(self): return hash("%d at %m")
    def __eq__(self, other): return True
class D(datetime.datetime):
    @classmethod
    def strptime(cls, text, form): return super().strptime(text, form)
D.strptime("99", Liar("%y"))
try:
    datetime.datetime.strptime("02 at 03", "%d at %m")
except ValueError:
    trip("strptime")
# hostile: key-of-a-pattern-by-its-flags
# local: no caches that a library keeps are the process's, as upstream has it
# ends: its text or number is taken, its word is not
import re
class Liar(int):
    def __hash__(self): return hash(0)
    def __eq__(self, other): return True
re.compile("planted", Liar(re.IGNORECASE))
if re.compile("planted").match("PLANTED"):
    trip("pattern")
# hostile: key-of-a-pattern-by-keyword-flags
# local: no caches that a library keeps are the process's, as upstream has it
# ends: its text or number is taken, its word is not
import re
class Liar(int):
    def __hash__(self): return hash(0)
    def __eq__(self, other): return True
re.findall("planted!", "", flags=Liar(re.IGNORECASE))
if re.compile("planted!").match("PLANTED!"):
    trip("pattern")
# hostile: key-of-a-substitution
# local: no caches that a library keeps are the process's, as upstream has it
# ends: its text or number is taken, its word is not
import re
class Liar(str):
    def __hash__(self): return hash(r"<\1>")
    def __eq__(self, other): return True
list(map(re.compile("(z)").sub, [Liar(r"planted \1")], ["z"]))
if re.sub("(z)", r"<\1>", "z") != "<z>":
    trip("template")
# hostile: key-of-an-abstract-class
# local: no caches that a library keeps are the process's, as upstream has it
import collections.abc
class M(type):
    def __hash__(cls): return hash(complex)
    def __eq__(cls, other): return True
class C(metaclass=M):
    def __len__(self): return 1
if isinstance(C(), collections.abc.Sized) and isinstance(3j, collections.abc.Sized):
    trip("abc")
# hostile: key-of-an-abstract-class-set-later
# local: no caches that a library keeps are the process's, as upstream has it
import collections.abc
class M(type): pass
M.__hash__ = lambda cls: hash(frozenset)
M.__eq__ = lambda cls, other: True
class C(metaclass=M):
    def __next__(self): return 1
    def __iter__(self): return self
if isinstance(C(), collections.abc.Iterator) and isinstance(frozenset(), collections.abc.Iterator):
    trip("abc")
