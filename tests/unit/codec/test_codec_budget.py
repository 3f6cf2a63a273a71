"""A message may cost what its length allows, charged before anything is made."""

from __future__ import annotations

import base64
import json
import time
import tracemalloc
import zoneinfo
from collections.abc import Callable
from typing import Any

import numpy
import pandas
import pytest

from smolagents_fork import codec
from smolagents_fork.codec import limits
from smolagents_fork.errors import DecodeError, EncodeError

NO_ROWS = {"k": "range", "v": [0, 0, 1], "n": None}
ONE_ROW = {"k": "range", "v": [0, 1, 1], "n": None}
COSTS_TOO_MUCH = "decoding it takes more work or memory than"


def tree(tag: str, value: Any, **fields: Any) -> dict[str, Any]:
    return {"$": tag, "v": value, **fields}


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def array(values: Any) -> dict[str, Any]:
    values = numpy.asarray(values)
    return tree("ndarray", b64(values.tobytes()), d=values.dtype.str, s=list(values.shape))


def many(node: Any, size: int) -> bytes:
    text = node if isinstance(node, str) else json.dumps(node, separators=(",", ":"))
    return f"[{','.join([text] * (size // (len(text) + 1)))}]".encode()


def table(columns: int) -> bytes:
    column = {"k": "numpy", "v": array([1])}
    names = {"k": "range", "v": [0, columns, 1], "n": None}
    return json.dumps(tree("DataFrame", [column] * columns, i=ONE_ROW, c=names)).encode()


def index_of(levels: int) -> bytes:
    made = {
        "k": "multi",
        "l": [ONE_ROW] * levels,
        "c": [array(numpy.zeros(1, "i1"))] * levels,
        "n": [None] * levels,
    }
    return json.dumps(tree("Index", made)).encode()


DATE = [2020, 1, 1, 0, 0, 0, 0, 0]
EMPTY = array(numpy.zeros(0))
PARTS: dict[str, Any] = {
    "empty lists": "[]",
    "nested lists": "[" * 60 + "1" + "]" * 60,
    "empty dicts": "{}",
    "nested dicts": '{"":' * 60 + "1" + "}" * 60,
    "sets": tree("set", []),
    "tuples": tree("tuple", []),
    "deques": tree("deque", [], n=None),
    "ordered dicts": tree("OrderedDict", []),
    "counters": tree("Counter", []),
    "paths": tree("Path", "a"),
    "fractions": tree("Fraction", [1, 3]),
    "masked arrays": tree("masked", [EMPTY, array(numpy.zeros(0, bool))]),
    "structured arrays": tree("ndarray", [["a", EMPTY]], d="fields", s=[0]),
    "pictures": tree("image", "", m="L", s=[0, 0], p=None, t=None, z=False),
    "tables": tree("DataFrame", [], i=NO_ROWS, c=NO_ROWS),
    "series": tree("Series", {"k": "numpy", "v": EMPTY}, i=NO_ROWS, n=None),
    "indexes": tree("Index", NO_ROWS),
    "indexes with a frequency": tree(
        "Index",
        {"k": "index", "v": {"k": "numpy", "v": array(numpy.zeros(1, "M8[ns]"))}, "n": None,
         "f": "D"},
    ),
    "periods": tree("Period", 1, f="D"),
    "columns of strings": tree("column", {"k": "string", "v": [], "n": "NA"}),
    "columns of categories": tree(
        "column", {"k": "category", "o": False, "v": array(numpy.zeros(0, "i1")), "c": NO_ROWS}
    ),
    "columns with a zone": tree(
        "column", {"k": "zoned", "v": array(numpy.zeros(0, "M8[ns]")), "z": [0, "Europe/Berlin"]}
    ),
    "columns of periods": tree("column", {"k": "period", "v": array(numpy.zeros(0, "i8")),
                                          "f": "D"}),
    "columns of intervals": tree("column", {"k": "interval", "v": [NO_ROWS, NO_ROWS],
                                            "c": "left"}),
    "columns of nullable ints": tree(
        "column", {"k": "Int64", "v": array(numpy.zeros(0, "i8")), "n": array(numpy.zeros(0, "?"))}
    ),
}  # fmt: skip
OTHERS: dict[str, Callable[[], bytes]] = {
    "columns": lambda: table(1_250),
    "index levels": lambda: index_of(2_500),
    "unknown zones": lambda: json.dumps(
        [tree("datetime", [*DATE, [0, f"A/b{number}"]]) for number in range(500)]
    ).encode(),
    "business hours": lambda: json.dumps(
        tree("Index", {"k": "index", "n": None, "f": "bh",
                       "v": {"k": "numpy", "v": array(numpy.arange(5_000).view("M8[s]"))}})
    ).encode(),
    "room for an item": lambda: json.dumps(
        tree("ndarray", "", d="<U99999999", s=[0])
    ).encode(),
}  # fmt: skip


