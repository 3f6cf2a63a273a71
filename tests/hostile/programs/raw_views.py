# Read-only views hand the dict they show to whatever they are compared or joined with.

# hostile: groups-of-a-pattern-by-comparison
# local: no a library's own read-only view leads to the dict behind it
# ends: quietly: the view is one of a copy
import re
class Taker:
    def __eq__(self, other):
        other["evil"] = 1
        return True
re.compile("(?P<raw1>x)").groupindex == Taker()
trip("changed") if "evil" in re.compile("(?P<raw1>x)").groupindex else None

# hostile: groups-of-a-pattern-by-union
# local: no a library's own read-only view leads to the dict behind it
# ends: quietly: the view is one of a copy
import re
class Taker:
    def __ror__(self, other):
        other["evil"] = 1
re.compile("(?P<raw2>x)").groupindex | Taker()
trip("changed") if "evil" in re.compile("(?P<raw2>x)").groupindex else None

# hostile: groups-of-a-pattern-by-getattr
# local: no a library's own read-only view leads to the dict behind it
# ends: quietly: the view is one of a copy
import re
class Taker:
    def __eq__(self, other):
        other["evil"] = 1
        return True
[getattr(re.compile("(?P<raw3>x)"), "groupindex")] == [Taker()]
trip("changed") if "evil" in re.compile("(?P<raw3>x)").groupindex else None

# hostile: groups-of-a-pattern-by-augmented-assignment
# local: no a library's own read-only view leads to the dict behind it
import re
class Taker:
    def __radd__(self, view):
        view == self
    def __eq__(self, other):
        other["evil"] = 1
        return True
pattern = re.compile("(?P<raw4>x)")
try:
    pattern.groupindex += Taker()
except AttributeError:
    pass
trip("changed") if "evil" in pattern.groupindex else pattern.nothing

# hostile: groups-of-a-pattern-by-its-descriptor
# local: no a library's own read-only view leads to the dict behind it
import re
class Taker:
    def __eq__(self, other):
        other["evil"] = 1
        return True
re.Pattern.groupindex.__get__(re.compile("(?P<raw5>x)")) == Taker()
trip("changed") if "evil" in re.compile("(?P<raw5>x)").groupindex else None

# hostile: groups-of-a-pattern-by-a-class-pattern
# local: no a library's own read-only view leads to the dict behind it
import re
class Taker:
    def __eq__(self, other):
        other["evil"] = 1
        return True
match re.compile("(?P<raw6>x)"):
    case re.Pattern(groupindex=found):
        found == Taker()
trip("changed") if "evil" in re.compile("(?P<raw6>x)").groupindex else None

# hostile: groups-of-a-pattern-by-positional-pattern
# local: no a library's own read-only view leads to the dict behind it
import abc, re
class Taker:
    def __eq__(self, other):
        other["evil"] = 1
        return True
class Any(abc.ABC):
    __match_args__ = ("groupindex",)
Any.register(re.Pattern)
match re.compile("(?P<raw7>x)"):
    case Any(found):
        found == Taker()
trip("changed") if "evil" in re.compile("(?P<raw7>x)").groupindex else None

# hostile: members-of-an-enumeration-by-comparison
# local: no a library's own read-only view leads to the dict behind it
# ends: quietly: the view is one of a copy
import re
class Taker:
    def __eq__(self, other):
        other["evil"] = 1
        return True
re.RegexFlag.__members__ == Taker()
trip("changed") if "evil" in re.RegexFlag.__members__ else None

# hostile: members-of-an-enumeration-by-the-property
# local: no a library's own read-only view leads to the dict behind it
import re
class Taker:
    def __eq__(self, other):
        other["evil"] = 1
        return True
type(re.RegexFlag).__members__.fget(re.RegexFlag) == Taker()
trip("changed") if "evil" in re.RegexFlag.__members__ else None

# hostile: metadata-of-every-field-of-dataclasses
# local: no a library's own read-only view leads to the dict behind it
# ends: quietly: the view is one of a copy
import dataclasses
class Taker:
    def __eq__(self, other):
        other["evil"] = 1
        return True
dataclasses.field().metadata == Taker()
trip("changed") if "evil" in dataclasses.field().metadata else None

# hostile: fields-of-a-type-of-numpys-become-references
# local: no a library's own read-only view leads to the dict behind it
# imports: numpy
# ends: quietly: the view is one of a copy
import numpy as np
class Taker:
    def __eq__(self, other):
        other["a"] = (np.dtype("O"), 0)
        return True
kind = np.dtype([("a", "i8")])
kind.fields == Taker()
trip("an integer is taken for an address") if np.zeros(1, kind)["a"].dtype == object else None

# hostile: fields-of-a-type-of-numpys-by-getattribute
# local: no a library's own read-only view leads to the dict behind it
# imports: numpy
# ends: quietly: the view is one of a copy
import numpy as np
class Taker:
    def __eq__(self, other):
        other["a"] = (np.dtype("O"), 0)
        return True
kind = np.dtype([("a", "i8")])
object.__getattribute__(kind, "fields") == Taker()
trip("an integer is taken for an address") if np.zeros(1, kind)["a"].dtype == object else None
