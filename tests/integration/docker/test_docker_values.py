"""Values both ways, pictures and displays out."""

from __future__ import annotations

import base64
import pickle
import warnings

import PIL.Image
import pytest
from smolagents.serialization import SafeSerializer
from smolagents.utils import AgentError

from smolagents_fork.errors import EncodeError


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


def test_unpickling_never_happens_on_the_host_by_itself(shared):
    shared.send_tools({"final_answer": lambda answer: answer})
    pickled = "b'cos\\nsystem\\n(S\"touch /tmp/owned\"\\ntR.'"
    code = f"final_answer({{'__smolagents_fork_pickle__': {pickled}}})"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = shared(code)
    assert set(result.output) == {"__smolagents_fork_pickle__"}


def test_picture_as_a_display_and_as_last_expression(science):
    science("from IPython.display import Image, display\nimport io, PIL.Image")
    make = (
        "made = io.BytesIO()\n"
        "PIL.Image.new('RGB', (30, 20), (0, 128, 255)).save(made, '{kind}')\n"
        "shown = Image(data=made.getvalue(), format='{kind}')\n"
    )
    for kind, mime_type in (("png", "image/png"), ("jpeg", "image/jpeg")):
        pictures = [science(make.format(kind=kind) + "shown").output]
        assert science(make.format(kind=kind) + "display(shown)").output is None
        assert science.displays[0].mime_type == mime_type
        pictures.append(science.displays[0].value)
        for picture in pictures:
            assert isinstance(picture, PIL.Image.Image)
            assert picture.size == (30, 20)
            assert abs(picture.convert("RGB").getpixel((3, 3))[2] - 255) < 5


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
    assert shared("Styled()").output.startswith("<__main__.Styled object at 0x")


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


def test_code_in_any_letters_and_what_is_no_code(shared):
    assert shared("größe = '漢字 😀'\r\ngröße * 2").output == "漢字 😀" * 2
    with pytest.raises(AgentError, match="null bytes"):
        shared("1\0 + 1")
    assert shared("1 + 1").output == 2
