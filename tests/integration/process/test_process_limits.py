"""Time, memory, processor and size: each limit raises an error that says what happened."""

from __future__ import annotations

import sys

import pytest
from process_harness import SHARP, executor

from smolagents_fork.errors import (
    ProgramFailedError,
    SandboxDiedError,
)


def test_memory_is_limited_and_the_state_survives():
    with executor(memory="256m") as ex:
        assert ex.confinement["in_force"]["memory"].startswith("268435456 bytes")
        message = r"MemoryError: there is not enough memory[\s\S]*Memory is limited by memory="
        with pytest.raises(ProgramFailedError, match=message):
            ex("kept = []\nfor i in range(100): kept.append('x' * 50_000_000)")
        # Up to 64 MB of unused reserved address space counts as the fork server's.
        assert ex("n = len(kept)\nkept = None\nn").output * 50_000_000 < 2**28 + 64e6


IGNORING = """
import resource, signal
signal.signal(signal.SIGXCPU, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP})
resource.setrlimit(resource.RLIMIT_CPU, (resource.getrlimit(resource.RLIMIT_CPU)[1],) * 2)
"""
FLOODING = """
import threading
def work():
    while True: pass
threading.Thread(target=work, daemon=True).start()
while True: print("x" * 1000)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs the clock of another process")
@pytest.mark.parametrize(
    "code",
    ["while True: pass", f"{IGNORING}while True: pass", IGNORING + FLOODING],
    ids=["a loop", "signals ignored", "with output and a thread"],
)
def test_processor_time_is_limited(code: str):
    with executor(SHARP, cpu_seconds=0.5, timeout_seconds=600) as ex:
        message = (
            f"process {ex.pid} used more processor time than cpu_seconds=0.5 and was killed; raise "
            "that parameter, or do less in one call; its state is lost, the next call starts in a "
            "new process with the tools and variables sent again"
        )
        with pytest.raises(SandboxDiedError) as caught:
            ex(code)
        assert str(caught.value) == message
        # It is counted from the start of each call, so calls do not add up.
        busy = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
        for _ in range(2):
            ex(busy)


def test_files_are_limited_in_size():
    with executor(["pathlib"], file_size="1m") as ex:
        with pytest.raises(ProgramFailedError, match=r"File too large[\s\S]*limited by file_size="):
            ex("import pathlib\npathlib.Path('big').write_bytes(b'x' * 2_000_000)")
        assert ex("pathlib.Path('small').write_bytes(b'x' * 1000)").output == 1000


def test_stats():
    with executor(["threading"], memory="700m") as ex:
        ex("import threading\nend = threading.Event()")
        before = ex.stats()
        assert before.memory_limit_bytes == 700 << 20
        assert 5_000_000 < before.memory_bytes < 700 << 20
        ex("held = 'x' * 50_000_000\nsum(range(3_000_000))")
        after = ex.stats()
        assert after.memory_bytes - before.memory_bytes > 40_000_000
        assert after.cpu_seconds > before.cpu_seconds
        assert before.pids >= 1
    with executor(memory=None) as ex:
        assert ex.stats().memory_limit_bytes is None