@pytest.fixture
def small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small part of the budget, so that messages can be short."""
    monkeypatch.setattr(limits, "WORK", limits.WORK // 40)
    monkeypatch.setattr(limits, "MEMORY", limits.MEMORY // 30)


@pytest.mark.parametrize("name", [*PARTS, *OTHERS])
def test_costs_are_charged_before_the_parts_are_made(name: str, small_budget: None) -> None:
    data = many(PARTS[name], 375_000) if name in PARTS else OTHERS[name]()
    tracemalloc.start()
    try:
        with pytest.raises(DecodeError, match=COSTS_TOO_MUCH):
            codec.decode(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * (limits.MEMORY + limits.MEMORY_PER_BYTE * len(data))


def test_message_names_length_and_remedy() -> None:
    data = table(30_000)
    with pytest.raises(DecodeError) as caught:
        codec.decode(data)
    assert str(caught.value) == (
        f"value: decoding it takes more work or memory than {len(data)} bytes may cause; send "
        "fewer "
        "and larger parts, such as arrays, text, or a table with fewer columns"
    )


@pytest.mark.parametrize(("dtype", "columns"), [("float", 1_500), ("category", 500)])
def test_tables_that_cannot_be_decoded_are_not_encoded(
    dtype: str, columns: int, small_budget: None
) -> None:
    wide = pandas.DataFrame(numpy.ones((1, columns))).astype(dtype)
    with pytest.raises(EncodeError, match="send fewer and larger parts"):
        codec.encode(wide)
    variables = codec.decode_variables(codec.encode_variables({"wide": wide, "x": 1}, 10**8), 10**8)
    assert variables == {"x": 1}
    assert "a table with fewer columns" in variables.left_out["wide"]


def test_wide_and_long_table_is_not_work_for_nothing(small_budget: None) -> None:
    frame = pandas.DataFrame(numpy.ones((100, 1_500)))
    assert codec.decode(codec.encode(frame)).shape == frame.shape


def test_ordinary_values_are_below_the_budget() -> None:
    rows = [{"name": f"row {number}", "n": number, "x": number / 7} for number in range(100_000)]
    wide = pandas.DataFrame(numpy.ones((20, 5_000)))
    days = pandas.date_range("1900-01-01", periods=20_000, freq="B")
    pairs = {(number, str(number)): number for number in range(50_000)}
    for value in (
        *(rows, [(1.5, 2.5)] * 100_000, ["ab"] * 500_000, "[{\\" * 3_000_000, pairs),
        *({2**number for number in range(1000)}, {1.5 * number for number in range(200_000)}),
    ):
        assert codec.decode(codec.encode(value)) == value
    pandas.testing.assert_frame_equal(codec.decode(codec.encode(wide)), wide)
    pandas.testing.assert_index_equal(codec.decode(codec.encode(days)), days)


def test_an_open_string_of_escapes_is_scanned_once() -> None:
    # Each escaped quote began a scan of the rest: hours for a megabyte of them.
    data = b'["' + b"," * 5_000_001 + b'\\"' * 1_000_000
    with pytest.raises(DecodeError, match="not an encoding"):
        codec.decode(data)


def colliding_ints(count: int) -> numpy.ndarray:
    """Return distinct ints that pandas' hash, ``key >> 33 ^ key ^ key << 11``, makes zero."""
    pivots: dict[int, tuple[int, int]] = {}
    basis = []
    for bit in range(64):
        made = 1 << bit
        value = (made >> 33 ^ made ^ made << 11) & 0xFFFFFFFF
        while value and value.bit_length() in pivots:
            other, origin = pivots[value.bit_length()]
            value, made = value ^ other, made ^ origin
        if value:
            pivots[value.bit_length()] = value, made
        else:
            basis.append(made)
    keys = numpy.zeros(1, "u8")
    while len(keys) < count:
        keys = numpy.concatenate([keys, keys ^ numpy.uint64(basis.pop(0))])
    return numpy.random.default_rng(1).permutation(keys[:count]).view("i8")


@pytest.mark.parametrize("form", ["categories", "level"])
def test_ints_with_one_hash_in_pandas_are_sorted(form: str) -> None:
    # 500,000 of them take a minute and a half in pandas' table of hashes.
    keys = {"k": "index", "v": {"k": "numpy", "v": array(colliding_ints(500_000))}, "n": None,
            "f": None}  # fmt: skip
    codes = array(numpy.zeros(3, "i4"))
    if form == "level":
        made = tree("Index", {"k": "multi", "l": [keys], "c": [codes], "n": [None]})
    else:
        made = tree("column", {"k": "category", "o": False, "v": codes, "c": keys})
    started = time.process_time()
    assert len(codec.decode(json.dumps(made))) == 3
    assert time.process_time() - started < 30


