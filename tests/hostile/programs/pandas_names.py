# hostile: names-apply-to-pickle
# local: no authorising numpy or pandas authorises what they do
# outside: a file
# imports: pandas
import pandas as pd
pd.Series([1]).apply("to_pickle", args=("/tmp/hostile-canary.pkl",))
trip("a file was written")
# hostile: names-frame-apply
# local: no authorising numpy or pandas authorises what they do
# imports: pandas
import pandas as pd
pd.DataFrame({"a": [1]}).apply("pipe", args=(lambda f: trip("a method was called by name"),))
# hostile: names-agg
# local: no authorising numpy or pandas authorises what they do
# imports: pandas
import pandas as pd
pd.Series([1]).agg("pipe", 0, lambda f: trip("a method was called by name"))
# hostile: names-aggregate-by-keyword
# local: no authorising numpy or pandas authorises what they do
# imports: pandas
import pandas as pd
try:
    pd.DataFrame({"a": [1], "b": [2]}).groupby("a").aggregate(func="pipe")
except TypeError as error:
    if "pipe" in str(error):
        trip("a method was called by name")
# hostile: names-in-a-list
# local: no authorising numpy or pandas authorises what they do
# imports: pandas
import pandas as pd
pd.DataFrame({"a": [1]}).agg(["to_csv"])
trip("a method was called by name")
# hostile: names-in-a-dict
# local: no authorising numpy or pandas authorises what they do
# imports: pandas
import pandas as pd
pd.DataFrame({"a": [1]}).agg({"a": "to_csv"})
trip("a method was called by name")
# hostile: names-in-a-dict-of-lists
# local: no authorising numpy or pandas authorises what they do
# imports: pandas
import pandas as pd
pd.DataFrame({"a": [1]}).agg({"a": ["to_csv"]})
trip("a method was called by name")
# hostile: names-named-aggregation
# local: no authorising numpy or pandas authorises what they do
# imports: pandas
import pandas as pd
try:
    pd.DataFrame({"a": [1], "b": [2]}).groupby("a").agg(x=("b", "pipe"))
except TypeError as error:
    if "pipe" in str(error):
        trip("a method was called by name")
# hostile: names-named-agg-object
# local: no authorising numpy or pandas authorises what they do
# imports: pandas
import pandas as pd
try:
    pd.DataFrame({"a": [1], "b": [2]}).groupby("a").agg(x=pd.NamedAgg("b", "pipe"))
except TypeError as error:
    if "pipe" in str(error):
        trip("a method was called by name")
# hostile: names-series-keyword
# local: no authorising numpy or pandas authorises what they do
# imports: pandas
import pandas as pd
pd.Series([1]).agg(x="to_csv")
trip("a method was called by name")
# hostile: names-transform
# local: no authorising numpy or pandas authorises what they do
# imports: pandas
import pandas as pd
try:
    pd.DataFrame({"a": [1]}).transform("pipe")
except (TypeError, ValueError) as error:
    if "missing" in str(error):
        trip("a method was called by name")
    raise
# hostile: names-groupby-apply
# local: no authorising numpy or pandas authorises what they do
# imports: pandas
import pandas as pd
pd.DataFrame({"a": [1], "b": [2]}).groupby("a").apply("plot")
trip("a method was called by name")
# hostile: names-resample
# imports: pandas
import pandas as pd
s = pd.Series([1.0], index=pd.to_datetime(["2024-01-01"]))
s.resample("D").agg("pipe", lambda r: leak(r.obj.__init__.__globals__))
# hostile: names-rolling
# local: no authorising numpy or pandas authorises what they do
# imports: pandas
import pandas as pd
pd.Series([1.0]).rolling(1).agg("pipe", lambda r: trip("a method was called by name"))
# hostile: names-pivot-table
# local: no authorising numpy or pandas authorises what they do
# imports: pandas
import pandas as pd
try:
    pd.DataFrame({"a": ["x"], "b": [1]}).pivot_table(index="a", values="b", aggfunc="pipe")
except TypeError as error:
    if "pipe" in str(error):
        trip("a method was called by name")
# hostile: names-pivot-table-function
# local: no authorising numpy or pandas authorises what they do
# imports: pandas
import pandas as pd
try:
    pd.pivot_table(pd.DataFrame({"a": ["x"], "b": [1]}), index="a", values="b", aggfunc="pipe")
except TypeError as error:
    if "pipe" in str(error):
        trip("a method was called by name")
# hostile: names-text-that-lies
# weak: pandas 3 takes the lie at its word, too, and calls sum
# imports: pandas
import pandas as pd
class Name(str):
    def __eq__(self, other):
        return other == "sum" or str.__eq__(self, other)
    def __hash__(self):
        return hash("sum")
