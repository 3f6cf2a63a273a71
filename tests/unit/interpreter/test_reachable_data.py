"""Nothing that opens files, loads code or lays arrays over memory is reachable in numpy and pandas.

The walk of ``test_reachable`` over the views a program gets when they are authorised.
"""

from __future__ import annotations

import types
from typing import Any

import pytest
import test_reachable
from test_reachable import started, walk

pytest.importorskip("pandas")

#: What a program must not hold beside what test_reachable forbids: it opens, maps or fetches.
OPENERS = frozenset(
    {
        *("io", "_io", "tempfile", "zipfile", "gzip", "bz2", "lzma", "mmap", "urllib", "http"),
        *("sqlite3", "runpy", "threading", "jinja2", "fsspec", "pyarrow"),
    }
)
#: Modules of the libraries themselves whose functions open what they are told to.
FILE_MODULES = (
    "pandas.io.clipboard",
    "pandas.io.common",
    "pandas.io.excel",
    "pandas.io.html",
    "pandas.io.json",
    "pandas.io.parquet",
    "pandas.io.parsers",
    "pandas.io.pickle",
    "pandas.io.pytables",
    "pandas.io.sql",
    "pandas.io.xml",
    "numpy.lib._datasource",
    "numpy.lib._npyio_impl",
    "numpy.lib.npyio",
    "numpy.lib._stride_tricks_impl",
    "numpy.lib.stride_tricks",
)
#: Of these modules, what computes and opens nothing.
HARMLESS = frozenset({"broadcast_to", "broadcast_arrays", "broadcast_shapes", "json_normalize"})


def verdict(interpreter: Any, value: Any, namespaces: dict[int, str]) -> str | None:
    reason = ORIGINAL(interpreter, value, namespaces)
    if reason is not None:
        return reason
    owner = getattr(value, "__module__", None)
    if not isinstance(owner, str) or not isinstance(
        value, (type, types.FunctionType, types.BuiltinFunctionType)
    ):
        return None
    if isinstance(value, types.FunctionType):
        owner = value.__globals__["__name__"]  # a guard around it bears its name
    if owner.split(".")[0] in OPENERS and not issubclass_of_exception(value):
        return f"a member of {owner}"
    if owner.startswith(FILE_MODULES) and isinstance(value, types.FunctionType):
        name = value.__name__
        return None if name.startswith("_") or name in HARMLESS else f"{owner}.{name}"
    return None


def issubclass_of_exception(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


ORIGINAL = test_reachable.verdict


@pytest.mark.parametrize("module", ["numpy", "numpy.random", "numpy.ma", "pandas", "pandas.api"])
def test_nothing_that_opens_files_is_reachable(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test_reachable, "verdict", verdict)
    found, seen = walk(started(module.split(".")[0]), [module], most=40_000)
    assert found == []
    assert seen > 1000


OBJECTS = """
import io
import numpy as np
import pandas as pd

class Own(pd.DataFrame): pass
class Array(np.ndarray): pass

frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
series = pd.Series([1, 2], index=pd.date_range("2024-01-01", periods=2))
archive = io.BytesIO()
np.savez(archive, a=np.zeros(1))
archive.seek(0)
[
    frame, series, Own({"a": [1]}), frame.groupby("b"), frame.groupby("b")["a"], frame.rolling(2),
    series.resample("D"), series.ewm(span=2), series.expanding(), frame.style, frame.index,
    frame.b.str, series.dt if hasattr(series, "dt") else 0, series.index, frame.iloc, frame.at,
    pd.MultiIndex.from_tuples([(1, 2)]), pd.Categorical(["a"]), pd.Timestamp(0), pd.NaT,
    pd.Timedelta(1), pd.Period("2024"), pd.Interval(0, 1), pd.DateOffset(months=1),
    pd.option_context("display.precision", 2), pd.Grouper(freq="D"), next(frame.itertuples()),
    np.zeros(2), np.zeros(1).view(Array), np.array([None]), np.zeros(1, [("a", "f8")]),
    np.float64(1), np.datetime64("2024"), np.dtype("f8"), np.random.default_rng(1),
    np.random.default_rng(1).bit_generator, np.random.RandomState(1), np.nditer(np.zeros(2)),
    np.poly1d([1, 2]), np.polynomial.Polynomial([1]), np.ma.array([1], mask=[0]),
    np.vectorize(abs), np.frompyfunc(abs, 1, 1), np.errstate(), np.finfo("f8"), np.zeros(2).flat,
    np.zeros(2).flags, np.load(archive), np.linalg.eig(np.eye(2)), np.add, np.mgrid,
    np.zeros(1).data,
]
"""


def test_nothing_that_opens_files_is_reachable_from_their_objects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(test_reachable, "verdict", verdict)
    interpreter = started("numpy", "pandas")
    interpreter.modules.import_("math", True).__dict__["planted"] = interpreter.run(OBJECTS).output
    found, seen = walk(interpreter, ["math"], most=40_000)
    assert found == []
    assert seen > 1000


@pytest.mark.parametrize(
    ("module", "member"),
    [("numpy.lib.npyio", "DataSource"), ("pandas", "read_csv"), ("pandas", "read_pickle")],
)
def test_the_walk_finds_a_member_that_is_handed_out_as_it_is(
    module: str, member: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test of the test."""
    import importlib

    monkeypatch.setattr(test_reachable, "verdict", verdict)
    interpreter = started("math")
    raw = getattr(importlib.import_module(module), member)
    interpreter.modules.import_("math", True).__dict__["planted"] = (
        raw if isinstance(raw, types.FunctionType) else raw.open
    )
    found, _seen = walk(interpreter, ["math"], most=2000)
    assert [line for line in found if line.startswith("math.planted")]
