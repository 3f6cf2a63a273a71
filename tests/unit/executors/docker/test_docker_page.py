"""The page of the Docker executor names every parameter, with its default."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

import pytest

from smolagents_fork import displays
from smolagents_fork.errors import ConfigurationError
from smolagents_fork.executors.docker import DockerExecutor, DockerPool, PoolStats
from smolagents_fork.executors.docker.options import DockerOptions
from smolagents_fork.executors.pools import sandbox_pool
from smolagents_fork.executors.pools.pool_queue import TenantStats
from smolagents_fork.jupyter import wire
from smolagents_fork.options.option import options_of_calls
from smolagents_fork.results import ExecutorStats
from smolagents_fork.sandboxes.docker import engine
from smolagents_fork.sandboxes.docker.streams import logged_connection
from tools.paths import ROOT

PAGE = " ".join((ROOT / "docs" / "executors" / "docker.md").read_text("utf-8").split())


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
        assert text in PAGE, text
        assert figure, text


def test_executors_own_options_in_a_pool():
    _, _, rest = PAGE.partition("The executor's own options are ")
    named = re.findall(r"`(\w+)`", rest.partition(". ")[0])
    assert sorted(named) == sorted(options_of_calls(DockerOptions))


def test_option_given_with_its_default_counts_in_a_pool():
    with DockerPool(min_size=0, memory="1g", timeout_seconds=5) as pool:

        def asked(**given: Any) -> DockerOptions:
            return pool.options_for(DockerOptions.of("DockerExecutor", (), given), ())

        assert asked().memory == asked(memory="1g").memory == "1g"
        with pytest.raises(
            ConfigurationError, match="memory='2g' is decided by the pool, which has '1g"
        ):
            asked(memory="2g")
        assert asked().timeout_seconds == 5
        assert asked(timeout_seconds=60.0).timeout_seconds == 60


def test_figures_of_stats_are_named():
    for cls in (ExecutorStats, PoolStats, TenantStats):
        for field in dataclasses.fields(cls):
            assert f"`{field.name}`" in PAGE, field.name
