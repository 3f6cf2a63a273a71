"""Values both ways, pictures and displays out."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import pathlib
import time
import uuid
import warnings

import numpy as np
import pandas as pd
import PIL.Image
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from smolagents.utils import AgentError

from smolagents_fork.errors import EncodeError

ROUND_TRIPS = [
    None,
    True,
    -(10**30),
    1.5,
    float("inf"),
    "text \U0001f600 \x00",
    b"\x00\xff",
    bytearray(b"abc"),
    3 + 4j,
    [1, [2, [3]]],
    (1, "a", None),
    {1, 2},
    frozenset("ab"),
    range(3, 30, 4),
    {"a": {(1, 2): [3]}, 5: None},
    datetime.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=datetime.timezone.utc),
    datetime.date(2026, 1, 2),
    datetime.time(3, 4),
    datetime.timedelta(days=-1, microseconds=7),
    decimal.Decimal("1.10"),
    fractions.Fraction(1, 3),
    pathlib.PurePosixPath("/a/b"),
    uuid.UUID(int=5),
]


@pytest.mark.parametrize("value", ROUND_TRIPS, ids=lambda value: type(value).__name__)
def test_round_trip(shared, value):
    shared.send_variables({"value": value})
    back = shared("value").output
    assert back == value
    assert type(back) is type(value)
    assert shared("type(value).__name__").output == type(value).__name__


def test_numpy_and_pandas(science):
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    frame = pd.DataFrame({"n": [1, 2], "when": pd.to_datetime(["2026-01-01", "2026-01-02"])})
    series = pd.Series([1.5, None], name="s", index=["a", "b"])
    science.send_variables(
        {
            "array": array,
            "frame": frame,
            "series": series,
            "stamp": pd.Timestamp("2026-01-01", tz="UTC"),
        }
    )
    back = science("array * 2").output
    assert back.dtype == np.float32
    assert (back == array * 2).all()
    pd.testing.assert_frame_equal(science("frame").output, frame)
    pd.testing.assert_series_equal(science("series").output, series)
    assert science("stamp").output == pd.Timestamp("2026-01-01", tz="UTC")
    assert science("array.sum()").output == np.float32(array.sum())
    assert science("bool(array.any()), array.any()").output == (True, np.True_)


def test_million_floats_both_ways_quickly(science):
    array = np.random.default_rng(1).random(1_000_000)
    science.send_variables({"warm": array[:10]})
    started = time.monotonic()
    science.send_variables({"array": array})
    back = science("array").output
    assert (back == array).all()
    assert time.monotonic() - started < 10


def test_picture_both_ways(science):
    picture = PIL.Image.new("RGB", (20, 10), (255, 0, 0))
    science.send_variables({"picture": picture})
    back = science("picture.rotate(90, expand=True)").output
    assert isinstance(back, PIL.Image.Image)
    assert back.size == (10, 20)
    assert back.getpixel((5, 5)) == (255, 0, 0)


class Colour(enum.Enum):
    RED = "red"


def test_enum_of_the_host_keeps_name_and_value(shared):
    shared.send_variables({"colour": Colour.RED})
    assert shared("(colour.name, colour.value)").output == ("RED", "red")


def test_what_cannot_travel_names_the_path(shared):
    with pytest.raises(EncodeError, match=r"vars\['a'\]\[3\]"):
        shared.send_variables({"a": [0, 1, 2, lambda: None]})


def test_no_pickle_unless_asked_for(shared, make):
    class Local:
        pass

    with pytest.raises(EncodeError):
        shared.send_variables({"thing": Local()})
    shared.send_tools({"final_answer": lambda answer: answer})
    with pytest.raises(AgentError, match=r"argument .* of final_answer\(\)"):
        shared("final_answer(lambda: 1)")
    trusting = make(allow_pickle=True)
    trusting.send_tools({"final_answer": lambda answer: answer})
    with pytest.warns(FutureWarning, match="insecure pickle"):
        trusting.send_variables({"counter": __import__("itertools").count(5)})
    assert trusting("next(counter)").output == 5
    with pytest.warns(FutureWarning, match="Deserializing pickle data"):
        result = trusting("final_answer(counter)")
    assert next(result.output) == 6


def test_unpickling_never_happens_on_the_host_by_itself(shared):
    shared.send_tools({"final_answer": lambda answer: answer})
    pickled = "b'cos\\nsystem\\n(S\"touch /tmp/owned\"\\ntR.'"
    code = f"final_answer({{'__smolagents_fork_pickle__': {pickled}}})"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = shared(code)
    assert set(result.output) == {"__smolagents_fork_pickle__"}


def test_object_without_encoding_comes_as_text(shared):
    output = shared("import re\nre.compile('a+')").output
    assert output == "re.compile(r'a+', re.UNICODE)"


def test_shown_figure_is_a_picture(science):
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.show()"
    output = science(code).output
    assert isinstance(output, PIL.Image.Image)
    assert output.width > 100
    assert len(science.displays) == 1
    assert science.displays[0].mime_type == "image/png"


def test_figure_as_last_expression_is_a_picture(science):
    code = (
        "from matplotlib.figure import Figure\n"
        "figure = Figure()\n"
        "figure.subplots().plot([3, 1, 2])\n"
        "figure"
    )
    assert isinstance(science(code).output, PIL.Image.Image)


def test_plot_as_last_expression_is_its_picture(science):
    science("import matplotlib.pyplot as plt")
    assert isinstance(science("plt.plot([1, 2])").output, PIL.Image.Image)


def test_two_figures_are_two_displays(science):
    code = (
        "import matplotlib.pyplot as plt\n"
        "for n in range(2):\n    plt.figure()\n    plt.plot([n, 1])\n    plt.show()\n'done'"
    )
    assert science(code).output == "done"
    assert [display.mime_type for display in science.displays] == ["image/png"] * 2


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("HTML('<b>bold</b>')", "text/html", "<b>bold</b>"),
        ("SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>')", "image/svg+xml", "<svg"),
        ("JSON({'a': [1]})", "application/json", "{'a': [1]}"),
        ("Markdown('*hi*')", "text/markdown", "*hi*"),
    ],
)
def test_rich_displays_come_in_their_best_form(shared, code, kind, words):
    shared("from IPython.display import HTML, SVG, JSON, Markdown, display")
    assert words in str(shared(code).output)
    shared(f"display({code})")
    assert shared.displays[0].mime_type == kind
    assert words in str(shared.displays[0].value)


def test_picture_bomb_is_not_unpacked(shared):
    # A PNG header that claims 60000 x 60000 pixels.
    code = (
        "import struct, zlib, base64\n"
        "def chunk(kind, data):\n"
        "    return (struct.pack('>I', len(data)) + kind + data\n"
        "            + struct.pack('>I', zlib.crc32(kind + data)))\n"
        "size = struct.pack('>IIBBBBB', 60000, 60000, 8, 2, 0, 0, 0)\n"
        "png = (b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', size)\n"
        "       + chunk(b'IDAT', zlib.compress(b'')) + chunk(b'IEND', b''))\n"
        "from IPython.display import display\n"
        "display({'image/png': base64.b64encode(png).decode(), 'text/plain': 'bomb'}, raw=True)"
    )
    assert shared(code).output == "bomb"


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.datetimes()
    | st.decimals(allow_nan=False),
    lambda children: (
        st.lists(children, max_size=4)
        | st.tuples(children)
        | st.dictionaries(st.text(max_size=5), children, max_size=4)
    ),
    max_leaves=12,
)


@given(value=values)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_value_survives_the_round_trip(shared, value):
    shared.send_variables({"value": value})
    assert shared("value").output == value


@given(data=st.binary(max_size=200))
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_hostile_bytes_as_a_result_are_a_note(shared, data):
    shared.send_variables({"data": data})
    result = shared("__smolagents_fork__.publish({'kind': 'value'}, [data])")
    assert result.is_final_answer is False
