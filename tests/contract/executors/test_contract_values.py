"""Values in both directions: as variables, arguments, results and answers."""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import pathlib
import uuid
from typing import Any

import numpy as np
import pandas as pd
import pytest
from contract_declarations import behaviour
from scripted_model import Script
from smolagents import CodeAgent, FinalAnswerTool
from smolagents.agent_types import AgentImage

from smolagents_fork.errors import EncodeError, SandboxDiedError

VALUES: dict[str, Any] = {
    "none, truth, text": [None, True, False, "", "ä\x00\n🙂", "'"],
    "numbers": [0, -1, 2**200, 0.1, float("inf"), -0.0, 1 + 2j],
    "bytes": [b"", b"\x00\xff", bytearray(b"ab")],
    "containers": [[], [[]], (), (1,), {1, 2}, frozenset({3}), {"a": {"b": [1]}}],
    "keys": {1: "a", (2, 3): "b", None: "c", "d": 4},
    "dates": [datetime.date(2024, 2, 29), datetime.datetime(2024, 1, 1, 12, 30, 1, 5)],
    "durations": [datetime.timedelta(days=-1, seconds=5), datetime.time(1, 2)],
    "exact": [decimal.Decimal("1.10"), fractions.Fraction(1, 3)],
    "constants": [..., NotImplemented],
    "others": [uuid.UUID(int=5), range(1, 10, 3), slice(1, None, 2), pathlib.PurePosixPath("/a")],
    "collections": [collections.deque([1, 2]), collections.OrderedDict(a=1)],
    "long floats": [0.5, float("inf"), -0.0, 1e300] * 30_000,
    "long ints": [0, -(1 << 63), (1 << 63) - 1] * 30_000,
    "long text": "ä🙂\x00'" * 100_000,
    "long bytes": bytes(range(256)) * 1000,
    "long bytearray": bytearray(b"ab" * 100_000),
    "several long": {"a": [0.25] * 10_000, "b": ("x" * 100_000, b"y" * 100_000)},
}


@behaviour(
    "Values",
    "Plain values, and long lists, texts and bytes, arrive unchanged, as variables, arguments and "
    "outputs.",
)
@pytest.mark.parametrize("name", VALUES)
def test_values_both_ways(contract, name):
    value = VALUES[name]
    executor = contract.shared
    seen: list[Any] = []
    executor.send_tools({"echo": lambda given: seen.append(given) or given})
    executor.send_variables({"short_one": 1, "value": value, "short_two": 2})
    result = executor("(echo(value), value, short_one + short_two)").output
    assert result[2] == 3
    for back in (seen[0], *result[:2], executor.variables()["value"]):
        assert back == value
        assert type(back) is type(value)
        if isinstance(value, list):
            assert [type(one) for one in back] == [type(one) for one in value]


@behaviour("Values", "Mappings that are not dicts are read like one.")
def test_mappings_of_libraries(contract):
    executor = contract.shared
    executor.send_tools({"headers": lambda **_: collections.UserDict({"Age": "3"})})
    executor.send_variables({"chain": collections.ChainMap({"a": 1}, {"b": 2})})
    code = (
        "import collections\nfound = headers(of=collections.UserDict(x=1))\n"
        "(found['Age'], dict(found), chain['b'], sorted(chain))"
    )
    assert executor(code).output == ("3", {"Age": "3"}, 2, ["a", "b"])


@behaviour("Values", "Arrays keep type, shape and values.")
def test_arrays(contract):
    if contract.without_wheels("numpy", "numpy"):
        return
    executor = contract.science
    executor.send_tools({"turned": lambda array: array[::-1]})
    small = executor(
        "import numpy as np\nturned(np.arange(6, dtype=np.int16).reshape(2, 3))"
    ).output
    assert small.dtype == np.int16
    assert small.tolist() == [[3, 4, 5], [0, 1, 2]]


