"""Outputs of a call: their texts, and the figures that an agent reads."""

from __future__ import annotations

import io
from typing import Any

import PIL.Image
import pytest
from contract_declarations import behaviour
from contract_kinds import printed
from scripted_model import Script
from smolagents import CodeAgent

from smolagents_fork.output import PrintContainer

#: Bodies of a ``__str__`` or ``__repr__`` that an agent does not expect.
TEXTS = {
    "raises": "raise ValueError('no text')",
    "raises SystemExit": "raise SystemExit(3)",
    "raises GeneratorExit": "raise GeneratorExit",
    "raises a BaseException": "raise BaseException('no text')",
    "raises itself": "raise type('Own', (BaseException,), {})",
    "is no text": "return 5",
    "is large": "return 'x' * 50_000_000",
    "has no end": "while True: pass",
    "nests": "return repr([self])",
}

_written = io.BytesIO()
PIL.Image.new("RGB", (1, 1)).save(_written, "PNG")
#: An image of one pixel.
PIXEL = _written.getvalue()


def agent_of(executor: Any, *steps: str) -> CodeAgent:
    return CodeAgent(tools=[], model=Script(*steps), verbosity_level=0, executor=executor)


#: Last values and ``str()`` of them, which their copies on the host do not have.
OWN_TEXTS = {
    "an enum": ("from enum import Enum\nclass C(Enum):\n    RED = 1\nC.RED", "C.RED"),
    "a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass Price:\n    cents: int\n"
        "    def __str__(self):\n        return f'{self.cents / 100:.2f} euros'\nPrice(250)",
        "2.50 euros",
    ),
    "a class": ("class Own:\n    def __str__(self):\n        return 'my text'\nOwn()", "my text"),
    "a subclass": ("class T(tuple):\n    def __str__(self):\n        return 'T!'\nT([1])", "T!"),
    "an exception": ("ValueError('bad')", "bad"),
}


@behaviour("Output", "The model reads `str()` of the last value, as computed where the code runs.")
def test_text_of_the_last_value(contract):
    steps = [code for code, _ in OWN_TEXTS.values()]
    agent = CodeAgent(
        tools=[],
        model=Script(*steps, "final_answer('went on')"),
        verbosity_level=0,
        executor=contract.wide,
    )
    agent.run("go")
    for step, (_, text) in zip(agent.memory.steps[1:], OWN_TEXTS.values(), strict=False):
        assert str(step.observations).endswith(f"Last output from code snippet:\n{text}")


@behaviour(
    "Output", "The agent's run continues if the text of the last value raises or never ends."
)
@pytest.mark.parametrize("method", ["__str__", "__repr__"])
@pytest.mark.parametrize("text", TEXTS)
def test_a_last_value_without_a_text(contract, method, text):
    agent = agent_of(
        contract.limited if text == "has no end" else contract.shared,
        f"class Odd:\n    def {method}(self):\n        {TEXTS[text]}\nOdd()",
        "final_answer('went on')",
    )
    assert agent.run("go") == "went on"
    assert len(str(agent.memory.steps[1].observations)) < 100_000


@behaviour("Output", "A number too long for `str()` can be an output and an answer.")
def test_a_number_without_a_text(contract):
    agent = agent_of(contract.shared, "10 ** 5000", "final_answer(10 ** 5000)")
    assert agent.run("go") == 10**5000
    words = "<int whose str() raised ValueError: Exceeds the limit (4300 digits) for integer string"
    assert words in str(agent.memory.steps[1].observations)


#: Values whose text takes far longer to make than they do.
COSTLY = {
    "items": "value = [0] * 800_000",
    "items in items": "value = {1: (2, [list(range(1000)) for _ in range(500)])}",
    "texts": "value = ['x' * 1_000_000] * 5",
    "digits": "value = [10 ** 4000] * 600",
    "bytes": "value = b'x' * 5_000_000",
}


