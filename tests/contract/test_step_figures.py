"""Figures of a step reach the model, the console and the notebook."""

from __future__ import annotations

import functools
import html
import io
import threading
from pathlib import Path
from typing import Any

import PIL.Image
import pytest
from background import PATIENCE_SECONDS, at_once
from rich.console import Console
from scripted_model import ScriptedModel
from smolagents import AgentLogger, CodeAgent, LocalPythonExecutor, LogLevel
from smolagents.models import get_clean_message_list
from whole_contract import every

from smolagents_fork.displays import notebook_forms
from smolagents_fork.executors import figures
from smolagents_fork.results import Display

PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()"


class Seeing(ScriptedModel):
    """A model that records the images of each request, as a service receives them."""

    fails_on_images = False

    def generate(self, messages: Any, **kwargs: Any) -> Any:
        sent = get_clean_message_list(messages, convert_images_to_image_urls=True)
        parts = [part for message in sent for part in message["content"]]
        self.images = [part for part in parts if part["type"] == "image_url"]
        if self.fails_on_images and self.images:
            raise ValueError("400 Bad Request: this model does not support image input")
        return super().generate(messages, **kwargs)


def agent_of(model: Any, *answers: str, **kwargs: Any) -> CodeAgent:
    model.answers = [f"<code>{answer}</code>" for answer in answers]
    imports = ["matplotlib.*", "PIL.*", "pandas"]
    options = {"verbosity_level": 0, **kwargs}
    return CodeAgent(tools=[], model=model, additional_authorized_imports=imports, **options)


def test_figure_reaches_the_model_as_an_image():
    model = Seeing()
    agent = agent_of(model, PLOT, "final_answer('seen')")
    assert agent.run("plot") == "seen"
    (image,) = agent.memory.steps[1].observations_images
    assert isinstance(image, PIL.Image.Image)
    assert [part["image_url"]["url"][:22] for part in model.images] == ["data:image/png;base64,"]


def test_figure_shown_before_an_error_reaches_the_model():
    agent = agent_of(Seeing(), f"{PLOT}\n1 / 0", "final_answer('seen')")
    assert agent.run("plot") == "seen"
    assert "division by zero" in str(agent.memory.steps[1].error)
    assert len(agent.memory.steps[1].observations_images) == 1


@pytest.fixture
def figure_of_host():
    """Leave a figure open in this process, as an application does."""
    from matplotlib import pyplot

    figure = pyplot.figure()
    yield figure
    pyplot.close(figure)


def test_figure_that_the_host_has_open_is_neither_drawn_into_nor_shown(figure_of_host):
    from matplotlib import pyplot

    agent = agent_of(Seeing(), PLOT, "final_answer('seen')")
    before = pyplot.get_fignums()
    assert agent.run("plot") == "seen"
    assert len(agent.memory.steps[1].observations_images) == 1
    assert figure_of_host.axes == []
    assert pyplot.get_fignums() == before
    assert pyplot.gcf() is figure_of_host


def test_figure_that_one_executor_left_open_is_not_anothers():
    opened = "import matplotlib.pyplot as plt\nfigure = plt.figure()\nplt.plot([1, 2])\nNone"
    first, second = (LocalPythonExecutor(["matplotlib.*"]) for _ in range(2))
    first(opened)
    assert second(f"{PLOT}\nplt.get_fignums()").output == []
    assert len(second.displays) == 1
    assert first("len(figure.axes), plt.gcf() is figure").output == (1, True)


def test_threads_of_programs_draw_into_their_own_programs_figures(figure_of_host):
    code = (
        "import threading\nimport matplotlib.pyplot as plt\n"
        "threads = [threading.Thread(target=plt.figure) for _ in range(2)]\n"
        "for one in threads:\n    one.start()\n    one.join()\n"
        "meet()\nlen(plt.get_fignums())"
    )
    barrier = threading.Barrier(2)
    executors = [
        LocalPythonExecutor(["matplotlib.*", "threading"], timeout_seconds=None) for _ in range(2)
    ]
    for one in executors:
        one.send_tools({"meet": lambda: barrier.wait(PATIENCE_SECONDS) and None})
    results = at_once(*(functools.partial(one, code) for one in executors))
    assert [result.output for result in results] == [2, 2]
    assert [len(one.displays) for one in executors] == [2, 2]


def test_large_figures_are_made_smaller_and_few():
    code = "from PIL import Image\nfor n in range(8): Image.new('RGB', (4000, 200 + n)).show()"
    agent = agent_of(Seeing(), code, "final_answer(1)")
    agent.run("show")
    assert [image.width for image in agent.memory.steps[1].observations_images] == [1568] * 5
    assert len(agent.python_executor.displays) == 0, "the last call's"


