"""Upstream's Gradio interface, in a real browser, for an agent whose code runs in a container."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import PIL.Image
import pytest
from browser import opened_browser
from ports import free_port

from tools.paths import REPORTS, ROOT

APP = Path(__file__).with_name("gradio_app.py")
SCREENSHOT = REPORTS / "gradio_docker_managed_agent.png"

# Elements that the interface collapses after a step: the code and its output.
OPEN_ALL = """
for (const text of document.querySelectorAll('span')) {
    if (/Used tool|Execution Logs/.test(text.textContent)) text.click();
}
"""

FIGURE_APP = Path(__file__).with_name("gradio_figure.py")
FIGURE_SCREENSHOT = REPORTS / "gradio_figure.png"
# Width of the widest picture that the page has loaded from the interface, in pixels.
FIGURE_WIDTH = """
return Math.max(0, ...[...document.images]
    .filter(one => one.complete && /figure|tmp|file=/.test(one.src) && one.naturalWidth > 200)
    .map(one => one.naturalWidth));
"""


@pytest.fixture
def address(engine: Any, tmp_path: Path) -> Iterator[str]:
    """Give the address of the interface."""
    with served(APP, tmp_path) as found:
        yield found


@contextmanager
def served(program: Path, tmp_path: Path) -> Iterator[str]:
    """Run an interface and give its address."""
    port = free_port()
    quiet = {"GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1"}
    log = tmp_path / "app.log"

    def said() -> str:
        return log.read_text("utf-8", "replace")[-4000:]

    with log.open("wb") as output:
        app = subprocess.Popen(
            [sys.executable, str(program), str(port), str(tmp_path)],
            env={**os.environ, **quiet, "PYTHONPATH": str(ROOT)},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait("the interface", lambda: _listens(port), 240, said, lambda: app.poll() is None)
        yield f"http://127.0.0.1:{port}"
    finally:
        app.terminate()
        try:
            app.wait(60)
        finally:
            app.kill()
            app.wait(60)


@pytest.mark.docker
def test_gradio_shows_a_container_agent_and_the_agent_it_manages(address, tmp_path):
    with opened_browser(tmp_path) as browser:
        browser.get(address)

        def page() -> str:
            return str(browser.execute_script("return document.body.innerText"))

        def shown(*words: str) -> Callable[[], bool]:
            return lambda: all(word in page() for word in words)

        def box() -> Any:
            return browser.execute_script("return document.querySelector('textarea')")

        def evidence() -> str:
            SCREENSHOT.parent.mkdir(exist_ok=True)
            SCREENSHOT.write_bytes(browser.get_screenshot_as_png())
            log = (tmp_path / "app.log").read_text("utf-8", "replace")
            return f"{page()}\n-- the interface:\n{log[-4000:]}"

        _wait("the page", lambda: box() is not None, 180, evidence)
        box().send_keys("How many lamps were sold?\n")
        # The page shows the first step before the second begins.
        _wait("the first step", shown("Execution Logs", "Step 1"), 110, evidence)
        browser.execute_script(OPEN_ALL)
        _wait("its prints", shown("the boss is on", "the analyst says:"), 60, evidence)
        assert f"the boss is on {socket.gethostname()}" not in page()
        assert "the count is 4711" in page()
        assert 'report = analyst("How many lamps were sold?")' in page()
        assert "Final answer" not in page()
        (tmp_path / "go").touch()
        _wait("the answer", shown("Final answer", "lamps sold: 4711", "Step 2"), 120, evidence)
        assert "💥" not in page()
        picture = browser.get_screenshot_as_png()
    SCREENSHOT.parent.mkdir(exist_ok=True)
    SCREENSHOT.write_bytes(picture)
    with PIL.Image.open(io.BytesIO(picture)) as image:
        # The page is not blank: its text alone has many shades.
        assert image.width > 800
        assert len(image.convert("L").getcolors() or ()) > 50


@pytest.mark.slow
def test_gradio_shows_a_figure_as_a_picture(tmp_path):
    with served(FIGURE_APP, tmp_path) as found, opened_browser(tmp_path) as browser:
        browser.get(found)

        def page() -> str:
            return str(browser.execute_script("return document.body.innerText"))

        def evidence() -> str:
            FIGURE_SCREENSHOT.parent.mkdir(exist_ok=True)
            FIGURE_SCREENSHOT.write_bytes(browser.get_screenshot_as_png())
            log = (tmp_path / "app.log").read_text("utf-8", "replace")
            return f"{page()}\n-- the interface:\n{log[-4000:]}"

        def box() -> Any:
            return browser.execute_script("return document.querySelector('textarea')")

        _wait("the page", lambda: box() is not None, 180, evidence)
        box().send_keys("Which day was the best?\n")
        _wait("the answer", lambda: "Thursday was the best day." in page(), 120, evidence)
        browser.execute_script(OPEN_ALL.replace("Used tool", "Output Image|Used tool"))
        width = lambda: browser.execute_script(FIGURE_WIDTH)  # noqa: E731
        _wait("the picture", lambda: width() > 200, 60, evidence)
        assert "💥" not in page()
        time.sleep(1)  # the page scrolls
        evidence()


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _wait(
    what: str,
    condition: Callable[[], bool],
    seconds: float,
    evidence: Callable[[], str],
    alive: Callable[[], bool] = lambda: True,
) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert alive(), f"{what} ended: {evidence()}"
        assert time.monotonic() < end, f"{what} did not come in {seconds} s: {evidence()}"
        time.sleep(0.1)
