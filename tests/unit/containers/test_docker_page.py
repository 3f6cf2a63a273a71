"""The page of the Docker executor names every parameter, with its default."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

import pytest

from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.executors.docker_options import Options
from smolagents_fork.executors.pool import DockerPool, PoolStats
from smolagents_fork.results import ExecutorStats
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
    return {field.name: getattr(made, field.name) for field in dataclasses.fields(Options)}


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


def test_figures_of_stats_are_named():
    for cls in (ExecutorStats, PoolStats):
        for field in dataclasses.fields(cls):
            assert f"`{field.name}`" in PAGE, field.name
