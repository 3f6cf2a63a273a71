"""The page of the Wasm executor names every parameter, with its default."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re

from smolagents_fork import WasmExecutor, WasmPool
from smolagents_fork.executors.guests.guest_options import option_names
from smolagents_fork.executors.validation import parameters_of
from smolagents_fork.executors.wasm.wasm_options import WasmKeywords, WasmOptions
from tools.paths import ROOT

PAGE = (ROOT / "docs" / "executors" / "wasm.md").read_text("utf-8")


def rows(section: str) -> dict[str, str]:
    """Parameter to default, of the table in one section."""
    text = PAGE[PAGE.index(f"\n## {section}\n") :]
    text = text[: text.index("\n## ", 4)]
    found = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ([^|]+) \|", text, re.MULTILINE)
    return {
        name: default.strip("`") for names, default in found for name in re.findall(r"\w+", names)
    }


def value(default: str) -> object:
    if default.endswith(" MiB"):
        return int(default.removesuffix(" MiB")) << 20
    return ast.literal_eval(default.replace(",", ""))


def test_every_parameter_of_the_executor_has_a_row_with_its_default():
    found = rows("Parameters")
    assert sorted(found) == sorted([*option_names(WasmOptions), "pool", "tenant"])
    assert found.pop("tenant") == '""'
    assert found.pop("max_print_outputs_length") == "50,000"  # for None
    defaults = {field.name: field.default for field in dataclasses.fields(WasmOptions)}
    for name, default in found.items():
        assert value(default) == defaults.get(name), name


def test_every_parameter_of_the_pool_has_a_row_with_its_default():
    parameters = inspect.signature(WasmPool).parameters
    found = rows("Pools")
    assert {*found, "keywords"} == set(parameters)
    for name, default in found.items():
        assert value(default) == parameters[name].default, name


def test_options_that_the_pool_decides_are_named():
    _, _, rest = PAGE.partition("The pool decides ")
    named = re.findall(r"`(\w+)`", rest.partition(";")[0])
    assert sorted(named) == sorted(set(option_names(WasmOptions)) - WasmPool.own_options)


def test_editors_see_every_option():
    assert set(WasmKeywords.__annotations__) == set(option_names(WasmOptions))
    assert not {*parameters_of(WasmExecutor)} & set(option_names(WasmOptions))
    for cls in (WasmExecutor, WasmPool):
        assert inspect.signature(cls).parameters["keywords"].annotation == "Unpack[WasmKeywords]"