@behaviour("Output", "A value whose text is expensive gets a short form, and is returned complete.")
@pytest.mark.parametrize("name", COSTLY)
def test_a_costly_text_is_short(contract, name):
    steps = (f"{COSTLY[name]}\nvalue", "final_answer(value)")
    agent = agent_of(contract.shared, *steps)
    value = agent.run("go")
    for step in agent.memory.steps[1:3]:
        words = f"Last output from code snippet:\n<{type(value).__name__}, too large for its text: "
        assert words in str(step.observations)
        assert len(str(step.observations)) < 10_000


@behaviour("Output", "The text of an answer calls no tool.")
def test_the_text_of_an_answer_calls_no_tool(contract):
    called: list[str] = []
    executor = contract.shared
    executor.send_tools({"called": called.append, "final_answer": lambda answer: answer})
    code = (
        "class Speaking:\n    def __str__(self):\n        called('spoken')\n"
        "        return 'spoken'\n    __repr__ = __str__\n"
    )
    executor(code)
    if contract.differs:  # the answer is the object itself
        answer = executor("final_answer(Speaking())").output
        text = executor.text_of_output(answer)
        words = "RuntimeError: tools can be called while the code runs; it has ended"
        assert text == f"<Speaking whose str() raised {words}>"
    else:
        with pytest.raises(Exception, match="cannot be encoded"):
            executor("final_answer(Speaking())")
    assert called == []


#: Ways for a program to put something else where an agent reads what was printed and counted.
REPLACING = {
    "assignment": "_print_outputs = {evil}\n_operations_count = {evil}",
    "loop": "for _print_outputs in [{evil}]: pass\nfor _operations_count in [{evil}]: pass",
    "walrus": "[(_print_outputs := {evil}), (_operations_count := {evil})]",
    "import": "import math as _print_outputs\nimport math as _operations_count",
    "function": "def _print_outputs(): pass\ndef _operations_count(): pass",
    "class": "class _print_outputs: pass\nclass _operations_count: pass",
    "deletion": "del _print_outputs\ndel _operations_count",
    "unpacking": "_print_outputs, *_operations_count = [{evil}, {evil}]",
    "with": (
        "class Given:\n    def __enter__(self): return {evil}\n"
        "    def __exit__(self, *_): pass\n"
        "with Given() as _print_outputs, Given() as _operations_count: pass"
    ),
    "match": "match {evil}:\n    case _print_outputs: pass",
    "global": (
        "def replaces():\n    global _print_outputs, _operations_count\n"
        "    _print_outputs = _operations_count = {evil}\nreplaces()"
    ),
    "append": "_print_outputs.append({evil})",
    "append of a number": "_print_outputs.append(5)",
    "addition": "_print_outputs += {evil}",
    "value": "_print_outputs.value = {evil}",
    "count": "_operations_count['counter'] = {evil}",
    "cleared": "_operations_count.clear()",
}
EVIL = (
    "class Evil(str):\n    def __str__(self):\n        raise SystemExit(3)\n"
    "    __repr__ = __len__ = __int__ = __index__ = __add__ = __str__\n"
)


@behaviour(
    "Output",
    "The agent receives the output even if the code changes _print_outputs.",
)
@pytest.mark.parametrize("end", ["", "\n1 / 0"], ids=["ends well", "fails"])
@pytest.mark.parametrize("how", REPLACING)
def test_figures_are_the_executors_own(contract, how, end):
    executor = contract.shared
    executor(EVIL)
    code = "print('printed')\n" + REPLACING[how].replace("{evil}", "Evil('x')")
    ended: list[BaseException] = []
    try:
        executor(code + end)
    except BaseException as error:
        ended.append(error)
    assert all(isinstance(one, Exception) for one in ended)
    assert type(executor.state["_print_outputs"]) in (str, PrintContainer)
    # Where the names are refused before the start, nothing is printed; what is appended is.
    assert printed(executor) in ("printed\n", "printed\nx", "")
    if "_operations_count" in executor.state:
        count = executor.state["_operations_count"]
        assert type(count) is dict
        assert [type(number) for number in count.values()] == [int]
    assert executor("print('next')\n1").logs == "next\n"