pd.Series([1]).apply(Name("pipe"), args=(lambda f: trip("a method was called by name"),))
# hostile: names-dict-that-changes
# local: no authorising numpy or pandas authorises what they do
# imports: pandas
import pandas as pd
class Names(dict):
    asked = 0
    def __getitem__(self, key):
        return "to_csv"
    def items(self):
        return [("a", "to_csv")]
    def values(self):
        return ["sum"]
pd.DataFrame({"a": [1]}).agg(Names(a="sum"))
trip("a method was called by name")
# hostile: names-callable-that-is-a-list
# local: no authorising numpy or pandas authorises what they do
# imports: pandas
import pandas as pd
class Both:
    def __call__(self, *a):
        return 1
    def __iter__(self):
        return iter(["to_csv"])
    def __len__(self):
        return 1
pd.DataFrame({"a": [1]}).agg(Both())
trip("a method was called by name")
# hostile: names-of-an-own-series
# local: no authorising numpy or pandas authorises what they do
# imports: pandas
import pandas as pd
class Own(pd.Series): pass
Own([1]).apply("pipe", args=(lambda f: trip("a method was called by name"),))
# hostile: names-off-the-class
# local: no authorising numpy or pandas authorises what they do
# outside: a file
# imports: pandas
import pandas as pd
pd.Series.apply(pd.Series([1]), "to_pickle", args=("/tmp/hostile-canary.pkl",))
trip("a file was written")
# hostile: names-by-attrgetter
# local: no authorising numpy or pandas authorises what they do
# outside: a file
# imports: pandas
import operator
import pandas as pd
operator.attrgetter("apply")(pd.Series([1]))("to_pickle", args=("/tmp/hostile-canary.pkl",))
trip("a file was written")
# hostile: names-by-methodcaller
# local: no authorising numpy or pandas authorises what they do
# outside: a file
# imports: pandas
import operator
import pandas as pd
operator.methodcaller("apply", "to_pickle", args=("/tmp/hostile-canary.pkl",))(pd.Series([1]))
trip("a file was written")
# hostile: names-by-getattribute
# local: no authorising numpy or pandas authorises what they do
# outside: a file
# imports: pandas
import pandas as pd
object.__getattribute__(pd.Series([1]), "apply")("to_pickle", args=("/tmp/hostile-canary.pkl",))
trip("a file was written")
# hostile: names-by-pattern
# local: no authorising numpy or pandas authorises what they do
# outside: a file
# imports: pandas
import pandas as pd
match pd.Series([1]):
    case object(apply=apply):
        apply("to_pickle", args=("/tmp/hostile-canary.pkl",))
trip("a file was written")
# hostile: names-by-match-args
# local: no authorising numpy or pandas authorises what they do
# outside: a file
# imports: pandas
import pandas as pd
class Meta(type):
    def __instancecheck__(cls, other):
        return True
class Any(metaclass=Meta):
    __match_args__ = ("apply",)
match pd.Series([1]):
    case Any(apply):
        apply("to_pickle", args=("/tmp/hostile-canary.pkl",))
trip("a file was written")
# hostile: names-query-with-escaped-quotes
# local: no authorising numpy or pandas authorises what they do
# outside: a file
# imports: pandas
import pandas as pd
try:
    pd.DataFrame({"a": ["x"], "b": [1]}).query(r"a == '\'' or b.to_csv('/tmp/hostile-canary.csv') == '\''")
finally:
    import pandas
    if pandas.read_csv("/tmp/hostile-canary.csv") is not None:
        trip("a file was written")
# hostile: names-query-of-an-own-frame
# imports: pandas
import pandas as pd
class Frame(pd.DataFrame): pass
Frame({"a": [1]}).query("@leak(@search.__globals__) == 'x'")
# hostile: names-style-format
# imports: pandas
import pandas as pd
print(pd.DataFrame({"a": [lookup]}).style.format("{0._key}").to_html())
# hostile: names-style-template
# local: no authorising numpy or pandas authorises what they do
# imports: pandas
import pandas as pd
pd.DataFrame({"a": [1]}).style.from_custom_template("/tmp")
trip("the template loader of the host")
# hostile: names-plotting-backend
# imports: pandas
# weak: there is no such module
import pandas as pd
pd.set_option("plotting.backend", "hostile_canary")
trip("a module was imported by name")
# hostile: names-bmat-of-a-callers-frame
# local: no authorising numpy or pandas authorises what they do
# imports: numpy
import numpy as np
hidden = np.zeros((2, 2))
np.bmat("hidden, hidden")
trip("a frame was read")
