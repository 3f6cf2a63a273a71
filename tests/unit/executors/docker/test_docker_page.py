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
from smolagents_fork.executors.docker.options import Options, option_names
from smolagents_fork.executors.pools import sandbox_pool
from smolagents_fork.executors.pools.pool_queue import TenantStats
from smolagents_fork.jupyter import wire
from smolagents_fork.results import ExecutorStats
from smolagents_fork.sandboxes.docker import engine
from smolagents_fork.sandboxes.docker.streams import log_tail
from tools.paths import ROOT

PAGE = (ROOT / "docs" / "executors" / "docker.md").read_text()
ROW = re.compile(r"^\| `(\w+)` \| `([^`]*)` \|([^|]*)\|([^|]+)\|$", re.MULTILINE)
NO_UNIT = (
    "build_new_image",
    "allow_pickle",
    "read_only",
    "allow_root",
    "allow_shared_network",
    "tools_in_calling_thread",
)


def rows(section: str) -> dict[str, tuple[str, str, str]]:
    """Parameter to default, form and unit, and meaning, of the tables in one section."""
    text = PAGE[PAGE.index(f"\n## {section}\n") :]
    text = text[: text.index("\n## ", 4)]
    found = ROW.findall(text)
    named = [name for name, *_ in found]
    assert sorted(set(named)) == sorted(named), "a parameter has two rows"
    return {name: (default, unit.strip(), words.strip()) for name, default, unit, words in found}


def parameters(cls: type) -> dict[str, Any]:
    """Named parameters of a constructor to their defaults."""
    signature = inspect.signature(cls.__init__)
    return {
        name: parameter.default
        for name, parameter in signature.parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD and name != "self" and name[0] != "_"
    }


def options() -> dict[str, Any]:
    """Fields of the options to their defaults."""
    made = Options()
    return {name: made.value(name) for name in option_names()}


def test_every_parameter_of_the_executor_has_a_row_with_its_default():
    # The constructor's own default counts where both have one: None stands for an empty mapping.
    expected = options() | parameters(DockerExecutor)
    del expected["additional_authorized_imports"]  # another name, told in the first row
    assert "`additional_authorized_imports`" in PAGE
    found = rows("Parameters")
    assert sorted(found) == sorted(expected)
    for name, (default, _, _) in found.items():
        assert default == repr(expected[name]).replace("'", '"'), name


def test_every_parameter_of_the_pool_has_a_row_with_its_default():
    found = rows("Pools")
    expected = parameters(DockerPool)
    assert sorted(found) == sorted(expected)
    for name, (default, _, _) in found.items():
        assert default == repr(expected[name]).replace("'", '"'), name


@pytest.mark.parametrize("section", ["Parameters", "Pools"])
def test_every_row_has_a_unit_and_a_meaning(section):
    for name, (_, unit, words) in rows(section).items():
        assert unit or name in NO_UNIT, name
        assert len(words) > 8, name
        if name.endswith("_seconds"):
            assert unit.startswith("seconds"), name
        if name.endswith("_bytes"):
            assert unit == "bytes", name


def test_the_docstring_names_every_keyword():
    for name in options() | parameters(DockerExecutor):
        if name != "additional_authorized_imports":
            assert re.search(rf"\b{name}\b", DockerExecutor.__doc__ or ""), name


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
        ("keeps the last 4 KB of each", log_tail.KEPT_BYTES == 4096),
        ("or as PNG up to 50 megapixels", displays._MAX_PIXELS == 50_000_000),
    ):
        assert text in PAGE, text
        assert figure, text


def test_executors_own_options_in_a_pool():
    _, _, rest = PAGE.partition("The executor's own options are ")
    named = re.findall(r"`(\w+)`", rest.partition(". ")[0])
    assert sorted(named) == sorted(DockerPool.own_options)


def test_option_given_with_its_default_counts_in_a_pool():
    with DockerPool(min_size=0, memory="1g", timeout_seconds=5) as pool:

        def asked(**given: Any) -> Options:
            return pool.options_for(Options.of(**given), (), given)

        assert asked().limits.memory == asked(memory="1g").limits.memory == "1g"
        with pytest.raises(
            ConfigurationError, match="memory='2g' is decided by the pool, which has '1g"
        ):
            asked(memory="2g")
        assert asked().limits.timeout_seconds == 5
        assert asked(timeout_seconds=60.0).limits.timeout_seconds == 60


def test_figures_of_stats_are_named():
    for cls in (ExecutorStats, PoolStats, TenantStats):
        for field in dataclasses.fields(cls):
            assert f"`{field.name}`" in PAGE, field.name
