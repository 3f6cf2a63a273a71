"""Values both ways, pictures and displays out."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import enum
import pickle
import uuid
import warnings

import numpy as np
import pandas as pd
import PIL.Image
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from smolagents.serialization import SafeSerializer
from smolagents.utils import AgentError

from smolagents_fork import codec
from smolagents_fork.errors import CodecError, EncodeError
from smolagents_fork.executors.docker.options import DockerOptions


class Colour(enum.Enum):
    RED = "red"


SCALARS = [
    *(np.dtype(code).type(3) for code in "bBhHiIlLefdFD"),
    np.bool_(True),
    np.str_("text"),
    np.bytes_(b"raw"),
    np.datetime64("2026-01-02T03:04:05"),
    np.timedelta64(90, "s"),
    np.float64("inf"),
    np.int64(-(2**63)),
    np.uint64(2**64 - 1),
]


def test_every_numpy_scalar_keeps_its_type(science):
    science.send_variables({"scalars": SCALARS})
    assert science("[type(s).__name__ for s in scalars]").output == [
        type(scalar).__name__ for scalar in SCALARS
    ]
    back = science("scalars").output
    assert [(type(a), a) for a in back] == [(type(a), a) for a in SCALARS]
    assert science("scalars[0]").output == SCALARS[0]


def test_tables_moments_and_the_rest_nested_in_one_another(science):
    frame = pd.DataFrame(
        {
            "n": [1, None],
            "text": ["a", None],
            "when": pd.to_datetime(["2026-01-01", None], utc=True),
            "kind": pd.Categorical(["x", "y"]),
        },
        index=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["k", None]),
    )
    nested = {
        "rows": [(frame, {"series": pd.Series([1, 2], dtype="Int64", name="s")})],
        ("key", 1): {
            "stamps": (pd.Timestamp("2026-03-29 03:30", tz="Europe/Paris"), pd.NaT),
            "ids": {uuid.UUID(int=7), uuid.UUID(int=8)},
            "raw": [bytearray(b"ab"), b"cd", range(2, 20, 3)],
            "array": [np.arange(6).reshape(2, 3), np.bool_(False), np.float32(1.5)],
            "delta": [pd.Timedelta(days=1), datetime.timedelta(seconds=3)],
        },
        "colour": [Colour.RED],
    }
    science.send_variables({"nested": nested})
    back = science("nested").output
    pd.testing.assert_frame_equal(back["rows"][0][0], frame)
    pd.testing.assert_series_equal(back["rows"][0][1]["series"], nested["rows"][0][1]["series"])
    inner, sent = back["key", 1], nested["key", 1]
    assert inner["stamps"][0] == sent["stamps"][0]
    assert inner["stamps"][0].tz is not None
    assert inner["stamps"][1] is pd.NaT
    assert inner["ids"] == sent["ids"]
    assert inner["raw"] == sent["raw"]
    assert [type(value) for value in inner["raw"]] == [bytearray, bytes, range]
    assert (inner["array"][0] == sent["array"][0]).all()
    assert [type(value) for value in inner["array"][1:]] == [np.bool_, np.float32]
    assert inner["delta"] == sent["delta"]
    assert science("nested['colour'][0].name, nested['rows'][0][0]['n'].sum()").output == (
        "RED",
        np.float64(1.0),
    )


def test_enum_of_the_host_keeps_name_and_value(shared):
    shared.send_variables({"colour": Colour.RED})
    assert shared("(colour.name, colour.value)").output == ("RED", "red")


@dataclasses.dataclass
class Box:
    b: object


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ([0, 1, 2, lambda: None], "vars['a'][3]"),
        ([0, 1, 2, Box(object())], "vars['a'][3].b"),
        ({"k": (1, {"deep": iter(())})}, "vars['a']['k'][1]['deep']"),
        ([Box(Box([open]))], "vars['a'][0].b.b[0]"),
    ],
)
def test_what_cannot_travel_names_the_path_and_nothing_is_sent(shared, value, path):
    shared.send_variables({"a": "before"})
    with pytest.raises(EncodeError) as caught:
        shared.send_variables({"b": "other", "a": value})
    assert f"{path}:" in str(caught.value) or f"{path} " in str(caught.value)
    assert f"{path}[" not in str(caught.value)
    assert f"{path}." not in str(caught.value)
    assert shared("a, 'b' in globals() and b").output == ("before", False)


def test_path_in_the_answer_of_the_program(shared):
    shared.send_tools({"final_answer": lambda answer: answer})
    code = (
        "import dataclasses\n"
        "@dataclasses.dataclass\nclass Box:\n    b: object\n"
        "final_answer([0, Box({'k': lambda: 1})])"
    )
    with pytest.raises(AgentError) as caught:
        shared(code)
    assert "[1].b['k']" in str(caught.value)
    assert "final_answer()" in str(caught.value)


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
    with pytest.warns(FutureWarning, match="insecure pickle") as given:
        trusting.send_variables({"counter": __import__("itertools").count(5)})
    with pytest.warns(FutureWarning) as upstreams:
        SafeSerializer.dumps(__import__("itertools").count(5), allow_pickle=True)
    same_opening(given, upstreams)
    assert trusting("next(counter)").output == 5
    with pytest.warns(FutureWarning, match="Deserializing pickle data") as given:
        result = trusting("final_answer(counter)")
    assert next(result.output) == 6
    with pytest.warns(FutureWarning) as upstreams:
        SafeSerializer.loads("pickle:" + base64.b64encode(pickle.dumps(1)).decode(), True)
    same_opening(given, upstreams)


def same_opening(ours, upstreams):
    """The same kind of warning, and word for word the same for its first two sentences."""
    (mine, *_), (theirs, *_) = list(ours), list(upstreams)
    assert mine.category is theirs.category
    assert str(mine.message).split(". ")[:2] == str(theirs.message).split(". ")[:2]


@pytest.mark.parametrize("keywords", [{}, {"allow_pickle": False}])
def test_pickle_is_off_by_default(keywords):
    assert DockerOptions.of("DockerExecutor", (), keywords).allow_pickle is False


def test_unpickling_never_happens_on_the_host_by_itself(shared):
    shared.send_tools({"final_answer": lambda answer: answer})
    pickled = "b'cos\\nsystem\\n(S\"touch /tmp/owned\"\\ntR.'"
    code = f"final_answer({{'__smolagents_fork_pickle__': {pickled}}})"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = shared(code)
    assert set(result.output) == {"__smolagents_fork_pickle__"}


def test_plot_as_last_expression_is_its_picture(science):
    science("import matplotlib.pyplot as plt")
    assert isinstance(science("plt.plot([1, 2])").output, PIL.Image.Image)


def test_picture_as_a_display_and_as_last_expression(science):
    science("from IPython.display import Image, display\nimport io, PIL.Image")
    make = (
        "made = io.BytesIO()\n"
        "PIL.Image.new('RGB', (30, 20), (0, 128, 255)).save(made, '{kind}')\n"
        "shown = Image(data=made.getvalue(), format='{kind}')\n"
    )
    for kind, mime_type in (("png", "image/png"), ("jpeg", "image/jpeg")):
        for last in ("display(shown)", "shown"):
            output = science(make.format(kind=kind) + last).output
            assert isinstance(output, PIL.Image.Image)
            assert output.size == (30, 20)
            assert abs(output.convert("RGB").getpixel((3, 3))[2] - 255) < 5
        science(make.format(kind=kind) + "display(shown)")
        assert science.displays[0].mime_type == mime_type


def test_table_shown_is_html_in_the_displays_and_text_for_the_model(science):
    science(
        "import pandas as pd\nframe = pd.DataFrame({'n': [1, 2]})\nfrom IPython.display import *"
    )
    pd.testing.assert_frame_equal(science("frame").output, pd.DataFrame({"n": [1, 2]}))
    assert science("display(frame)").output == "   n\n0  1\n1  2"
    assert "<table" in science.displays[0].value
    assert science.displays[0].mime_type == "text/html"
    assert set(science.displays[0].forms) == {"text/html", "text/plain"}


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


def test_value_with_a_page_form_is_its_text_for_the_model(shared):
    code = (
        "class Model:\n"
        "    def __repr__(self): return 'Model(a=1)'\n"
        "    def _repr_html_(self): return '<style>' + 'x' * 30_000 + '</style>'\n"
        "class Styled(Model):\n    __repr__ = object.__repr__\n"
    )
    assert shared(code + "Model()").output == "Model(a=1)"
    assert [display.mime_type for display in shared.displays] == ["text/html"]
    assert shared.displays[0].value.startswith("<style>xxx")
    assert shared("display(Model())").output == "Model(a=1)"
    assert shared("Styled()").output.startswith("<__main__.Styled object at 0x")
    assert shared(
        "display({'application/x-chart': {}, 'text/html': '<script>'}, raw=True)"
    ).output == ("<display of application/x-chart, text/html>")


WHAT_EVERY_JUPYTER_HAS = """
import getpass, grp, os, pwd
from tqdm.notebook import tqdm
import ipywidgets, jinja2, nbformat
%matplotlib inline
get_ipython().run_line_magic("time", "1 + 1")
for number in tqdm(range(3)):
    pass
