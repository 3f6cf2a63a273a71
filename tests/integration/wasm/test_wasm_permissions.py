"""Attempts of guest code to reach outside, by Python and by JavaScript; all fail.

The programs are Python as it is, with nothing in front of it, not even the interpreter.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from smolagents_fork import WasmExecutor
from smolagents_fork.errors import SandboxDiedError
from smolagents_fork.wasm import deno_binary

HERE = Path(__file__).parent
SECRET = "what the host keeps to itself"
# Each is an expression; it gives what it reached, or raises.
PYTHON = {
    "read a file": "open({outside!r}).read()",
    "read a file of the system": "open('/etc/passwd').read()",
    "environment": "os.environ['SMOLAGENTS_SECRET']",
    "run a program": "subprocess.run(['true'])",
    "run by the shell": "os.system('true')",
    "fork": "os.fork()",
    "connect": "socket.create_connection(('127.0.0.1', {port}), 1)",
    "open an address": "urllib.request.urlopen('http://127.0.0.1:{port}/', timeout=1)",
    "send a datagram": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "load a library": "ctypes.CDLL('libc.so.6')",
    "signal the host": "os.kill(js.Deno.ppid, 23)",
    "wait for JavaScript": "pyodide.ffi.run_sync(js.fetch('http://127.0.0.1:{port}/'))",
}
JAVASCRIPT = {
    "read a file": "js.Deno.readTextFileSync({outside!r})",
    "read through node": "js.process.getBuiltinModule('fs').readFileSync({outside!r}, 'utf8')",
    "environment": "js.Deno.env.get('PATH')",
    "whole environment": "js.Deno.env.toObject()",
    "write a file": "js.Deno.writeTextFileSync({outside!r} + '.new', 'x')",
    "write to its own files": "js.Deno.writeTextFileSync(js.Deno.args[1] + '/new', 'x')",
    "write to the stop file": "js.Deno.writeTextFileSync(js.Deno.args[3], 'x')",
    "run a program": "js.Deno.Command.new('true').outputSync()",
    "run through node": "js.process.getBuiltinModule('child_process').execFileSync('true')",
    "listen": "js.Deno.listen(js.JSON.parse('{{\"port\": 0}}'))",
    "name of the host": "js.Deno.hostname()",
    "load a library": "js.Deno.dlopen('libc.so.6', js.Object.new())",
    "descriptor of the host": "js.Deno.openSync('/proc/self/fd/0')",
    "store that lives on": "js.localStorage.setItem('a', 'b')",
}
SETUP = "import ctypes, js, os, pyodide, pyodide.ffi, socket, subprocess, urllib.request"


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("outside") / "secret.txt"
    path.write_text(SECRET)
    return path


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture(scope="module")
def guest(wasm_machine: None) -> Iterator[WasmExecutor]:
    os.environ["SMOLAGENTS_SECRET"] = SECRET
    try:
        with WasmExecutor(["*"], timeout_seconds=60) as made:
            made(SETUP)
            yield made
    finally:
        del os.environ["SMOLAGENTS_SECRET"]


@pytest.mark.parametrize(
    "attempt",
    [
        *(pytest.param(code, id=f"Python: {name}") for name, code in PYTHON.items()),
        *(pytest.param(code, id=f"JavaScript: {name}") for name, code in JAVASCRIPT.items()),
    ],
)
def test_attempt_reaches_nothing(guest: WasmExecutor, outside: Path, port: int, attempt: str):
    expression = attempt.format(outside=str(outside), port=port)
    code = (
        f"try:\n    found = ('reached', str({expression}))\n"
        "except BaseException as error:\n    found = ('refused', str(error))\n"
        "found"
    )
    outcome, words = guest(code).output
    assert outcome == "refused", words
    assert SECRET not in words
    assert [path.name for path in outside.parent.iterdir()] == ["secret.txt"]


def test_call_that_ends_the_guest_reaches_nothing(outside: Path):
    with (
        WasmExecutor(["*"]) as guest,
        pytest.raises(
            SandboxDiedError, match=r"Requires .* access[\s\S]*its state is lost"
        ) as caught,
    ):
        guest(f"import posix\nposix.system('touch {outside}.new')")
    assert SECRET not in str(caught.value)
    assert [path.name for path in outside.parent.iterdir()] == ["secret.txt"]


def test_guest_is_what_it_is_said_to_be(guest: WasmExecutor):
    """Else the attempts would fail for want of what they use."""
    assert guest("js.Deno.version.deno").output[0].isdigit()
    assert guest("os.getcwd()").output == "/home/pyodide"
    assert (
        guest("js.Deno.readTextFileSync(js.Deno.args[1] + '/pyodide-lock.json')[0]").output == "{"
    )


def test_environment_is_empty_but_for_deno(guest: WasmExecutor):
    with open(f"/proc/{guest.pid}/environ", "rb") as file:
        names = {entry.partition(b"=")[0].decode() for entry in file.read().split(b"\0") if entry}
    assert names == set(deno_binary.BARE_ENVIRONMENT)


def test_no_descriptor_of_the_host_is_inherited(guest: WasmExecutor):
    with open(__file__, encoding="utf-8") as file:
        os.set_inheritable(file.fileno(), True)
        with WasmExecutor(["*"]) as other:
            folder = f"/proc/{other.pid}/fd"
            targets = {os.readlink(f"{folder}/{number}") for number in os.listdir(folder)}
    assert not any(target.endswith(Path(__file__).name) for target in targets)


def test_javascript_that_waits_reaches_nothing(outside: Path, port: int, monkeypatch):
    monkeypatch.setattr(deno_binary, "GUEST_SCRIPT", str(HERE / "attempts.mjs"))
    command = deno_binary.confined_command(
        deno_binary.find_deno(), [str(HERE)], [], [str(outside), str(port)]
    )
    done = subprocess.run(
        command, env=deno_binary.BARE_ENVIRONMENT, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout)
    assert len(outcomes) >= 20
    reached = {name: words for name, words in outcomes.items() if words.startswith("reached")}
    assert reached == {}
    assert [path.name for path in outside.parent.iterdir()] == ["secret.txt"]
