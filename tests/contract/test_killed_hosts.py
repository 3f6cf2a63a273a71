"""A host that is killed: its sandboxes end with it, and its files go with the next process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from background import eventually, process_gone

from smolagents_fork.system.proc_table import process_table

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs locks of folders")

# Nested deeper than paths may be long, and closed to its owner.
NESTED = """
import os
here = os.getcwd()
for _ in range(100):
    os.mkdir("d" * 60)
    os.chdir("d" * 60)
os.chdir(here)
os.mkdir("closed")
os.chmod("closed", 0)
"""
HOST = f"""
import sys, time
import smolagents_fork
from smolagents import LocalPythonExecutor
kind = sys.argv[1]
cls = LocalPythonExecutor if kind == "LocalPythonExecutor" else getattr(smolagents_fork, kind)
executor = cls(["os"], files={{"a.txt": b"1"}})
executor.send_tools({{}})
if kind == "ProcessExecutor" and sys.argv[2] == "wait":
    executor({NESTED!r})
assert executor("1 + 1").output == 2
assert executor.get_file("a.txt") == b"1"
print("ready", flush=True)
if sys.argv[2] == "wait":
    time.sleep(600)
executor.cleanup()
"""


def host(kind: str, temporary: Path, then: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOST, kind, then],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )


@pytest.mark.parametrize(
    "kind",
    [
        "LocalPythonExecutor",
        pytest.param("ProcessExecutor", marks=pytest.mark.slow),
        pytest.param("WasmExecutor", marks=pytest.mark.wasm),
        pytest.param("DockerExecutor", marks=pytest.mark.docker),
    ],
)
def test_nothing_stays_in_the_temporary_folder(kind, tmp_path):
    folder = tmp_path / f"smolagents-fork-{os.getuid()}"
    with host(kind, tmp_path, "wait") as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "ready\n"
        assert os.listdir(tmp_path) == [folder.name]
        killed.kill()

    def removed() -> bool:
        with host(kind, tmp_path, "end") as next_one:
            assert next_one.stdout is not None
            assert next_one.stdout.read() == "ready\n"
        assert next_one.returncode == 0
        return os.listdir(folder) == []

    # Each process takes two seconds at its end for what is large, and the next one goes on.
    assert eventually(removed)


#: When a host is killed -> what its executor runs then.
MOMENTS = {
    "start": "",
    "call": "begun()\nwhile True: pass",
    "waiting call": "import time\nbegun()\ntime.sleep(600)",
    "tool call": "wait_on_the_host()",
    "between calls": "begun()",
    "call into C": (
        "import collections, itertools\nbegun()\n"
        "collections.deque(itertools.repeat(None), maxlen=0)"
    ),
    "JavaScript": "import js\nbegun()\njs.eval('for (;;) ;')",
}
# Started in a thread that has ended: the kernel can end a program with the thread that started it.
BUSY_HOST = """
import os, sys, threading, time
import smolagents_fork

kind, code = sys.argv[1:]

def start():
    global executor
    print("starting", flush=True)
    imports = ["*"] if "import js" in code else ["time"]
    executor = getattr(smolagents_fork, kind)(imports, timeout_seconds=600)

def begun():
    print("begun", flush=True)

def wait_on_the_host():
    begun()
    time.sleep(600)

thread = threading.Thread(target=start)
thread.start()
thread.join()
executor.send_tools({"begun": begun, "wait_on_the_host": wait_on_the_host})
assert executor("1 + 1").output == 2
# A forked copy, which lives on, keeps nothing alive.
if code:
    copy = os.fork()
    if copy == 0:
        sys.stdin.read()
        os._exit(0)
    print(copy, flush=True)
    executor(code)
time.sleep(600)
"""


def started_by(host: int) -> set[tuple[int, int]]:
    """Return the processes that a process has started, and those that they have started."""
    table, found = process_table(), {host}
    for entry in sorted(table.values(), key=lambda entry: entry.start):
        if entry.parent in found:
            found.add(entry.pid)
    return {(pid, table[pid].start) for pid in found - {host}}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("ProcessExecutor", marks=pytest.mark.slow),
        pytest.param("WasmExecutor", marks=pytest.mark.wasm),
    ],
)
def test_every_process_ends_with_its_host(kind, moment, tmp_path):
    if kind != "WasmExecutor" and moment == "JavaScript":
        pytest.skip("there is none")
    with subprocess.Popen(
        [sys.executable, "-c", BUSY_HOST, kind, MOMENTS[moment]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as killed:
        copy = None
        try:
            assert killed.stdout is not None
            assert killed.stdout.readline() == "starting\n"
            if moment != "start":
                copy = int(killed.stdout.readline())
                assert killed.stdout.readline() == "begun\n"
            assert eventually(lambda: [pid for pid, _ in started_by(killed.pid) if pid != copy])
            killed.send_signal(signal.SIGSTOP)  # it starts no more
            assert eventually(lambda: process_table()[killed.pid].state == "stopped")
            started = {(pid, start) for pid, start in started_by(killed.pid) if pid != copy}
        finally:
            killed.kill()
        assert eventually(
            lambda: started.isdisjoint((e.pid, e.start) for e in process_table().values())
        )
        assert copy is None or not process_gone(copy)
