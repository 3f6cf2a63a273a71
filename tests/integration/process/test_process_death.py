"""The death of a child is detected at once and described, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest
from background import eventually, process_gone
from confined_attacks import masked
from process_harness import SHARP, NewResources, executor

from smolagents_fork.errors import (
    DecodeError,
    ExecutorStartError,
    ProtocolError,
    SandboxDiedError,
    SandboxTimeoutError,
)
from smolagents_fork.process.confinement_report import Kernel

LOST = (
    "its state is lost, the next call starts in a new process with the tools and variables sent "
    "again"
)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            "import os\nos.kill(os.getpid(), 9)",
            r"was ended by SIGKILL \(by the kernel when out of .*; the code may have run, in part "
            "or to its end; its state is lost",
        ),
        ("import ctypes\nctypes.string_at(0)", r"was ended by SIGSEGV \(a crash in native code"),
        (
            "import os\nos.write(2, b'native words')\nos.abort()",
            "by SIGABRT; the last of its output: said before\nnative words",
        ),
        ("import ctypes\nctypes.CDLL(None).exit(7)", "ended with exit code 7"),
        (
            "import os\nos.close(1000)\nimport time\ntime.sleep(600)",
            "closed its connection and",
        ),
    ],
)
def test_child_death_names_the_cause(code: str, words: str):
    with executor(SHARP, timeout_seconds=600) as ex:
        ex.send_tools({"three": lambda: 3})
        ex("print('said in a call of before')")
        with pytest.raises(SandboxDiedError, match=words) as caught:
            ex("print('said before')\n" + code)
        assert str(caught.value).endswith(LOST)
        native = "native words" if "native words" in code else ""
        assert ex.state["_print_outputs"] == f"said before\n{native}"
        assert ex("three()").output == 3


def test_variable_that_ends_a_child_is_not_sent_to_the_next():
    with executor(timeout_seconds=600, memory="64m") as ex:
        ex.send_variables({"given": 5})
        with pytest.raises(
            SandboxDiedError, match=r"send_variables: process .* MemoryError"
        ) as caught:
            ex.send_variables({"given": 6, "rows": bytes(100_000_000)})
        assert str(caught.value).endswith(LOST)
        assert ex("given").output == 5


def test_a_child_that_dies_while_the_host_works_is_noticed():
    with executor() as ex:

        def fatal() -> str:
            assert ex.pid is not None
            os.kill(ex.pid, signal.SIGKILL)
            return "too late"

        ex.send_tools({"fatal": fatal})
        with pytest.raises(SandboxDiedError, match="was ended by SIGKILL"):
            ex("fatal()")


FORGED = {
    "unknown kind": ("b'\\xff' * 9", "an unexpected frame of kind 255"),
    "a kind of the host's": (
        "b'\\x11' + b'\\0' * 8",
        "an unexpected frame of kind 17",
    ),
    "enormous": ("b'\\x04' + b'\\0\\0\\0\\1' + b'\\xff' * 4", "a DONE frame of 4294967295 bytes"),
    "ready again": ("b'\\x01' + b'\\0' * 8", "a READY frame of run 0"),
    "ready in the run": ("b'\\x01\\0\\0\\0\\1\\0\\0\\0\\0'", "a READY frame where a run ends"),
    "done in another run": ("b'\\x04\\0\\0\\0\\x09\\0\\0\\0\\1' + b'1'", "a DONE frame of run 9"),
    "final without an answer": (
        "b'\\x05\\0\\0\\0\\1\\0\\0\\0\\0'",
        "a FINAL frame without a final answer",
    ),
    "accepted": ("b'\\x07\\0\\0\\0\\1\\0\\0\\0\\0'", "an? ACCEPTED frame where a run ends"),
    "failure of rubbish": ("b'\\x06\\0\\0\\0\\1\\0\\0\\0\\2' + b'{}'", "a FAILED frame has a kind"),
    "failure that is no encoding": (
        "b'\\x06\\0\\0\\0\\1\\0\\0\\0\\1{'",
        "a FAILED frame that cannot",
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_frames_are_protocol_errors(name: str):
    frame, words = FORGED[name]
    with executor(SHARP, timeout_seconds=600) as ex:
        with pytest.raises(ProtocolError, match=words) as caught:
            ex(f"import os, time\nos.write(1000, {frame})\ntime.sleep(600)")
        assert str(caught.value).endswith(LOST)
        assert ex("1 + 1").output == 2


def test_a_truncated_frame_ends_at_the_time_limit():
    with executor(SHARP, timeout_seconds=1.0) as ex:
        # The real end of the run is read as the rest of the forged frame.
        with pytest.raises(SandboxTimeoutError):
            ex(
                "import os, time\n"
                "os.write(1000, b'\\x04\\0\\0\\0\\1\\0\\0\\0\\x09')\n"
                "time.sleep(600)"
            )
        with pytest.raises(ProtocolError):
            ex("1 + 1")
        assert ex("1 + 1").output == 2


def test_a_forged_result_is_only_ever_a_value():
    # A program can send its own DONE: it could have had that value as its output anyway.
    with executor(SHARP, timeout_seconds=30) as ex:
        frame = "b'\\x04\\0\\0\\0\\1\\0\\0\\0\\x02' + b'42'"
        assert ex(f"import os\nos.write(1000, {frame})").output == 42
        # Its real end comes late, and is a frame of an ended run.
        with pytest.raises(ProtocolError, match="DONE frame of run 1"):
            ex("1 + 1")
        assert ex("1 + 1").output == 2


def test_a_flood_of_forged_calls_is_cut_off():
    request = b'{"call":1,"name":"x","args":[],"kwargs":{}}'
    frame = b"\x03\0\0\0\1" + len(request).to_bytes(4, "big") + request
    with (
        executor(SHARP, timeout_seconds=30) as ex,
        pytest.raises(ProtocolError, match="continued after 100 refused calls"),
    ):
        ex(f"import os\nfor i in range(10**9): os.write(1000, {frame!r})")


def test_a_value_that_cannot_be_decoded_is_an_error_and_the_state_is_kept():
    body = b'{"$":"os.system","v":"id"}'
    frame = b"\x04\0\0\0\2" + len(body).to_bytes(4, "big") + body
    with executor(SHARP, timeout_seconds=30) as ex:
        ex("kept = 1")
        with pytest.raises(DecodeError, match=r"unknown tag 'os\.system'"):
            ex(f"import os, time\nos.write(1000, {frame!r})\ntime.sleep(0.2)")


def test_a_start_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail() -> None:
        with pytest.raises(ExecutorStartError), masked(Kernel(landlock=0), files={"a": b"1"}):
            pass

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    fail()  # starts the fork server, which stays
    resources = NewResources()
    for _ in range(5):
        fail()
    assert resources.new() == set()
    with pytest.raises(ExecutorStartError), executor(startup_timeout_seconds=1e-6):
        pass
    assert list(tmp_path.glob("smolagents-fork-*/process-*/*")) == []


HOST = """
import sys, signal, time, os
from smolagents_fork import ProcessExecutor
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background jobs
ex = ProcessExecutor([], None, timeout_seconds=600)
with open(f"/proc/{ex.pid}/stat") as file:
    fork_server = file.read().rpartition(")")[2].split()[1]
print(ex.pid, fork_server, ex.folder, flush=True)
if sys.argv[1] == "exit":
    sys.exit(3)
if sys.argv[1] == "raise":
    raise RuntimeError("a bug of the user's")
ex("import time\\ntime.sleep(500)")
"""
# The next process of this user that needs a folder.
NEXT = "from smolagents_fork.folders.user_folder import temporary_folder\ntemporary_folder('next-')"


@pytest.mark.parametrize("way", ["exit", "raise", "SIGTERM", "SIGINT"])
def test_nothing_is_left_when_the_host_ends(way: str):
    with subprocess.Popen(
        [sys.executable, "-c", HOST, way],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as host:
        try:
            assert host.stdout is not None
            child, fork_server, folder = host.stdout.readline().split()
            if way.startswith("SIG"):
                time.sleep(0.3)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(host.pid, signal.Signals[way])
            host.wait(120)
        finally:
            host.kill()
    assert eventually(lambda: process_gone(int(child)))
    assert eventually(lambda: process_gone(int(fork_server)))
    if way == "SIGTERM":
        subprocess.run([sys.executable, "-c", NEXT], check=True, timeout=120)
    assert eventually(lambda: not os.path.exists(folder))
