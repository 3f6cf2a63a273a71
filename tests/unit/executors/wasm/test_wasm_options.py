"""Options of the Wasm executor that cannot work."""

from __future__ import annotations

import sys

import pytest

from smolagents_fork import WasmExecutor
from smolagents_fork.errors import ConfigurationError, ExecutorStartError
from smolagents_fork.executors.wasm.wasm_options import WasmOptions


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
