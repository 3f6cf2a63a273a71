"""Bytes from a hostile sandbox give a value or a DecodeError, in bounded time and memory."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import pytest
from background import run_python
from codec_values import CLASSES, SAMPLES, values
from hypothesis import given
from hypothesis import strategies as st

from smolagents_fork import codec
from smolagents_fork.codec import decoder
from smolagents_fork.codec.decoder import TAGS
from smolagents_fork.errors import DecodeError

SEEDS = [codec.encode(v) for n, v in SAMPLES.items() if n != "a million floats"]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.sampled_from(["$", "v", "m", "c", "n", "d", "s", "k", "z", "f", "i", "l"])
                      | st.text(max_size=3), inner, max_size=5),
    max_leaves=10,
)  # fmt: skip


def decode_or_refuse(data: bytes) -> None:
    try:
        value = codec.decode(data, classes=CLASSES)
    except DecodeError:
        return
    repr(value)


@pytest.mark.parametrize("reason", [1 << 20_000, None, ["a"]], ids=["int", "none", "list"])
def test_reason_why_a_variable_is_missing_is_a_text(reason: Any) -> None:
    data = codec.encode({"values": {}, "left_out": {"name": reason}})
    with pytest.raises(DecodeError, match="texts in 'left_out'"):
        codec.decode_variables(data, 1 << 20)


@given(st.binary(max_size=200))
def test_random_bytes(data: bytes) -> None:
    decode_or_refuse(data)


@given(json_values)
def test_random_json(tree: Any) -> None:
    decode_or_refuse(json.dumps(tree).encode())


@given(st.sampled_from(sorted(TAGS)), st.data())
def test_every_tag_with_random_contents(tag: str, data: st.DataObject) -> None:
    keys = sorted(TAGS[tag][0] - {"$"})
    tree = {key: data.draw(json_values, label=key) for key in keys}
    decode_or_refuse(json.dumps({"$": tag, **tree}).encode())


@given(
    st.sampled_from(SEEDS),
    st.lists(
        st.tuples(st.integers(0, 1 << 16), st.integers(0, 3), st.binary(max_size=4)), max_size=4
    ),
)
def test_mutated_encodings(data: bytes, edits: list[tuple[int, int, bytes]]) -> None:
    for position, cut, new in edits:
        at = position % (len(data) + 1)
        data = data[:at] + new + data[at + cut :]
    decode_or_refuse(data)


@given(st.sampled_from(SEEDS), st.data())
def test_encodings_with_one_part_replaced(seed: bytes, data: st.DataObject) -> None:
    tree = json.loads(seed)
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key in node if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], (dict, list)):
                walk(node[key])

    if not isinstance(tree, (dict, list)):
        tree = [tree]
    walk(tree)
    if not places:
        return
    node, key = data.draw(st.sampled_from(places))
    other = data.draw(st.sampled_from(places))
    node[key] = data.draw(json_values) if data.draw(st.booleans()) else _copy(other[0][other[1]])
    decode_or_refuse(json.dumps(tree).encode())


def _copy(tree: Any) -> Any:
    return json.loads(json.dumps(tree))


def tagged(tag: str, **fields: Any) -> bytes:
    return json.dumps({"$": tag, **fields}).encode()


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def image(width: int, height: int, data: bytes, mode: str = "RGB", **changes: Any) -> bytes:
    tree = {"m": mode, "s": [width, height], "p": None, "t": None, "z": True, "v": b64(data)}
    return tagged("image", **{**tree, **changes})


COLLIDING = [{"$": "int", "v": hex(k * ((1 << 61) - 1))} for k in range(60_000)]

NO_NAMES = {"k": "range", "v": [0, 0, 1], "n": None}
NO_CODES = {"$": "ndarray", "d": "<i8", "s": [0], "v": ""}
LISTS = {"$": "ndarray", "d": "O", "s": [1], "v": [[]]}
EMPTY_FRAME = codec.encode(SAMPLES["frame without rows"])
HOSTILE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "not an encoding"),
    "not ascii": ('"é"'.encode(), "not an encoding"),
    "truncated": (codec.encode([1, 2, 3])[:-1], "not an encoding"),
    "trailing": (b"1 2", "not an encoding"),
    "pickle": (b"\x80\x04\x95", "not an encoding"),
    "nan": (b"[NaN]", "NaN is not JSON"),
    "infinity": (b"-Infinity", "-Infinity is not JSON"),
    "long decimal int": (b"1" * 10_000_000, "an int of more than 64 bits in decimal"),
    "hexadecimal int of 8 MB": (tagged("int", v="0x" + "f" * 8_000_000), "not an int"),
    "int with underscores": (tagged("int", v="0x1_0"), "not an int"),
    "duplicate keys": (b'{"a": 1, "a": 2}', "duplicate keys in an object"),
    "duplicate tags": (b'{"$": "int", "$": "tuple", "v": "0x1"}', "duplicate keys"),
    "duplicate pairs": (tagged("dict", v=[[1, 1], [1, 2]]), "duplicate keys or elements"),
    "duplicate elements": (tagged("set", v=[1, True]), "duplicate keys or elements"),
    "unhashable element": (tagged("set", v=[[1]]), "unhashable"),
    "unhashable key": (tagged("dict", v=[[[1], 1]]), "unhashable"),
    "one hash for all": (tagged("set", v=COLLIDING), "more work or memory"),
    "one hash for all keys": (tagged("dict", v=[[k, 0] for k in COLLIDING]), "more work or memory"),
    "unknown tag": (tagged("os.system", v="id"), "unknown tag 'os.system'"),
    "tag is a list": (b'{"$": []}', "unknown tag"),
    "missing key": (b'{"$": "tuple"}', "a tuple has the keys [$], v".replace("[$]", r"\$")),
    "extra key": (tagged("tuple", v=[], w=1), "a tuple has the keys"),
    "object dtype as bytes": (tagged("ndarray", d="|O", s=[1], v=b64(b"x" * 8)), "permitted dtype"),
    "void dtype": (tagged("ndarray", d="|V8", s=[1], v=b64(b"x" * 8)), "permitted dtype"),
    "dtype by expression": (tagged("ndarray", d="i4,O", s=[1], v=b64(b"x" * 12)), "ted dtype"),
    "short array": (tagged("ndarray", d="<f8", s=[2], v="AAAA"), "need 16 bytes, there are 3"),
    "huge array": (tagged("ndarray", d="<f8", s=[1 << 39], v=""), "need 4398046511104 bytes"),
    "huge empty array": (tagged("ndarray", d="<U0", s=[1 << 39], v=""), "elements have no size"),
    "strings from nothing": (tagged("ndarray", d="|S0", s=[9], v=""), "elements have no size"),
    "negative shape": (tagged("ndarray", d="<f8", s=[-1, -1], v=b64(b"x" * 8)), "a shape contains"),
    "many dimensions": (tagged("ndarray", d="|u1", s=[1] * 33, v="AA=="), "at most 32 sizes"),
    "bool that is 2": (tagged("ndarray", d="|b1", s=[1], v=b64(b"\2")), "a bool is 0 or 1"),
    "no character": (tagged("ndarray", d="<U1", s=[1], v=b64(b"\xff" * 4)), "beyond Unicode"),
    "base64 with rubbish": (tagged("bytes", v="QUJ\nD"), "not base64"),
    "wide text": (tagged("ndarray", d="wide", s=[1], v=b64(b"x")), "not a permitted dtype"),
    "fraction by zero": (tagged("Fraction", v=[1, 0]), "not a Fraction"),
    "range by zero": (tagged("range", v=[1, 2, 0]), "must not be zero"),
    "decimal rubbish": (tagged("Decimal", v="1; import os"), "InvalidOperation"),
    "decimal exponent": (tagged("Decimal", v="1E+99999999999999999999"), "InvalidOperation"),
    "zone by path": (
        tagged("datetime", v=[2024, 1, 1, 0, 0, 0, 0, 0, [0, "../../etc/passwd"]]),
        "not the name of a time zone",
    ),
    "field called __class__": (
        tagged("record", m="a", c="B", v={"__class__": 1}),
        "'__class__' is not the name of a field",
    ),
    "fields of another class": (
        tagged("record", m="codec_values", c="Point", v={"z": 1}),
        "unexpected keyword argument 'z'",
    ),
    "private name beside the fields": (
        tagged("derived", v={"$": "namedtuple", "m": "a", "c": "B", "v": {}}, d={"_fields": 1}),
        "a name beside the fields is public",
    ),
    "special name beside the fields": (
        tagged("derived", v={"$": "record", "m": "a", "c": "B", "v": {}}, d={"__class__": 1}),
        "'__class__' is not the name of a field",
    ),
    "enum value that is none": (
        tagged("enum", m="codec_values", c="Colour", n="BLUE", v=9, t=False),
        "9 is not a valid Colour",
    ),
    "factory by name": (tagged("defaultdict", f="eval", v=[]), "KeyError"),
    "picture of a format": (image(1, 1, b"GIF89a" + b"\0" * 20), "incorrect header"),
    "too few pixels": (image(2, 2, zlib.compress(b"x" * 11)), "expected 12 bytes of pixels"),
    "too many pixels": (image(2, 2, zlib.compress(b"x" * 13)), "expected 12 bytes of pixels"),
    "picture bomb": (image(2, 2, zlib.compress(bytes(1 << 24))), "expected 12 bytes of pixels"),
    "pixels in two pieces": (image(2, 2, zlib.compress(b"")), "expected 12 bytes of pixels"),
    "huge picture": (image(60_000, 60_000, b""), "image of 60000 x 60000 pixels"),
    "rows without pixels": (image(0, 1 << 31, b"", z=False), "at most 64000000 pixels"),
    "long rows": (image(1, 60_000_000, b"", z=False), "1000000 a side"),
    "raw image too short": (image(9, 9, b"", "F", z=False), "expected 324 bytes of pixels"),
    "image mode": (image(0, 0, b"", "exec", z=False), "permitted image mode"),
    "image mode that is a list": (image(0, 0, b"", [], z=False), "permitted image mode"),
    "palette of text": (image(1, 1, b"x", "P", z=False, p=["RGB", 5]), "no attachment 5"),
    "palette mode": (image(1, 1, b"x", "P", z=False, p=["L", ""]), "a palette has at most 256"),
    "long palette": (
        image(1, 1, b"x", "P", z=False, p=["RGB", b64(bytes(771))]), "a palette has at most 256"
    ),
    "palette of colours": (image(1, 1, b"xxx", z=False, p=["RGB", ""]), "of mode P or PA"),
    "transparency": (image(1, 1, b"xxx", z=False, t=["x"]), "an image's transparency"),
    "deep": (b"[" * 100_000 + b"]" * 100_000, "nested deeper than 100 levels"),
    "deep objects": (b'{"a":' * 100_000, "nested deeper than 100 levels"),
    "deep tags": (b'{"$":"tuple","v":[' * 150 + b"]}" * 150, "nested deeper than 100 levels"),
    "many empty lists": (b"[" + b"[]," * 6_000_000 + b"[]]", "more than 5000000"),
    "many packed ints": (
        tagged("ints", v="AAAA" * (8 * 6_000_000 // 3)),
        "more than 5000000 items",
    ),
    "period frequency": (
        tagged("Period", v=1, f="__import__('os')"),
        "not a permitted frequency",
    ),
    "column kind": (tagged("column", v={"k": "object", "v": []}), "not a column"),
    "names that cannot be looked up": (
        tagged("Index", v={"k": "index", "n": None, "f": None, "v": {"k": "numpy", "v": LISTS}}),
        "unhashable type: 'list'",
    ),
    "rows from nothing": (
        tagged("DataFrame", v=[], i={"k": "range", "v": [0, 10**9, 1], "n": None}, c=NO_NAMES),
        "more than 5000000 items",
    ),
    "column names from nothing": (
        tagged("DataFrame", v=[], i=NO_NAMES, c={"k": "range", "v": [0, 9, 1], "n": None}),
        "a DataFrame has a name for each column",
    ),
    "categories from nothing": (
        tagged("column", v={"k": "category", "v": NO_CODES, "o": False,
                            "c": {"k": "range", "v": [0, 10**9, 1], "n": None}}),
        "more than 5000000 items",
    ),
    "frame with a long column": (
        EMPTY_FRAME.replace(b'"s":[0],"v":""', b'"s":[1],"v":"AAAAAA=="'),
        "as long as its index",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bytes_are_refused_with_the_reason(name: str) -> None:
    data, message = HOSTILE[name]
    with pytest.raises(DecodeError, match=message):
        codec.decode(data, classes=CLASSES)


def test_many_small_images_count_as_one_large_one() -> None:
    bomb = json.loads(image(4000, 4000, zlib.compress(bytes(3 * 4000 * 4000))))
    assert codec.decode(json.dumps([bomb]))[0].size == (4000, 4000)
    with pytest.raises(DecodeError, match=r"value\[4\]: images of more than 64000000 pixels"):
        codec.decode(json.dumps([bomb] * 100))


def test_commas_inside_text_are_not_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder, "DEFAULT_MAX_ITEMS", 5_000)
    text = 'a,[{"\\' * 100
    assert codec.decode(codec.encode([text], max_items=3)) == [text]
    many = [text * 2_000]  # longer than a block of the count
    assert codec.decode(codec.encode(many)) == many


def test_the_path_in_a_message_is_bounded() -> None:
    with pytest.raises(DecodeError) as caught:
        codec.decode(json.dumps({"k" * 10_000: {"$": "x" * 10_000}}))
    assert len(str(caught.value)) < 300


def test_names_in_the_data_are_not_imported() -> None:
    # In a fresh interpreter, with audit events: decoding opens, imports and executes nothing.
    names = ["antigravity", "this", "os"]
    data = codec.encode([])
    frames = [tagged("record", m=n, c="system", v={"a": 1}).decode() for n in names]
    frames += [tagged("namedtuple", m=n, c="system", v={"a": 1}).decode() for n in names]
    frames += [tagged("enum", m=n, c="system", n="x", v=1, t=True).decode() for n in names]
    program = (
        "import sys\n"
        "from smolagents_fork import codec\n"
        f"codec.decode({data!r})\n"
        "seen = []\n"
        "sys.addaudithook(lambda event, args: seen.append((event, args)) if event in\n"
        "    {'import', 'exec', 'compile', 'open', 'os.system', 'subprocess.Popen'} else None)\n"
        f"for frame in {frames!r}:\n"
        "    print(repr(codec.decode(frame)))\n"
        "assert not seen, seen\n"
    )
    printed = run_python(program).splitlines()
    assert printed == ["system(a=1)"] * 6 + ["<system.x: 1>"] * 3


@given(values)
def test_every_prefix_is_refused(value: Any) -> None:
    data = codec.encode([value])
    for cut in range(0, len(data), 1 + len(data) // 40):
        with pytest.raises(DecodeError):
            codec.decode(data[:cut])
