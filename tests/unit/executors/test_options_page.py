"""The page on options says which executor has which, of what type, with which default."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from typing import Any

import pytest

from smolagents_fork import (
    AgentSandbox,
    DockerExecutor,
    DockerPool,
    LocalPythonExecutor,
    ProcessExecutor,
    WasmExecutor,
    WasmPool,
)
from smolagents_fork.executors.docker import option_groups, options
from smolagents_fork.executors.docker.agent_sandbox import AgentKeywords
from smolagents_fork.executors.hosted import BlaxelExecutor, E2BExecutor, ModalExecutor
from smolagents_fork.executors.process.process_options import Options, ProcessKeywords
from smolagents_fork.executors.validation import FORMER_NAMES
from smolagents_fork.executors.wasm.wasm_options import WasmKeywords, WasmOptions
from tools.paths import ROOT

PAGE = (ROOT / "docs" / "options.md").read_text("utf-8")
#: What an annotation is called on the page, by its beginning; seconds go by the option's name.
TYPES = {
    "Callable": "function",
    "Files": "mapping",
    "Literal": "text",
    "Mapping": "mapping",
    "OnDeath": "text",
    "Sequence": "list",
    "Transport": "text",
    "bool": "flag",
    "dict": "mapping",
    "float": "number",
    "int | str": "size",
    "int": "whole number",
    "str | os.PathLike": "path",
    "str": "text",
}
#: Taken as an object of the fork's, upstream's or docker-py's.
OBJECTS = {"engine", "logger", "model_on_host", "on_demand", "pool", "volumes"}

Parameters = dict[str, tuple[str, Any]]


def of_signature(function: Any) -> Parameters:
    """Return the annotation and the default of every public parameter."""
    return {
        name: (str(parameter.annotation), parameter.default)
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD and name[0] not in "_"
    }


def of_keywords(keywords: type, defaults: dict[str, Any]) -> Parameters:
    annotations = {name: value.__forward_arg__ for name, value in keywords.__annotations__.items()}
    return {name: (annotations[name], defaults[name]) for name in annotations}


def docker_defaults() -> dict[str, Any]:
    made = options.Options()
    values = {name: made.value(name) for name in options.option_names()}
    # An empty mapping is what None means.
    return {name: None if value == {} else value for name, value in values.items()}


def fields_of(kind: type) -> dict[str, Any]:
    return {field.name: field.default for field in dataclasses.fields(kind)}


def parameters() -> dict[str, Parameters]:
    docker = of_keywords(option_groups.DockerKeywords, docker_defaults())
    return {
        "local": of_signature(LocalPythonExecutor),
        "process": of_signature(ProcessExecutor) | of_keywords(ProcessKeywords, fields_of(Options)),
        "wasm": of_signature(WasmExecutor) | of_keywords(WasmKeywords, fields_of(WasmOptions)),
        "docker": docker | of_signature(DockerExecutor),
        "AgentSandbox": of_keywords(AgentKeywords, docker_defaults()) | of_signature(AgentSandbox),
    }


def type_word(name: str, annotation: str) -> str:
    if name in OBJECTS:
        return "object"
    optional = annotation.endswith(" | None")
    bare = annotation.removesuffix(" | None")
    if name.endswith("_seconds"):
        assert bare == "float", (name, annotation)
        word = "seconds"
    else:
        word = next(word for start, word in TYPES.items() if bare.startswith(start))
    return word + " or `None`" * (optional and word != "list")


def cells(heading: str) -> list[list[str]]:
    """Return the rows of the table below a heading; the first is its head."""
    section = PAGE[PAGE.index(f"\n## {heading}\n") :]
    rows = re.findall(r"^\| (.+) \|$", section[: section.find("\n## ", 4)], re.MULTILINE)
    return [row.split(" | ") for row in rows if not row.startswith("---")]


def shown(default: Any) -> str:
    if default is inspect.Parameter.empty:
        return "required"
    if default in ((), None):
        return "`None`" if default is None else "`()`"
    if isinstance(default, str):
        return f'`"{default}"`'
    number = f"{default:,}" if isinstance(default, (int, float)) else repr(default)
    return f"`{default if isinstance(default, bool) else number.removesuffix('.0')}`"


EVERY = parameters()
NAMES = sorted(set().union(*EVERY.values()))


def test_every_option_has_one_row():
    names = [row[0].strip("`") for row in cells("Executors")[1:]]
    assert names == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_row_is_what_the_constructors_have(name):
    head, *rows = cells("Executors")
    (row,) = (row for row in rows if row[0] == f"`{name}`")
    said = dict(zip(head, row, strict=True))
    found = {executor: has[name] for executor, has in EVERY.items() if name in has}
    assert {type_word(name, annotation) for annotation, _ in found.values()} == {said["type"]}
    for executor in EVERY:
        default = shown(found[executor][1]) if executor in found else "no"
        assert said[executor] == default, executor


def test_every_parameter_of_a_pool_has_a_row():
    head, *rows = cells("Pools")
    for column, cls in zip(head[2:], (DockerPool, WasmPool), strict=False):
        has = of_signature(cls)
        said = {row[0].strip("`"): (row[1], row[head.index(column)]) for row in rows}
        assert set(said) >= set(has)
        for name, (word, default) in said.items():
            expected = shown(has[name][1]) if name in has else "no"
            assert default == expected
            assert name not in has or type_word(name, has[name][0]) == word


def test_every_parameter_of_the_hosted_executors_has_a_row():
    head, *rows = cells("Hosted services")
    classes = {"blaxel": BlaxelExecutor, "e2b": E2BExecutor, "modal": ModalExecutor}
    said = {row[0].strip("`"): dict(zip(head, row, strict=True)) for row in rows}
    for column, cls in classes.items():
        has = of_signature(cls._begin) | of_signature(cls)
        del has["self"]
        has.pop("arguments", None)
        assert {name for name, row in said.items() if row[column] != "no"} == set(has)
        for name, (annotation, default) in has.items():
            assert said[name]["type"] == type_word(name, annotation)
            assert said[name][column] == shown(default)


def test_former_names_are_those_that_go_on_working():
    rows = cells("Former names")[1:]
    assert {row[0].strip("`"): row[1].strip("`") for row in rows if "=" not in row[0]} == (
        FORMER_NAMES
    )
    for former, present in [row[:2] for row in rows if "=" in row[0]]:
        (value,) = ast.parse(f"f({former.strip('`')})").body[0].value.keywords  # type: ignore[attr-defined]
        (now,) = ast.parse(f"f({present.strip('`')})").body[0].value.keywords  # type: ignore[attr-defined]
        made = Options(**{value.arg: ast.literal_eval(value.value)})
        assert getattr(made, now.arg) == ast.literal_eval(now.value)
