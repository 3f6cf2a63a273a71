"""Options of the Wasm executor that cannot work, and those of a pool on its page."""

from __future__ import annotations

import re
import sys

import pytest

from smolagents_fork import WasmExecutor
from smolagents_fork.errors import ConfigurationError, ExecutorStartError
from smolagents_fork.executors.wasm.wasm_options import WasmOptions
from smolagents_fork.options.option import about, options_of_calls
from tools.paths import ROOT


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"memory": "23m"}, "memory='23m': Python needs 24m or more"),
        ({"memory": "5g"}, "memory='5g': WebAssembly has 4 GiB at most"),
        ({"deno": 3}, "deno=3: pass a path"),
    ],
)
def test_option_that_cannot_work_is_named(options, words):
    with pytest.raises(ConfigurationError) as caught:
        WasmOptions(**options)
    assert words in str(caught.value)


def test_tools_have_one_place():
    with pytest.raises(ConfigurationError, match="this executor calls tools on the host only"):
        WasmExecutor(tool_placement={"search": "sandbox"})


def test_windows_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(ExecutorStartError, match="Windows"):
        WasmExecutor()


def test_options_that_the_pool_decides_are_named():
    page = " ".join((ROOT / "docs" / "executors" / "wasm.md").read_text("utf-8").split())
    _, _, rest = page.partition("The pool decides ")
    named = re.findall(r"`(\w+)`", rest.partition(";")[0])
    assert sorted(named) == sorted(
        about(WasmOptions).keys() - {*options_of_calls(WasmOptions), "network"}
    )