@behaviour("Values", "An instance of the code's own subclass of str becomes a plain str.")
def test_a_text_of_an_own_class(contract):
    executor = contract.shared
    code = (
        "class Own(str):\n    def __str__(self):\n        raise SystemExit(3)\n"
        "    __repr__ = __str__\nOwn('text')"
    )
    output = executor(code).output
    if type(output) is not str:
        pytest.fail(f"a {type(output)}")
    assert contract.kind.name == "docker" or output == "text"


@behaviour("State", "Importing pandas in the code does not change the host's pandas.")
def test_pandas_of_the_host_is_unchanged(contract):
    if contract.without_wheels("pandas", "pandas"):
        return
    import pandas as pd

    def names() -> dict[str, Any]:
        return {
            name: (id(value), set(value) if isinstance(value, (set, frozenset)) else None)
            for kind in (pd.DataFrame, pd.Series)
            for name, value in vars(kind).items()
        }

    before = names()
    result = contract.science(
        "import pandas as pd\nframe = pd.DataFrame({'a': [1, 2]})\nint(frame['a'].sum())"
    )
    assert result.output == 3
    assert names() == before


@behaviour(
    "Final answer", "The agent's run continues if the answer's class overrides attribute access."
)
@pytest.mark.parametrize(
    "member",
    [
        "@property\n    def __class__(self): raise SystemExit(3)",
        "def __getattribute__(self, name): raise SystemExit(3)",
    ],
    ids=["class", "attributes"],
)
def test_an_answer_that_answers_for_itself(contract, member):
    code = f"class Odd:\n    {member}\n"
    agent = agent_of(contract.shared, f"{code}Odd()", "final_answer('went on')")
    assert agent.run("go") == "went on"
    agent = agent_of(contract.shared, f"{code}final_answer(Odd())", "final_answer('went on')")
    answer = agent.run("go")
    assert type(answer).__module__ != "__main__"
    assert "Odd" in answer or answer == "went on"


#: Ways to a picture, and how many there are.
FIGURES = {
    "shown": ("import matplotlib.pyplot as plt\nplt.plot([1, 3])\nplt.show()", 1),
    "left open": ("import matplotlib.pyplot as plt\nplt.figure()\nplt.plot([2, 1])\nNone", 1),
    "two": (
        "import matplotlib.pyplot as plt\n"
        "for n in range(2):\n    plt.figure()\n    plt.plot([n, 1])\n    plt.show()",
        2,
    ),
    "another backend": (
        "import matplotlib\nmatplotlib.use('agg')\nimport matplotlib.pyplot as plt\n"
        "plt.figure()\nplt.plot([2, 1])\nNone",
        1,
    ),
    "another backend, shown and last value": (
        "import matplotlib\nmatplotlib.use('agg')\nimport matplotlib.pyplot as plt\n"
        "figure = plt.figure()\nplt.plot([2, 1])\nplt.show()\nfigure",
        1,
    ),
    "saved": (
        "import io\nimport matplotlib.pyplot as plt\nplt.figure()\nplt.plot([2, 1])\n"
        "plt.savefig(io.BytesIO())\nNone",
        1,
    ),
    "Pillow's show": ("from PIL import Image\nImage.new('RGB', (30, 20)).show()", 1),
    "display": ("from PIL import Image\ndisplay(Image.new('RGB', (30, 20)))", 1),
    "value": ("from PIL import Image\nImage.new('RGB', (30, 20))", 1),
}


@behaviour("Output", "Figures and shown images come as PIL images, in `displays`.")
@pytest.mark.parametrize("way", FIGURES)
def test_figures_come_as_images(contract, way):
    if contract.without_wheels("matplotlib", "matplotlib"):
        return
    code, count = FIGURES[way]
    executor = contract.science
    executor(
        "import matplotlib\nimport matplotlib.pyplot as plt\nbackend = matplotlib.get_backend()\n"
        "plt.close('all')"
    )
    executor(code)
    assert [display.is_figure for display in executor.displays] == [True] * count
    assert all(display.value.width >= 30 for display in executor.displays)
    assert executor(f"{code}\nfor _ in ():\n    pass").output is None  # a display is not the value
    executor("1")
    assert executor.displays == ()
    executor("matplotlib.use(backend)")