display(ipywidgets.IntSlider())
names = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name
[getpass.getuser(), os.path.expanduser("~"), os.environ["LOGNAME"], *names]
"""


def test_what_every_jupyter_has(make):
    executor = make(additional_authorized_imports=["matplotlib", "tqdm"])
    user = ["sandbox", "/workspace", "sandbox", "sandbox", "sandbox"]
    assert executor(WHAT_EVERY_JUPYTER_HAS).output == user


def test_number_of_a_user_without_an_entry_has_a_name_in_the_environment(make):
    executor = make(user="1234:1234")
    assert executor("import getpass\ngetpass.getuser()").output == "sandbox"
    assert executor("import os\nos.path.expanduser('~')").output == "/workspace"


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
@settings(max_examples=40, deadline=None)
def test_any_value_survives_the_round_trip(shared, value):
    shared.send_variables({"value": value})
    assert shared("value").output == value


@given(data=st.binary(max_size=200))
@settings(max_examples=40, deadline=None)
def test_hostile_bytes_as_a_result_are_a_note(shared, data):
    shared.send_variables({"data": data})
    result = shared("__smolagents_fork__.publish({'kind': 'value'}, [data])")
    assert result.is_final_answer is False
    try:
        expected = codec.decode(data)
    except CodecError:
        assert result.output is None
        assert "the result could not be decoded" in result.logs
    else:
        assert result.output == expected


def test_figures_that_ipython_keeps_open_are_displayed_once(science):
    configure = (
        "from matplotlib_inline.config import InlineBackend\n"
        "import matplotlib.pyplot as plt\nplt.close('all')\n"
        "InlineBackend.instance().close_figures = {}"
    )
    science(configure.format(False))
    science("plt.plot([1, 2]);")
    assert [display.is_figure for display in science.displays] == [True]
    science(configure.format(True))
