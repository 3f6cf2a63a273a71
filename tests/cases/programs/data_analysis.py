# case: data-groupby-and-aggregate
import pandas as pd
df = pd.DataFrame({"city": ["A", "B", "A", "B"], "sales": [10, 20, 30, 40], "cost": [1.5, 2.5, 3.5, 4.5]})
(df.groupby("city")["sales"].sum().to_dict(), df.groupby("city").agg({"sales": ["sum", "mean"], "cost": "max"}).to_dict(), df.groupby("city").mean(numeric_only=True).to_dict())
# case: data-named-aggregation
import pandas as pd
df = pd.DataFrame({"k": list("abab"), "v": [1, 2, 3, 4]})
df.groupby("k").agg(total=("v", "sum"), best=pd.NamedAgg("v", "max"), spread=("v", lambda s: s.max() - s.min())).to_dict()
# case: data-groupby-transform-and-filter
import pandas as pd
df = pd.DataFrame({"k": list("aabb"), "v": [1.0, 3.0, 10.0, 30.0]})
df["share"] = df["v"] / df.groupby("k")["v"].transform("sum")
(df["share"].round(3).tolist(), df.groupby("k").filter(lambda g: g["v"].sum() > 5)["k"].tolist(), df.groupby("k").apply(lambda g: g["v"].max()).to_dict())
# case: data-apply-by-name-and-by-function
import numpy as np
import pandas as pd
df = pd.DataFrame({"a": [1, 2, 3], "b": [4.0, 5.0, 6.0]})
(df.apply("mean").to_dict(), df.apply(np.sum).to_dict(), df.apply(lambda r: r["a"] * r["b"], axis=1).tolist(), df.agg(["min", "max"]).to_dict(), df["a"].agg("sum"), df["a"].apply(lambda v, k: v * k, k=2).tolist(), df.transform("sqrt").round(3).to_dict())
# case: data-apply-with-arguments-for-the-function
import pandas as pd
df = pd.DataFrame({"a": [1, 2, 3]})
def shifted(row, by, mode="add"):
    return row["a"] + by if mode == "add" else row["a"] - by