@behaviour("Output", "A figure that is shown before an error is not lost.")
def test_figures_before_an_error(contract):
    executor = contract.shared
    png = f"class Picture:\n    def _repr_png_(self):\n        return {PIXEL!r}\n"
    with pytest.raises(Exception, match="division by zero"):
        executor(f"{png}display(Picture())\n1 / 0")
    assert [display.value.size for display in executor.displays] == [(1, 1)]


@behaviour("Output", "A display whose forms raise names the error.")
def test_display_that_cannot_be_read(contract):
    executor = contract.shared
    raising = "\n        raise KeyError('broken')\n"
    result = executor(
        f"class Silent:\n    def __repr__(self):{raising}"
        f"class Half:\n    def _repr_html_(self):{raising}"
        "    def __repr__(self):\n        return 'half'\n"
        "display(Silent(), Half())\n3"
    )
    shown = [display.value for display in executor.displays]
    assert shown == ["<Silent whose repr() raised KeyError>", "half"]
    assert (result.output, result.logs) == (3, "")
    if contract.kind.name != "local":  # whose value is the object
        nameless = "class Hint:\n    def _repr_markdown_(self):\n        return '*x*'\nHint()"
        assert executor(nameless).output == "*x*"
        assert [display.value for display in executor.displays] == ["*x*"]


@behaviour("Output", "A displayed object comes in its forms, such as a DataFrame's HTML.")
def test_shown_tables_come_as_html(contract):
    bundle = "{'text/html': '<b>1</b>', 'text/plain': 'one', 'other/form': b'2'}"
    contract.shared(
        f"class Own:\n    def _repr_mimebundle_(self, **options):\n        return {bundle}\n"
        "    def _repr_html_(self):\n        return 'other'\ndisplay(Own())"
    )
    (display,) = contract.shared.displays
    assert (display.value, display.forms["text/plain"]) == ("<b>1</b>", "one")
    if contract.kind.name != "local":  # whose value is the object
        assert contract.shared("Own()").output == "one"
    if contract.without_wheels("pandas", "pandas"):
        return
    executor = contract.science
    executor("import pandas as pd\ndisplay(pd.DataFrame({'lamp': [4711]}))")
    (display,) = executor.displays
    assert display.mime_type == "text/html"
    assert "<td>4711</td>" in display.value
    assert "4711" in display.forms["text/plain"]


@behaviour("Output", "A displayed JPEG, GIF or WebP is opened where the code runs.")
@pytest.mark.parametrize("form", ["JPEG", "GIF", "WEBP"])
def test_other_bitmaps_come_as_images(contract, form):
    if contract.without_wheels("PIL", "pillow"):
        return
    executor = contract.science
    executor(
        "import io\nfrom PIL import Image\ntarget = io.BytesIO()\n"
        f"Image.new('RGB', (30, 20), (250, 0, 0)).save(target, '{form}', "
        f"{'progressive=True' if form == 'JPEG' else ''})\n"
        "class Picture:\n    def _repr_jpeg_(self):\n        return target.getvalue()\n"
        "display(Picture())"
    )
    (display,) = executor.displays
    assert (display.is_figure, display.value.size) == (True, (30, 20))
    assert display.value.convert("RGB").getpixel((9, 9))[0] > 240
    # Made from pixels: no metadata of the program's, and no file that could be read later.
    assert not hasattr(display.value, "fp") or display.value.fp is None


@behaviour(
    "Output",
    "An image that declares an enormous size is not decompressed; a call returns at most 100 "
    "displays, and the logs count the others.",
)
def test_displays_are_bounded(contract):
    executor = contract.shared
    bomb = PIXEL[:16] + (60_000).to_bytes(4, "big") * 2 + PIXEL[24:]
    executor(
        f"class Bomb:\n    def _repr_png_(self):\n        return {bomb!r}\n"
        "    def __repr__(self):\n        return 'bomb'\ndisplay(Bomb())"
    )
    assert [display.value for display in executor.displays] == ["bomb"]
    result = executor("for number in range(103): display(number)")
    assert len(executor.displays) == 100
    assert "[3 displays dropped" in result.logs
