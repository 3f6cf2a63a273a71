"""Gradio: upstream's interface for agents in a real browser, and a tool of an app.

The tests share the process of the interfaces and the browser, each of which takes 5 s of processor
time.
"""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import gradio_client
import PIL.Image
import pytest
from background import eventually
from bridge_harness import code_agent
from gradio_process import gradio_process
from ports import free_port
from smolagents import Tool
from whole_contract import WHOLE

from tests.browser import opened_browser
from tools.paths import REPORTS

# Warnings of the libraries at start and shutdown, not ours.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
APP = Path(__file__).with_name("gradio_app.py")
SCREENSHOT = REPORTS / "gradio_docker_managed_agent.png"

# Elements that the interface collapses after a step: the code and its output.
OPEN_ALL = """
for (const text of document.querySelectorAll('span')) {
    if (/Used tool|Execution Logs/.test(text.textContent)) text.click();
}
"""

FIGURE_SCREENSHOT = REPORTS / "gradio_figure.png"
# Width of the widest picture that the page has loaded from the interface, in pixels.
FIGURE_WIDTH = """
return Math.max(0, ...[...document.images]
    .filter(one => one.complete && /figure|tmp|file=/.test(one.src) && one.naturalWidth > 200)
    .map(one => one.naturalWidth));
"""


class Interfaces(NamedTuple):
    """Addresses of the interfaces for agents and of the app, and the folder of their process."""

    managing: str
    plotting: str
    shop: str
    folder: Path

    def said(self) -> str:
        """Return the last words of the process."""
        return (self.folder / "app.log").read_text("utf-8", "replace")[-4000:]


@pytest.fixture(scope="module")
def interfaces(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Interfaces]:
    """Run the interfaces."""
    ports = (free_port(), free_port(), free_port())
    found = Interfaces(
        *(f"http://127.0.0.1:{port}" for port in ports), tmp_path_factory.mktemp("interfaces")
    )
    with gradio_process(APP, ports, found.folder / "app.log", str(found.folder)):
        yield found


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Open a browser."""
    with opened_browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


class Page:
    """The page of one interface.

    Attributes:
        screenshot: file for a picture of it.
    """

    def __init__(self, browser: Any, interfaces: Interfaces, address: str, screenshot: Path):
        self._browser, self._interfaces, self.screenshot = browser, interfaces, screenshot
        self._address, self._reload = address, 0.0
        self.wait("the page", self._loaded, 240)

    def _loaded(self) -> bool:
        """Return whether the page is there; load it again while a busy machine lets it fail."""
        if time.monotonic() > self._reload:
            self._browser.get(self._address)
            self._reload = time.monotonic() + 60
        return self._box() is not None

    def _box(self) -> Any:
        return self._browser.execute_script("return document.querySelector('textarea')")

    def ask(self, question: str) -> None:
        """Type a question and send it."""
        self._box().send_keys(f"{question}\n")

    def text(self) -> str:
        """Return what the page shows."""
        return str(self._browser.execute_script("return document.body.innerText"))

    def shows(self, *words: str) -> Callable[[], bool]:
        """Return a condition: the page shows all of the words."""
        return lambda: all(word in self.text() for word in words)

    def wait(self, what: str, condition: Callable[[], bool], seconds: float) -> None:
        """Wait for a condition; fail with what the page shows and the process said."""
        came = eventually(condition, seconds)
        assert came, f"{what} did not come in {seconds} s: {self._evidence()}"

    def _evidence(self) -> str:
        self.keep_picture()
        return f"{self.text()}\n-- the interface:\n{self._interfaces.said()}"

    def keep_picture(self) -> bytes:
        """Write the screenshot, and return it."""
        picture: bytes = self._browser.get_screenshot_as_png()
        self.screenshot.parent.mkdir(exist_ok=True)
        self.screenshot.write_bytes(picture)
        return picture


@pytest.mark.docker
def test_gradio_shows_a_container_agent_and_the_agent_it_manages(
    interfaces: Interfaces, browser: Any
) -> None:
    page = Page(browser, interfaces, interfaces.managing, SCREENSHOT)
    page.ask("How many lamps were sold?")
    # The page shows the first step before the second begins.
    page.wait("the first step", page.shows("Execution Logs", "Step 1"), 110)
    browser.execute_script(OPEN_ALL)
    page.wait("its prints", page.shows("the boss is on", "the analyst says:"), 60)
    assert f"the boss is on {socket.gethostname()}" not in page.text()
    assert "the count is 4711" in page.text()
    assert 'report = analyst("How many lamps were sold?")' in page.text()
    assert "Final answer" not in page.text()
    (interfaces.folder / "go").touch()
    page.wait("the answer", page.shows("Final answer", "lamps sold: 4711", "Step 2"), 120)
    assert "💥" not in page.text()
    with PIL.Image.open(io.BytesIO(page.keep_picture())) as image:
        # The page is not blank: its text alone has many shades.
        assert image.width > 800
        assert len(image.convert("L").getcolors() or ()) > 50


@pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")
@pytest.mark.docker
def test_gradio_shows_a_figure_as_a_picture(interfaces: Interfaces, browser: Any) -> None:
    page = Page(browser, interfaces, interfaces.plotting, FIGURE_SCREENSHOT)
    page.ask("Which day was the best?")
    page.wait("the answer", page.shows("Thursday was the best day."), 120)
    browser.execute_script(OPEN_ALL.replace("Used tool", "Output Image|Used tool"))
    page.wait("the picture", lambda: browser.execute_script(FIGURE_WIDTH) > 200, 60)
    assert "💥" not in page.text()
    time.sleep(1)  # the page scrolls
    page.keep_picture()


class ShopTool:
    """Argument of ``Tool.from_gradio``: an object with a name, a description, and a ``run``.

    It replaces the class of ``gradio_tools``, which does not support Gradio's newer clients. Its
    ``run`` calls a Gradio app in the same way.
    """

    name = "price_of"
    description = "Gives the price of a product."

    def __init__(self, client: gradio_client.Client) -> None:
        self.client = client

    # As text: upstream looks the annotation up by its name.
    def run(self, product: str) -> str:
        return str(self.client.predict(product, api_name="/price_of"))


@pytest.fixture(scope="module")
def client(interfaces: Interfaces) -> Iterator[gradio_client.Client]:
    """Give a client of the app."""
    made = gradio_client.Client(interfaces.shop, verbose=False, analytics_enabled=False)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def tool(client: gradio_client.Client) -> Tool:
    """Return a new tool, because its first call differs from later ones."""
    return Tool.from_gradio(ShopTool(client))


@pytest.mark.docker
def test_a_tool_of_a_gradio_app(sandbox, tool):
    agent = code_agent(
        sandbox.executor,
        "one = price_of('lamp')\ntwo = price_of(product='rug')\nhelp(price_of)",
        "final_answer([one, two])",
        tools=[tool],
    )
    one, two = agent.run("go")
    assert one.startswith("lamp: 40 euros, question ")
    assert two.startswith("rug: 30 euros, question ")
    # The app kept its state from call to call.
    assert int(two.rpartition(" ")[2]) == int(one.rpartition(" ")[2]) + 1
    told = str(agent.memory.steps[1].observations)
    assert "price_of(product)" in told
    assert "Gives the price of a product." in told


def test_from_space_needs_an_older_client():
    """The page of the bridge says so: upstream passes an argument that gradio_client 2 renamed."""
    assert int(gradio_client.__version__.partition(".")[0]) >= 2
    with pytest.raises(TypeError, match="unexpected keyword argument 'hf_token'"):
        Tool.from_space("owner/space", name="drawing", description="Draws.")