@behaviour("Values", "Arrays of 50 MB pass through a tool in both directions.")
def test_large_arrays(contract):
    if contract.kind.name == "wasm":
        assert contract.without_wheels("numpy", "numpy")
        return
    executor = contract.science
    sizes = []
    executor.send_tools({"turned": lambda array: sizes.append(array.nbytes) or array[::-1]})
    code = (
        "import numpy as np\nbig = np.arange(50_000_000 // 8)\nback = turned(big)\n"
        "(back.nbytes, int(back[0]))"
    )
    if contract.differs:
        with pytest.raises(SandboxDiedError, match=r"message of 5000\d{4} bytes was sent"):
            executor(code)
    else:
        assert executor(code).output == (50_000_000, 50_000_000 // 8 - 1)
    assert sizes == [50_000_000]


@behaviour("Values", "DataFrames keep columns, index, types and missing values.")
def test_data_frames(contract):
    if contract.without_wheels("pandas", "pandas"):
        return
    executor = contract.science
    frame = pd.DataFrame(
        {"n": [1, 2], "x": [0.5, None], "t": pd.to_datetime(["2024-01-01", "2024-02-01"])},
        index=["a", "b"],
    )
    executor.send_variables({"frame": frame})
    executor.send_tools({"only": lambda table, column: table[[column]]})
    pd.testing.assert_frame_equal(executor("frame").output, frame)
    pd.testing.assert_frame_equal(executor("only(frame, 'x')").output, frame[["x"]])
    assert executor("int(frame['n'].sum())").output == 3


#: Pictures of many modes and files, as code that makes them from ``base``.
PICTURES = {
    "two colours": "base.convert('1')",
    "grey": "base.convert('L')",
    "grey of 16 bits": "PIL.Image.frombytes('I;16', (4, 3), bytes(range(24)))",
    "numbers": "base.convert('F')",
    "alpha": "base.convert('RGBA')",
    "grey with alpha": "base.convert('LA')",
    "print": "base.convert('CMYK')",
    "video": "base.convert('YCbCr')",
    "padded": "base.convert('RGBX')",
    "palette": "base.quantize(5)",
    "palette with alpha": "base.quantize(5).convert('PA')",
    "palette with a transparent colour": "written('PNG', base.quantize(5), transparency=2)",
    "colour that is transparent": "written('PNG', base, transparency=(0, 20, 0))",
    "JPEG file": "written('JPEG', base)",
    "GIF file": "written('GIF', base.quantize(5), save_all=True, append_images=[base])",
    "empty": "PIL.Image.new('RGB', (0, 7))",
}
DRAW = """
import io
import PIL.Image
def written(form, image, **options):
    target = io.BytesIO()
    image.save(target, form, **options)
    return PIL.Image.open(io.BytesIO(target.getvalue()))
base = PIL.Image.frombytes('RGB', (4, 3), bytes(range(0, 180, 5)))
"""


def content_of(image):
    image = image.to_raw() if isinstance(image, AgentImage) else image
    return image.mode, image.size, image.tobytes(), image.convert("RGBA").tobytes()


@behaviour(
    "Images",
    "An image of any mode, also one in its file, keeps size and pixels as variable, argument, "
    "output and final answer.",
)
@pytest.mark.parametrize("which", PICTURES)
def test_images_of_every_mode(contract, which):
    if contract.without_wheels("PIL", "pillow"):
        return
    executor = contract.science
    names: dict = {}
    exec(DRAW + f"picture = {PICTURES[which]}", names)
    executor.send_variables({"sent": names["picture"]})
    executor.send_variables({"wrapped": [AgentImage(names["picture"])]})
    executor.send_tools({"again": lambda image: image, "final_answer": FinalAnswerTool()})
    wanted = content_of(names["picture"])
    made = f"{DRAW}{PICTURES[which]}"
    for code in ("sent", "again(sent)", "again(wrapped)[0]", made, "final_answer(sent)"):
        assert content_of(executor(code).output) == wanted


FIGURE = """
import matplotlib
from matplotlib import pyplot
figure = pyplot.figure(figsize=(2, 1), dpi=50, facecolor=(1, 0, 0))
"""


@behaviour("Images", "A figure that the code draws into an image is an output.")
def test_figure_drawn_into_image(contract):
    if contract.without_wheels("matplotlib", "matplotlib"):
        return
    code = (
        "import numpy\nimport PIL.Image\nfigure.canvas.draw()\n"
        "drawn = PIL.Image.fromarray(numpy.asarray(figure.canvas.buffer_rgba()))\n"
        "pyplot.close()\ndrawn"
    )
    image = contract.science(FIGURE + code).output
    assert (image.size, image.getpixel((5, 5))) == ((100, 50), (255, 0, 0, 255))


@behaviour("Images", "A figure as the value of a call, or as the final answer, is its picture.")
def test_figure_as_value(contract):
    if contract.kind.name == "wasm" and contract.without_wheels("matplotlib", "matplotlib"):
        return
    executor = contract.science
    executor.send_tools({"final_answer": FinalAnswerTool()})
    for code, is_answer in (("figure", False), ("final_answer(figure)", True)):
        result = executor(FIGURE + code)
        assert result.is_final_answer is is_answer
        if contract.differs:
            assert str(result.output) == "Figure(100x50)"
        else:
            assert result.output.convert("RGB").getpixel((5, 5)) == (255, 0, 0)


@behaviour(
    "Values",
    "An argument, a result, an answer or a variable that cannot be encoded is an error that names "
    "it and its tool.",
)
def test_values_that_cannot_travel(contract):
    executor = contract.shared
    tools = {
        "take": lambda first, second=None: callable(first) or callable(second),
        "give": lambda: (number for number in [1]),
        "final_answer": FinalAnswerTool(),
    }
    executor.send_tools(tools)
    if contract.differs:
        executor.send_variables({"odd": {"deep": [len]}})
        code = "(take(lambda: 1), list(give()), odd['deep'][0]([1, 2]))"
        assert executor(code).output == (True, [1], 2)
        assert executor("final_answer(lambda: 1)").output() == 1
        return
    for code, words in (
        ("take(lambda: 1)", r"argument 'first' of take\(\): .*cannot be encoded"),
        ("take(1, {'a': [1, lambda: 1]})", r"argument 'second' of take\(\)\['a'\]\[1\]: "),
        ("give()", r"result of give\(\): .*generator cannot be encoded"),
        ("final_answer(lambda: 1)", r"'answer' of final_answer\(\): .*cannot be encoded"),
    ):
        with pytest.raises(Exception, match=words):
            executor(code)
    agent = CodeAgent([], Script("final_answer(2)"), executor=executor, verbosity_level=0)
    for arguments in ({"odd": {"deep": [open]}}, {}):  # the agent keeps them
        words = (
            r"\['odd'\].*cannot be encoded[^\n]*\n.*: `del agent\.state\[NAME\]` removes a value"
        )
        with pytest.raises(EncodeError, match=words):
            agent.run("go", additional_args=arguments)
    del agent.state["odd"]
    assert agent.run("go") == 2


@behaviour("Values", "A last value that cannot be encoded becomes its `repr()`.")
def test_outputs_that_cannot_travel(contract):
    output = contract.shared("[len, {'of': int}] * 9").output
    value = [len, {"of": int}] * 9
    assert output == (value if contract.differs else repr(value))


@behaviour("Values", "A tool gets a copy: the code does not see its changes.")
def test_tools_get_copies(contract):
    executor = contract.shared
    executor.send_tools({"grow": lambda items: items.append(1)})
    executor("items = []\ngrow(items)")
    assert executor("items").output == ([1] if contract.differs else [])


@behaviour("Values", "Time zones keep their names.")
def test_time_zones(contract):
    code = (
        "import datetime, zoneinfo\n"
        "noon = datetime.datetime(2024, 7, 1, 12, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin'))\n"
        "str(noon), len(zoneinfo.available_timezones()) > 300"
    )
    assert contract.ordinary(code).output == ("2024-07-01 12:00:00+02:00", True)