(df.apply(shifted, axis=1, by=10, mode="subtract").tolist(), df.apply(shifted, axis="columns", args=(1,)).tolist())
# case: data-merge-and-join
import pandas as pd
left = pd.DataFrame({"id": [1, 2, 3], "name": ["x", "y", "z"]})
right = pd.DataFrame({"id": [2, 3, 4], "price": [20, 30, 40]})
(left.merge(right, on="id", how="left").fillna(0).to_dict("records"), left.merge(right, how="outer", on="id", indicator=True)["_merge"].astype(str).tolist(), left.set_index("id").join(right.set_index("id"), how="inner").reset_index().to_dict("list"))
# case: data-concat-and-append
import pandas as pd
a = pd.DataFrame({"x": [1]})
b = pd.DataFrame({"x": [2], "y": [3]})
(pd.concat([a, b], ignore_index=True).fillna(-1).to_dict("list"), pd.concat([a, b], axis=1).shape, pd.concat({"p": a, "q": b}).index.tolist())
# case: data-pivot-and-melt
import pandas as pd
df = pd.DataFrame({"day": ["mon", "mon", "tue"], "kind": ["a", "b", "a"], "n": [1, 2, 3]})
wide = df.pivot(index="day", columns="kind", values="n")
(wide.fillna(0).to_dict(), df.pivot_table(index="day", values="n", aggfunc="sum").to_dict(), df.pivot_table(index="day", columns="kind", values="n", aggfunc=["mean", "count"], fill_value=0).shape, wide.reset_index().melt(id_vars="day").dropna().shape, pd.crosstab(df["day"], df["kind"]).to_dict(), pd.pivot_table(df, index="kind", values="n", aggfunc={"n": "max"}).to_dict())
# case: data-rolling-and-expanding
import pandas as pd
s = pd.Series([1.0, 2.0, 3.0, 4.0])
(s.rolling(2).mean().dropna().tolist(), s.rolling(2).agg(["sum", "max"]).dropna().to_dict("list"), s.rolling(2).apply(lambda w: w.max() - w.min()).dropna().tolist(), s.expanding().sum().tolist(), s.ewm(span=2).mean().round(3).tolist())
# case: data-resample-and-time-series
import pandas as pd
s = pd.Series(range(6), index=pd.date_range("2024-01-01", periods=6, freq="12h"))
(s.resample("D").sum().tolist(), s.resample("D").agg(["min", "max"]).to_dict("list"), s.shift(1).fillna(0).tolist(), s.between_time("00:00", "06:00").tolist(), s.index.day_name()[:2].tolist())
# case: data-datetimes
import pandas as pd
d = pd.to_datetime(pd.Series(["2024-02-29", "2024-12-31"]))
(d.dt.year.tolist(), d.dt.strftime("%d.%m.%y").tolist(), (d + pd.Timedelta(days=1)).dt.date.astype(str).tolist(), (d[1] - d[0]).days, pd.Timestamp("2024-05-17").day_name(), (d[0] + pd.DateOffset(months=1)).isoformat(), pd.date_range("2024-01-31", periods=2, freq="ME").astype(str).tolist())
# case: data-strings-of-a-column
import pandas as pd
s = pd.Series(["Ann Lee", "Bob Ray", None])
(s.str.upper().fillna("").tolist(), s.str.split(" ", expand=True)[0].fillna("").tolist(), s.str.contains("Lee", na=False).tolist(), s.str.extract(r"(\w+) (\w+)").dropna().values.tolist(), s.str.replace("Bob", "Rob").dropna().tolist(), s.str.len().fillna(0).tolist())
# case: data-read-and-write-text
import io
import pandas as pd
df = pd.read_csv(io.StringIO("a,b\n1,x\n2,y\n"))
buffer = io.StringIO()
df.to_csv(buffer, index=False)
(buffer.getvalue(), df.to_csv(index=False), df.to_json(orient="records"), pd.read_json(io.StringIO(df.to_json())).shape, df.to_dict("records"), df.to_string(), df.to_html(index=False)[:6], pd.read_csv(io.BytesIO(b"q;w\n1;2"), sep=";").columns.tolist())
# case: data-string-io-comes-with-pandas
from io import BytesIO, StringIO
import pandas as pd
(pd.read_csv(StringIO("n\n1\n2"))["n"].sum().item(), pd.read_fwf(StringIO("ab  cd\n1   2")).columns.tolist(), BytesIO(b"x").read())
# case: data-missing-values
import numpy as np
import pandas as pd
df = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [None, "x", "y"]})
(df.isna().sum().to_dict(), df["a"].fillna(df["a"].mean()).tolist(), df.dropna().shape, df["a"].interpolate().tolist(), df.ffill().bfill().to_dict("list"), df["a"].notna().all().item())
# case: data-selecting
import pandas as pd
df = pd.DataFrame({"a": [1, 2, 3], "b": list("xyz")}, index=[10, 20, 30])
(df.loc[20, "b"], df.iloc[0].to_dict(), df[df["a"] > 1]["b"].tolist(), df.query("a > 1 and b != 'z'").to_dict("list"), df.eval("a * 2").tolist(), df.nlargest(1, "a").index.tolist(), df.sort_values("a", ascending=False)["a"].tolist(), df.at[10, "a"].item(), df.loc[df["b"].isin(["x"]), "a"].tolist(), df.sample(2, random_state=1).shape)
# case: data-columns-and-types
import pandas as pd
df = pd.DataFrame({"a": ["1", "2"], "b": [1.5, 2.5]})
df["a"] = df["a"].astype(int)
df = df.rename(columns={"a": "n"}).assign(c=lambda d: d.n * d.b)
df.insert(0, "first", [True, False])
df.columns = [c.upper() for c in df.columns]
(df.dtypes.astype(str).to_dict(), df.to_dict("list"), df.drop(columns=["B"]).shape, pd.to_numeric(pd.Series(["1", "x"]), errors="coerce").fillna(0).tolist(), pd.api.types.is_numeric_dtype(df["N"]), df.memory_usage().shape)
# case: data-counting-and-binning
import pandas as pd
s = pd.Series([1, 1, 2, 5, 9])
(s.value_counts().to_dict(), pd.cut(s, [0, 2, 10], labels=["low", "high"]).astype(str).tolist(), pd.qcut(s, 2, labels=False).tolist(), s.describe().round(2).to_dict(), s.quantile([0.25, 0.75]).tolist(), s.rank().tolist(), s.nunique(), s.mode().tolist(), s.duplicated().sum().item(), pd.get_dummies(pd.Series(list("ab"))).to_dict("list"))
# case: data-rows-by-hand
import pandas as pd
df = pd.DataFrame({"a": [1, 2], "system": ["x", "y"]})
rows = []
for index, row in df.iterrows():
    rows.append((index, int(row["a"]), row.system))