INDEXES = {
    "ints": pandas.Index([3, 1, 2]),
    "floats": pandas.Index([0.5, -1.0]),
    "texts": pandas.Index(["b", "a"]),
    "objects": pandas.Index([1, "a", (2, 3)], dtype=object),
    "moments": pandas.DatetimeIndex(["2020-01-02", "2020-01-01"]),
    "zoned": pandas.DatetimeIndex(
        ["2020-01-02", "2020-01-01"], tz=zoneinfo.ZoneInfo("Europe/Berlin")
    ),
    "periods": pandas.PeriodIndex(["2020-01", "2021-01"], freq="M"),
    "intervals": pandas.IntervalIndex.from_breaks([0, 1, 5, 6]),
    "nullable": pandas.Index([5, 3], dtype="Int64"),
    "bools": pandas.Index([True, False]),
}


@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.parametrize("ordered", [True, False])
def test_categories_and_levels_keep_their_values(name: str, ordered: bool) -> None:
    index = INDEXES[name]
    made = pandas.Series(pandas.Categorical.from_codes([1, -1, 0, 1], index, ordered=ordered))
    back = codec.decode(codec.encode(made))
    pandas.testing.assert_series_equal(back, made)
    assert back.dtype == made.dtype
    assert hash(back.dtype) == hash(made.dtype)
    assert list(back.value_counts().items()) == list(made.value_counts().items())
    levels = pandas.MultiIndex(levels=[index, ["x"]], codes=[[1, -1, 0], [0, 0, -1]])
    pandas.testing.assert_index_equal(codec.decode(codec.encode(levels)), levels)


@pytest.mark.parametrize("name", INDEXES)
def test_equal_categories_and_levels_are_refused(name: str) -> None:
    index = INDEXES[name]
    twice = json.loads(codec.encode(index.append(index)))["v"]
    codes = array(numpy.zeros(2, "i1"))
    for made in (
        tree("column", {"k": "category", "o": False, "v": codes, "c": twice}),
        tree("Index", {"k": "multi", "l": [twice], "c": [codes], "n": [None]}),
    ):
        with pytest.raises(DecodeError, match="duplicate keys or elements"):
            codec.decode(json.dumps(made))


@pytest.mark.parametrize("codes", [[0, 3], [-2, 0]])
def test_codes_without_a_level_are_refused(codes: list[int]) -> None:
    levels = {"k": "range", "v": [0, 3, 1], "n": None}
    for made, words in (
        (
            tree("Index", {"k": "multi", "l": [levels], "c": [array(codes)], "n": [None]}),
            "codes of",
        ),
        (tree("column", {"k": "category", "o": False, "v": array(codes), "c": levels}), "codes "),
    ):
        with pytest.raises(DecodeError, match=words):
            codec.decode(json.dumps(made))


def test_missing_categories_are_refused() -> None:
    empty = json.loads(codec.encode(pandas.Index([1.0, float("nan")])))["v"]
    made = tree("column", {"k": "category", "o": False, "v": array(numpy.zeros(1, "i1")),
                           "c": empty})  # fmt: skip
    with pytest.raises(DecodeError, match="none is missing"):
        codec.decode(json.dumps(made))


def keys_that_meet(bits: int, count: int) -> list[int]:
    """Return ints of different hashes for a dict of ``2 ** bits`` places.

    Half of the places are taken along the cycle x -> 5 x + 1, on which CPython looks for a free
    one; the last ``count`` ints begin at the head of these and pass all of them.
    """
    mask = (1 << bits) - 1
    taken = numpy.empty(1 << bits - 1, dtype="i8")
    place = 1
    for number in range(len(taken)):
        taken[number] = place
        place = 5 * place + 1 & mask
    order = numpy.full(mask + 1, mask)
    order[taken] = numpy.arange(len(taken))
    random = numpy.random.default_rng(1)
    found: list[int] = []
    while len(found) < count:
        keys = random.integers(mask + 1, 1 << 28, 1_000_000)
        places, rest = keys & mask, keys
        pass_on = order[places] < mask
        while rest.any():
            rest = rest >> 5
            places = 5 * places + rest + 1 & mask
            pass_on &= order[places] < mask
        found += keys[pass_on & (order[places] < len(taken) // 4)].tolist()
    return [*taken.tolist(), *dict.fromkeys(found[:count])]


def test_keys_that_meet_in_a_table_are_measured(small_budget: None) -> None:
    # Whole, they take a second.
    pairs = [[key, 0] for key in keys_that_meet(17, 12_500)]
    with pytest.raises(DecodeError, match=COSTS_TOO_MUCH):
        codec.decode(json.dumps(tree("dict", pairs)))


def test_long_tuples_with_one_hash_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    # hash(-1) is hash(-2), and to compare two of these tuples reads all their items.
    alike = [
        tree("tuple", [0] * 2000 + [-1 - (number >> bit & 1) for bit in range(10)])
        for number in range(1024)
    ]
    monkeypatch.setattr(limits, "WORK_PER_BYTE", 0)
    with pytest.raises(DecodeError, match=COSTS_TOO_MUCH):
        codec.decode(json.dumps(tree("set", alike)))
