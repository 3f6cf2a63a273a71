"""Limits of the guest, its death, and what the next call finds."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from background import acting, eventually, process_gone
from whole_contract import every

from smolagents_fork import WasmExecutor
from smolagents_fork.errors import (
    ExecutorError,
    InterpreterError,
    ProgramFailedError,
    ProtocolError,
    SandboxDiedError,
    SandboxTimeoutError,
)

HERE = Path(__file__).parent
LOST = (
    "its state is lost, the next call starts in a new process with the tools and variables sent "
    "again"
)
#: Looks at no signal: one endless call into C. A loop that catches each exception would end when
#: one is raised between two of its rounds.
STUBBORN = (
    "import collections, itertools\nprint('begun')\n"
    "collections.deque(itertools.repeat(None), maxlen=0)"
)


def test_loop_that_does_not_stop_is_killed_and_the_next_call_works():
    with WasmExecutor(
        ["*"], timeout_seconds=1.0, interrupt_grace_seconds=0.5, files={"in/data": b"given"}
    ) as executor:
        executor.send_variables({"sent": 3})
        executor.put_file(b"changed", "in/data")
        executor("x = 5")
        before = executor.pid
        message = rf"timeout_seconds=1\.0, did not stop .*=0\.5 and was killed; {LOST}"
        with pytest.raises(SandboxTimeoutError, match=message):
            executor(STUBBORN)
        assert executor.state["_print_outputs"] == "begun\n"
        assert process_gone(before)
        longer = dataclasses.replace(executor.options, timeout_seconds=60.0)
        executor.options = executor._session.limits = longer
        assert executor("sent").output == 3
        assert executor.get_file("in/data") == b"given"
        with pytest.raises(ProgramFailedError, match="x"):
            executor("x")


def test_interrupt_kills_what_does_not_stop():
    begun = threading.Event()
    with WasmExecutor(
        ["*"], timeout_seconds=600, interrupt_grace_seconds=0.5, on_output=lambda text: begun.set()
    ) as executor:
        with (
            acting(begun.is_set, executor.interrupt),
            pytest.raises(
                SandboxTimeoutError, match=rf"interrupted by interrupt\(\), .*killed; {LOST}"
            ),
        ):
            executor(STUBBORN)
        assert executor("1 + 1").output == 2


def test_memory_past_the_limit_is_an_error_of_the_program():
    with WasmExecutor(memory="64m", timeout_seconds=100) as executor:
        executor("x = 5")
        with pytest.raises(ExecutorError, match=r"put_file: .*memory=67108864; raise that"):
            executor.put_file(bytes((64 << 20) + 1), "large")
        message = r"MemoryError: there is not enough memory[\s\S]*The sandbox has memory='64m'"
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


def test_process_killed_between_calls_is_told_once():
    with WasmExecutor() as executor:
        executor.send_variables({"given": 5})
        os.kill(executor.pid or 0, signal.SIGKILL)
        assert eventually(lambda: not executor.is_alive())
        with pytest.raises(SandboxDiedError, match=rf"between two calls, .* SIGKILL.*{LOST}"):
            executor("given")
        assert executor("given").output == 5


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


HOST = """
import os, sys
sys.path[:0] = {path!r}
from smolagents_fork import WasmExecutor
with WasmExecutor(["*"], timeout_seconds={seconds}, interrupt_grace_seconds=0.5) as executor:
    executor.send_tools({{"begun": lambda: os.write(1, b"%d\\n" % executor.pid)}})
    executor({code!r})
"""


@pytest.mark.skipif(sys.platform != "linux", reason="F_SETSIG")
@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        STUBBORN,
        "import js\njs.eval('for (;;) ;')",
        "import time\ntime.sleep(600)",
    ],
    ids=["ordinary", "stubborn", "JavaScript", "waiting"],
)
def test_guest_of_a_killed_host_ends(code: str):
    path = [str(HERE), str(HERE.parents[1])]
    source = HOST.format(path=path, seconds=600, code=f"begun()\n{code}")
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        pid = int(host.stdout.readline())
        host.kill()
    assert eventually(lambda: process_gone(pid))
