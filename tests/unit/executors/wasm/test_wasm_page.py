"""The page of the Wasm executor names every parameter, with its default."""

from __future__ import annotations

import re

from smolagents_fork.executors.wasm.wasm_options import WasmOptions
from smolagents_fork.options.option import about, options_of_calls
from tools.paths import ROOT

PAGE = " ".join((ROOT / "docs" / "executors" / "wasm.md").read_text("utf-8").split())


def test_options_that_the_pool_decides_are_named():
    _, _, rest = PAGE.partition("The pool decides ")
    named = re.findall(r"`(\w+)`", rest.partition(";")[0])
    assert sorted(named) == sorted(
        about(WasmOptions).keys() - {*options_of_calls(WasmOptions), "network"}
    )
