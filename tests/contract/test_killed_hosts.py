"""A host that is killed: what it leaves in the temporary folder goes with the next process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from background import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs locks of folders")

# Nested deeper than paths may be long, and closed to its owner.
NESTED = """
import os
here = os.getcwd()
for _ in range(2000):
    os.mkdir("d")
    os.chdir("d")
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
if kind == "ProcessExecutor":
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
def test_nothing_stays_in_the_temporary_folder(kind, tmp_path, request):
    if kind == "DockerExecutor":
        request.getfixturevalue("engine")
    elif kind == "WasmExecutor":
        request.getfixturevalue("wasm_machine")
    folder = tmp_path / f"smolagents-fork-{os.getuid()}"
    with host(kind, tmp_path, "wait") as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "ready\n"
        assert os.listdir(tmp_path) == [folder.name]
        killed.kill()
    with host(kind, tmp_path, "end") as next_one:
        assert next_one.stdout is not None
        assert next_one.stdout.read() == "ready\n"
    assert next_one.returncode == 0
    # The fork server of the killed host may have removed something when the next one looked.
    if not eventually(lambda: os.listdir(folder) == [], 1.0):
        with host(kind, tmp_path, "end") as last:
            last.communicate()
    assert os.listdir(folder) == []
