"""The site builds strictly, and its pages say what the code has."""

from __future__ import annotations

import ast
import os
import re
import sys
from pathlib import Path

import pytest
from page_walk import blocks
from selenium.webdriver.support.ui import WebDriverWait

import smolagents_fork
from tests.browser import opened_browser
from tools.command import run
from tools.downstream.packages import PACKAGES, USES
from tools.paths import ROOT
from tools.site.hooks import rewritten

DOCS = ROOT / "docs"
#: Stands for a figure in a message; a page writes dots.
GAP = "..."
#: Pages whose commands a test of their own runs.
WALKED = {"start/getting-started.md", "recipes/ci.md", "recipes/files.md", "recipes/podman.md"}
WALKED |= {"recipes/tenants.md", "guides/own-executor.md", "guides/saving.md"}
WALKED |= {"guides/sent-to-the-model.md", "guides/streaming.md"}


def messages_of_the_code() -> str:
    """Return every string of the package, with gaps for the figures in it."""
    texts = []
    for path in (ROOT / "smolagents_fork").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
            elif isinstance(node, ast.JoinedStr):
                parts = [one.value if isinstance(one, ast.Constant) else GAP for one in node.values]
                texts.append("".join(map(str, parts)))
    return "\n".join(texts)


def test_every_message_of_the_troubleshooting_page_is_in_the_code():
    page = (DOCS / "start" / "troubleshooting.md").read_text("utf-8")
    named = re.findall(r"^### `(.+)`$", page, re.MULTILINE)
    named += re.findall(r"^- `([^`]+)`:", page, re.MULTILINE)
    assert len(named) > 20
    code = messages_of_the_code()
    missing = [
        message
        for message in named
        for part in message.split(GAP)
        if part.strip() and part.strip() not in code
    ]
    assert missing == []


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of the built site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder]
    run(command, timeout_seconds=500, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    return folder


@pytest.mark.slow
def test_site_builds_without_a_warning(site):
    reference = (site / "api.html").read_text("utf-8")
    for name in set(smolagents_fork.__all__) - {"fork_revision", "upstream_version"}:
        assert f".{name}" in reference, f"docs/api.md has no {name}"
    pages = {path.relative_to(site).with_suffix("").as_posix() for path in site.rglob("*.html")}
    assert pages >= {"index", "start/getting-started", "executors/docker", "security", "downstream"}


@pytest.mark.slow
def test_site_loads_nothing_from_another_server(site):
    loaded = re.compile(
        r'<(?:script|img|iframe)[^>]* src="(?:https?:)?//|<link[^>]*stylesheet[^>]*//'
    )
    for page in site.rglob("*.html"):
        assert loaded.search(page.read_text("utf-8")) is None, page.name


@pytest.mark.slow
def test_search_works_in_pages_opened_as_files(site, tmp_path):
    with opened_browser(tmp_path) as browser:
        browser.get((site / "start" / "choose.html").as_uri())
        wait = WebDriverWait(browser, 60)
        field = browser.find_element("css selector", "input.md-search__input")
        field.click()
        field.send_keys("Landlock")
        links = wait.until(
            lambda _: browser.find_elements("css selector", "a.md-search-result__link")
        )
        assert (site / "executors" / "process.html").as_uri() in {
            link.get_attribute("href").partition("#")[0].partition("?")[0] for link in links
        }


@pytest.mark.slow
def test_names_stay_in_one_piece_in_tables(site, tmp_path):
    with opened_browser(tmp_path) as browser:
        browser.set_window_size(700, 900)
        browser.get((site / "executors" / "docker.html").as_uri())
        lines = browser.execute_script(
            "return [...document.querySelectorAll('td:first-child > code')]"
            ".map(code => [code.textContent, code.getClientRects().length])"
        )
    assert len(lines) > 40
    assert [name for name, count in lines if count != 1] == []


def test_links_out_of_the_docs_are_put_right():
    page = "[a](../../SECURITY.md#values) [b](docker.md) [c](../../Makefile) [d](https://x.example)"
    assert rewritten(page, "docs/executors/local.md", "executors/local.md") == (
        "[a](../security.md#values) [b](docker.md) c (`Makefile`) [d](https://x.example)"
    )
    assert rewritten("[a](docs/bridge.md)", "SECURITY.md", "security.md") == "[a](bridge.md)"


def test_every_command_of_guides_and_recipes_is_run():
    pages = [
        page for folder in ("start", "guides", "recipes") for page in (DOCS / folder).glob("*.md")
    ]
    commands = {
        page.relative_to(DOCS).as_posix()
        for page in pages
        if any(block.language == "console" for block in blocks(page))
    }
    assert commands == WALKED


def test_every_package_of_the_downstream_report_has_a_program_and_a_row():
    page = (DOCS / "downstream.md").read_text("utf-8")
    assert re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE) == [one.name for one in PACKAGES]
    assert {one.use for one in PACKAGES} == {
        path.stem for path in Path(USES).glob("*.py") if path.stem != "scripted_model"
    }
    assert "works with upstream**" not in page, "a package works with upstream only"