def test_picture_that_no_format_has_ends_no_step(tmp_path):
    programs = [
        f"import PIL.Image\npicture = PIL.Image.new({mode!r}, ({width}, 2))\n"
        "picture.info['transparency'] = (1, 2, 3)\npicture"
        for mode, width in (("L", 3), ("La", 3), ("RGB", 0))
    ]
    options = {"executor_type": "process", "executor_kwargs": {"figures_dir": tmp_path}}
    with agent_of(Seeing(), *programs, "final_answer('seen')", **options) as agent:
        assert agent.run("draw") == "seen"
    steps = agent.memory.steps[1:4]
    assert [(step.error, step.observations_images) for step in steps] == [(None, [])] * 3
    assert list(tmp_path.iterdir()) == []


def test_model_that_fails_on_figures_gets_none():
    model = Seeing()
    model.fails_on_images = True
    agent = agent_of(model, PLOT, PLOT, "final_answer('went on')")
    assert agent.run("plot") == "went on"
    assert "does not support image input" in str(agent.memory.steps[2].error)
    assert [len(step.observations_images or ()) for step in agent.memory.steps[1:4]] == [1, 0, 1]


def test_model_of_texts_gets_no_figures():
    class Flat(Seeing):
        def __init__(self) -> None:
            super().__init__(flatten_messages_as_text=True)

    model = Flat()
    agent = agent_of(model, PLOT, "final_answer('went on')")
    assert agent.run("plot") == "went on"
    assert model.images == []
    assert len(agent.memory.steps[1].observations_images) == 1, "for the page"


def test_failure_for_another_reason_still_ends_the_run():
    model = Seeing()
    agent = agent_of(model, "1 + 1")
    with pytest.raises(Exception, match="Error in generating model output"):
        agent.run("compute")


def logged(**kwargs: Any) -> str:
    console = Console(file=io.StringIO(), width=300)
    logger = AgentLogger(level=LogLevel.INFO, console=console)
    agent_of(Seeing(), PLOT, "final_answer(1)", logger=logger, **kwargs).run("plot")
    return console.file.getvalue()


def test_console_says_how_to_save_figures_and_names_the_saved_file(tmp_path):
    text = logged()
    assert "1 figure (" in text
    assert "not saved: executor_kwargs={'figures_dir': 'figures'} saves them" in text
    folder = tmp_path / "made" / "figures"
    path = folder / "figure-0001.png"
    assert f"saved: {path}" in logged(executor_kwargs={"figures_dir": folder})
    with PIL.Image.open(path) as image:
        assert image.format == "PNG"
        assert image.width > 100


def test_console_says_why_a_figure_was_not_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "_MOST_FILES", 0)
    text = logged(executor_kwargs={"figures_dir": tmp_path})
    reason = "pixels), not saved in figures_dir: one executor writes at most 0 figures"
    assert reason in text


def test_notebook_shows_a_page_of_a_sandbox_in_a_frame_and_no_large_text():
    page = "<script>alert('1')</script>"
    forms = notebook_forms(Display("text/html", page, {"text/html": page, "text/plain": "p"}))
    assert forms["text/plain"] == "p"
    assert forms["text/html"].startswith('<iframe sandbox srcdoc="&lt;meta ')
    assert "&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt;" in forms["text/html"]
    assert forms["text/html"].count("<") == 2  # the frame's own
    page = "<a " * 1_000_000
    forms = notebook_forms(Display("text/html", page, {"text/html": page, "text/plain": page}))
    assert set(forms) == {"text/plain"}
    assert len(forms["text/plain"]) < 60_000


CELL = """
import sys
sys.path[:0] = {folders!r}
from test_step_figures import PLOT, Seeing, agent_of
table = "import pandas as pd\\nframe = pd.DataFrame({{'lamp': [4711]}})\\n"
agent = agent_of(Seeing(), PLOT, table + "display(frame)", "frame", "final_answer(1)",
                 executor_type={kind!r})
agent.run("plot")
agent.cleanup()
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", every(2, ["process", "local"]))
def test_notebook_shows_figures_and_tables(kind, tmp_path):
    import nbformat
    from nbclient import NotebookClient

    folders = [str(folder) for folder in Path(__file__).parents[:2]]
    cell = nbformat.v4.new_code_cell(CELL.format(folders=folders, kind=kind))
    notebook = nbformat.v4.new_notebook(cells=[cell])
    NotebookClient(notebook, timeout=200, resources={"metadata": {"path": tmp_path}}).execute()
    shown = [
        out["data"] for out in notebook.cells[0].outputs if out["output_type"] == "display_data"
    ]
    pictures = [data for data in shown if "image/png" in data]
    pages = [html.unescape(data["text/html"]) for data in shown if "text/html" in data]
    assert len(pictures) == 1
    assert ["<td>4711</td>" in page for page in pages] == [True, True]
    assert pages[0].startswith("<iframe sandbox ")  # displayed by the program
    assert pages[1].startswith("<table ")  # made on the host
