"""Programs in the guest: what it does not have, files, restarts, the snapshot."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from scripted_model import Script
from smolagents import CodeAgent

from smolagents_fork import WasmExecutor
from smolagents_fork.errors import ConfigurationError, ExecutorClosedError, ProgramFailedError


@pytest.fixture(scope="module")
def executor(wasm_machine: None) -> Iterator[WasmExecutor]:
    with WasmExecutor(["getpass", "os", "socket"]) as made:
        yield made


def test_random_numbers_are_not_the_snapshots():
    code = "import random\nrandom.random()"
    with WasmExecutor() as first, WasmExecutor() as second:
        assert first(code).output != second(code).output


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import socket\nsocket.socket()", "WebAssembly has no sockets"),
        ("import os\nos.system('true')", "WebAssembly has no processes"),
        ("open('/dev/tty').read()", "No such file or directory"),
        ("import getpass\ngetpass.getpass()", "EOFError"),
    ],
)
def test_missing_thing_is_an_ordinary_error(executor: WasmExecutor, code: str, words: str):
    executor("kept = 1")
    with pytest.raises(ProgramFailedError, match=words):
        executor(code)
    assert executor("kept").output == 1


def test_agent_by_the_executors_name():
    model = Script("part = sum(range(10))\nprint(part)", "final_answer(part - 3)")
    with CodeAgent(tools=[], model=model, executor_type="wasm", verbosity_level=0) as agent:
        assert type(agent.python_executor) is WasmExecutor
        assert agent.run("go") == 42
        assert agent.to_dict()["executor_type"] == "wasm"
    with pytest.raises(ExecutorClosedError):
        agent.python_executor("1")


@pytest.mark.parametrize("name", ["js", "pyodide.ffi", "pyodide_js"])
def test_javascript_is_refused_to_programs(name: str):
    with pytest.raises(ConfigurationError, match="programs cannot use JavaScript"):
        WasmExecutor([name])
