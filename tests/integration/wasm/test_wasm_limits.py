"""Limits of the guest, its death, and what the next call finds."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from background import acting, eventually, process_gone
from whole_contract import every

from smolagents_fork import WasmExecutor
from smolagents_fork.errors import (
    ExecutorError,
    ExecutorStartError,
    InterpreterError,
    ProgramFailedError,
    ProtocolError,
    SandboxDiedError,
    SandboxTimeoutError,
)
from smolagents_fork.executors.wasm.wasm_options import LEAST_MEMORY

HERE = Path(__file__).parent
LOST = (
    "its state is lost, the next call starts in a new process with the tools and variables sent "
    "again"
)


def test_memory_past_the_limit_is_an_error_of_the_program():
    with WasmExecutor(memory="64m", timeout_seconds=100) as executor:
        executor("x = 5")
        with pytest.raises(ExecutorError, match=r"put_file: .*memory=67108864; raise that"):
            executor.put_file(bytes((64 << 20) + 1), "large")
        message = r"MemoryError: there is not enough memory[\s\S]*Memory is limited by memory="
        with pytest.raises(ProgramFailedError, match=message):
            executor("parts = []\nfor _ in range(2048):\n    parts.append(bytearray(2**20))")
        assert executor("parts = None\nx").output == 5


@pytest.mark.parametrize(
    "code",
    every(
        3,
        [
            pytest.param(f"js.eval('const a = []; for (;;) a.push({made})')", id=name)
            for name, made in {
                "buffers": "new Uint8Array(1 << 26).fill(1)",
                "objects": "[1, 2, 3]",
                "shared buffers": "new SharedArrayBuffer(1 << 26)",
            }.items()
        ],
    ),
)
def test_memory_outside_python_is_limited_too(code: str):
    """2 GB and more, which the machine would have."""
    with WasmExecutor(
        ["*"], memory="64m", timeout_seconds=60, interrupt_grace_seconds=0.5
    ) as executor:
        executor("import js")
        resident = 0

        def look() -> bool:
            nonlocal resident
            try:
                with open(f"/proc/{pid}/statm", encoding="ascii") as file:
                    resident = max(resident, int(file.read().split()[1]) * 4096)
            except OSError:
                return True
            return False

        pid = executor.pid

        def watch() -> None:
            while not look():
                time.sleep(0.01)

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        with pytest.raises((SandboxDiedError, SandboxTimeoutError, InterpreterError)):
            executor(code)
        executor.cleanup()
        watcher.join(60)
        assert 0 < resident < 1 << 30


def test_killed_process_is_noticed_at_once():
    seen: list[str] = []
    with WasmExecutor(timeout_seconds=600, on_output=seen.append) as executor:
        with (
            acting(lambda: "begun\n" in seen, lambda: os.kill(executor.pid or 0, signal.SIGKILL)),
            pytest.raises(SandboxDiedError, match=rf"was ended by SIGKILL.*{LOST}"),
        ):
            executor("print('begun')\nimport time\ntime.sleep(500)")
        assert executor.state["_print_outputs"] == "begun\n"
        assert executor("1 + 1").output == 2


def test_least_memory_is_enough_for_a_program():
    with WasmExecutor(memory=LEAST_MEMORY) as executor:
        assert executor("sum([number for number in range(1000)])").output == 499500


def test_start_past_its_limit_names_the_option():
    with pytest.raises(ExecutorStartError) as caught:
        WasmExecutor(startup_timeout_seconds=0.001)
    assert str(caught.value) == (
        "the sandbox did not start: the guest did not answer in startup_timeout_seconds=0.001"
    )


def test_process_that_ends_itself_says_its_last_words():
    with WasmExecutor(["*"]) as executor:
        executor("import js")
        with pytest.raises(SandboxDiedError, match=rf"exit code 3: last words; {LOST}"):
            executor("js.console.error('last words')\njs.Deno.exit(3)")
        assert executor("1 + 1").output == 2


@pytest.mark.parametrize(
    ("sent", "words"),
    every(
        2,
        [
            pytest.param("b'hello, this is no frame'", "of kind 104", id="no frame"),
            pytest.param("bytes([2, 0, 0, 0, 1] + 4 * [255])", "over 65536", id="too long a frame"),
        ],
    ),
)
def test_what_is_not_a_frame_ends_the_guest(sent: str, words: str):
    with WasmExecutor(["*"]) as executor:
        executor("import js\nfrom pyodide.ffi import to_js")
        with pytest.raises(ProtocolError, match=words):
            executor(f"js.Deno.stdout.writeSync(to_js({sent}))\nimport time\ntime.sleep(100)")
        assert executor("1 + 1").output == 2


def test_guest_ends_with_its_host():
    with WasmExecutor(["*"]) as executor:
        pid, session = executor.pid, executor._session
        assert session is not None
        session.guest.process._data.close()
        assert pid is not None
        assert eventually(lambda: process_gone(pid))