for item in df.itertuples():
    rows.append((item.Index, item.a, item.system))
(rows, df.stack().tolist(), df.T.shape, df.set_index("a").system.to_dict())
# case: data-multiindex
import pandas as pd
index = pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["k", "n"])
s = pd.Series([1, 2, 3, 4], index=index)
(s.loc["a"].tolist(), s.unstack().to_dict(), s.groupby(level="k").sum().to_dict(), s.reset_index(name="v").columns.tolist(), s.xs(1, level="n").tolist(), pd.MultiIndex(levels=[["a"], [1]], codes=[[0], [0]]).tolist())
# case: data-categories
import pandas as pd
c = pd.Categorical(["lo", "hi", "lo"], categories=["lo", "hi"], ordered=True)
(c.codes.tolist(), c.max(), pd.Series(c).value_counts().to_dict(), pd.Categorical.from_codes([0, 1], ["a", "b"]).tolist(), pd.Series(c).cat.categories.tolist())
# case: data-info-is-printed
import pandas as pd
df = pd.DataFrame({"a": [1, 2]})
df.info()
print(df.head(1), df.shape)
# case: data-styled-numbers
import pandas as pd
styled = pd.DataFrame({"a": [1.234]}).style.format("{:.1f}").to_html()
("1.2" in styled, "<td" in styled)
# case: data-options
import pandas as pd
pd.set_option("display.max_columns", None)
with pd.option_context("display.precision", 2):
    print(pd.DataFrame({"a": [1.23456]}))
pd.reset_option("display.max_columns")
# case: data-numpy-broadcasting
import numpy as np
a = np.arange(6).reshape(2, 3)
((a + np.array([10, 20, 30])).tolist(), (a[:, None, :] * 2).shape, np.where(a > 2, a, 0).tolist(), a[a % 2 == 0].tolist(), np.clip(a, 1, 4).tolist(), np.newaxis is None, a.reshape(-1, 2).tolist(), np.stack([a, a]).shape, np.resize(a, (2, 2)).tolist())
# case: data-numpy-linear-algebra
import numpy as np
m = np.array([[2.0, 1.0], [1.0, 3.0]])
(np.linalg.inv(m).round(3).tolist(), np.linalg.solve(m, [3, 5]).round(3).tolist(), np.linalg.eigvalsh(m).round(3).tolist(), np.linalg.norm(m).round(3).item(), (m @ m).tolist(), np.linalg.matrix_rank(m).item(), np.einsum("ij,jk->ik", m, m).tolist(), np.linalg.svd(m)[1].round(3).tolist())
# case: data-numpy-fft-and-polynomials
import numpy as np
(np.fft.fft([1, 0, 0, 0]).real.tolist(), np.fft.fftfreq(4).tolist(), np.polyfit([0, 1, 2], [1, 3, 5], 1).round(6).tolist(), np.roots([1, -3, 2]).tolist(), np.polynomial.Polynomial([1, 2]).deriv().coef.tolist(), np.convolve([1, 2], [1, 1]).tolist(), np.interp(1.5, [1, 2], [10, 20]).item())
# case: data-numpy-random
import numpy as np
rng = np.random.default_rng(7)
np.random.seed(3)
(rng.integers(0, 10, 3).tolist(), rng.normal(size=2).round(4).tolist(), rng.choice(["a", "b"], 2).tolist(), np.random.rand(2).round(4).tolist(), np.random.Generator(np.random.PCG64(5)).random().__round__(4), rng.permutation(3).tolist())
# case: data-numpy-structured
import numpy as np
people = np.array([("Ann", 30), ("Bob", 25)], dtype=[("name", "U10"), ("age", "i4")])
(people["name"].tolist(), people[people["age"] > 26].tolist(), np.sort(people, order="age")["name"].tolist(), people.dtype.names, np.zeros(2, dtype=[("x", "f8")])["x"].tolist())
# case: data-numpy-dates-and-text
import numpy as np
d = np.array(["2024-01-01", "2024-01-03"], dtype="datetime64[D]")
((d[1] - d[0]).astype(int).item(), np.datetime_as_string(d).tolist(), np.char.upper(["a", "b"]).tolist() if False else [s.upper() for s in ["a", "b"]], np.busday_count(d[0], d[1]).item(), np.arange("2024-01", "2024-04", dtype="datetime64[M]").astype(str).tolist())
# case: data-numpy-statistics
import numpy as np
x = np.array([1.0, 2.0, np.nan, 4.0])
(np.nanmean(x).round(3).item(), np.nanpercentile(x, 50).item(), np.histogram([1, 2, 2, 3], bins=2)[0].tolist(), np.corrcoef([1, 2, 3], [2, 4, 7]).round(3).tolist(), np.unique([3, 1, 3], return_counts=True)[1].tolist(), np.cumsum([1, 2, 3]).tolist(), np.argsort([3, 1, 2]).tolist(), np.bincount([0, 1, 1]).tolist())
# case: data-numpy-files-in-memory
import io
import numpy as np
buffer = io.BytesIO()
np.save(buffer, np.arange(3))
buffer.seek(0)
archive = io.BytesIO()
np.savez(archive, a=np.eye(2), b=np.arange(2))
archive.seek(0)
with np.load(archive) as loaded:
    names = sorted(loaded.files)
    total = loaded["a"].sum().item()
