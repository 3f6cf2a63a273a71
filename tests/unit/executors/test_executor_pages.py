"""The pages of the executors name what the code has: options, figures, measures and tests."""

from __future__ import annotations

import dataclasses
import inspect
import re

import pytest

from smolagents_fork import displays
from smolagents_fork.executors.docker import DockerExecutor, PoolStats
from smolagents_fork.executors.docker.options import DockerOptions
from smolagents_fork.executors.pools import sandbox_pool
from smolagents_fork.executors.pools.pool_queue import TenantStats
from smolagents_fork.executors.process.process_options import ProcessOptions
from smolagents_fork.executors.wasm.wasm_options import WasmOptions
from smolagents_fork.jupyter import wire
from smolagents_fork.options.option import about, options_of_calls
from smolagents_fork.process.confinement_report import MEASURES
from smolagents_fork.results import ExecutorStats
from smolagents_fork.sandboxes.docker import engine
from smolagents_fork.sandboxes.docker.streams import logged_connection
from tools import option_tables
from tools.option_tables import draw_tables
from tools.paths import ROOT

PAGES = ROOT / "docs" / "executors"


def text_of(page: str) -> str:
    return " ".join((PAGES / f"{page}.md").read_text("utf-8").split())


DOCKER = text_of("docker")


@pytest.mark.parametrize("page", option_tables.PAGES)
def test_tables_are_those_of_the_definitions(page):
    text = (ROOT / page).read_text("utf-8")
    assert "<!-- options: " in text
    assert draw_tables(text) == text, "run: python -m tools.option_tables"


def test_every_table_is_on_a_page():
    pages = "".join((ROOT / page).read_text("utf-8") for page in option_tables.PAGES)
    assert sorted(re.findall(r"<!-- options: ([^>]+) -->", pages)) == sorted(option_tables.TABLES)


def test_figures_in_the_text_are_those_of_the_code():
    for text, figure in (
        (
            "`get_file(path, max_bytes=268435456)`",
            inspect.signature(DockerExecutor.get_file).parameters["max_bytes"].default
            == 268_435_456,
        ),
        ("JSON of more than four million elements", wire._MAX_ELEMENTS == 4_000_000),
        ("(100 at most)", displays._MAX_DISPLAYS == 100),
        (
            "half a second at first and up to 30",
            (sandbox_pool._FIRST_PAUSE_SECONDS, sandbox_pool._LONGEST_PAUSE_SECONDS) == (0.5, 30.0),
        ),
        ("and has three seconds to answer", engine.PING_SECONDS == 3.0),
        ("keeps the last 4 KB of each", logged_connection.KEPT_BYTES == 4096),
        ("or as PNG up to 50 megapixels", displays._MAX_PIXELS == 50_000_000),
    ):
        assert text in DOCKER, text
        assert figure, text


def test_executors_own_options_in_a_pool():
    _, _, rest = DOCKER.partition("The executor's own options are ")
    named = re.findall(r"`(\w+)`", rest.partition(". ")[0])
    assert sorted(named) == sorted(options_of_calls(DockerOptions))


def test_figures_of_stats_are_named():
    for cls in (ExecutorStats, PoolStats, TenantStats):
        for field in dataclasses.fields(cls):
            assert f"`{field.name}`" in DOCKER, field.name


def test_options_that_the_pool_decides_are_named():
    _, _, rest = text_of("wasm").partition("The pool decides ")
    named = re.findall(r"`(\w+)`", rest.partition(";")[0])
    assert sorted(named) == sorted(
        about(WasmOptions).keys() - {*options_of_calls(WasmOptions), "network"}
    )


def test_every_parameter_and_measure_is_on_the_executors_page():
    page = (PAGES / "process.md").read_text("utf-8")

    def first_cells(text: str) -> list[str]:
        rows = [row for row in text.splitlines() if row.startswith("| `")]
        return [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]

    opening, rest = page.split("## How it works")
    assert tuple(first_cells(opening)) == MEASURES
    assert set(about(ProcessOptions)) <= set(first_cells(rest))