(np.load(buffer).tolist(), names, total, np.loadtxt(io.StringIO("1 2\n3 4")).tolist(), np.genfromtxt(io.StringIO("1,2\n3,"), delimiter=",", filling_values=0).tolist(), np.loadtxt(["1,2", "3,4"], delimiter=",").tolist())
# case: data-numpy-memory-in-its-place
import numpy as np
a = np.frombuffer(b"\x01\x02\x03", dtype="u1")
b = np.resize(np.zeros(4), 2)
c = np.ndarray((2,), dtype="u1", buffer=bytearray(b"ab"))
d = np.array([{"k": 1}, None], dtype=object)
(a.tolist(), b.tolist(), c.tolist(), d[0]["k"], type(b)((2,)).shape, d.astype(str).tolist(), memoryview(a).cast("B")[1], np.array([1, 2]).data.nbytes)
# case: data-own-array-class
import numpy as np
class Celsius(np.ndarray):
    def __new__(cls, values):
        return np.asarray(values, dtype=float).view(cls)
    def to_fahrenheit(self):
        return self * 9 / 5 + 32
t = Celsius([0, 100])
(type(t).__name__, t.to_fahrenheit().tolist(), isinstance(t, np.ndarray), t.max().item())
# case: data-own-objects-in-arrays
import numpy as np
import pandas as pd
class Money:
    def __init__(self, cents):
        self.cents = cents
    def __getattr__(self, name):
        if name == "euros":
            return self.cents / 100
        raise AttributeError(name)
    def __array__(self, dtype=None, copy=None):
        return np.array([self.cents], dtype=dtype)
    def __add__(self, other):
        return Money(self.cents + other.cents)
    def __radd__(self, other):
        return self
m = [Money(150), Money(250)]
(np.asarray(m[0]).tolist(), m[0].euros, sum(m).cents, pd.Series(m, dtype=object).map(lambda v: v.euros).tolist(), hasattr(m[0], "dollars"), sorted(vars(m[0])))
# case: data-own-frame-class
import pandas as pd
class Ledger(pd.DataFrame):
    @property
    def _constructor(self):
        return Ledger
    def balance(self):
        return int(self["amount"].sum())
book = Ledger({"amount": [5, -2], "kind": ["in", "out"]})
(book.balance(), type(book[book.amount > 0]).__name__, book.to_csv(index=False), book.apply(lambda s: s.astype(str)).shape, book.groupby("kind").agg("sum").to_dict(), book.query("amount > 0").shape)
# case: data-names-of-data-methods-on-own-classes
class Task:
    def __init__(self):
        self.info = "i"
        self.style = "s"
        self.loader = None
    def apply(self, text):
        return text + "!"
    def transform(self, how, *, plot="p"):
        return how + plot
    def resize(self, refcheck=False):
        return refcheck
    def cast(self, kind):
        return kind
t = Task()
match t:
    case Task(info=found):
        pass
(t.apply("to_csv"), t.transform("pipe"), t.resize(), t.cast("int"), found, getattr(t, "apply")("x"), t.loader)
