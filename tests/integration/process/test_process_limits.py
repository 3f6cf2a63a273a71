"""Time, memory, processor and size: each limit ends in an error that says what happened."""

from __future__ import annotations

import threading
import time

import pytest
from process_harness import SHARP, eventually, executor, gone

from smolagents_fork.errors import (
    ConfigurationError,
    ExecutorClosedError,
    InterpreterError,
    ProgramFailedError,
    SandboxDiedError,
    SandboxTimeoutError,
)

# Well over what any of these takes; only a hang is longer.
GENEROUS = 20.0


def ends_in_time(start: float) -> bool:
    return time.monotonic() - start < GENEROUS


@pytest.mark.parametrize(
    "code",
    [
        "for i in range(10**12): pass",
        "import time\ntime.sleep(1000)",
        "for i in iter(int, 1):\n    try:\n        pass\n    except BaseException:\n        pass",
        "try:\n    for i in range(10**12): pass\nfinally:\n    for i in range(10**12): pass",
    ],
)
def test_code_past_its_time_is_stopped_and_keeps_its_state(code: str):
    with executor(timeout_seconds=0.5) as ex:
        ex("kept = 1")
        start = time.monotonic()
        with pytest.raises(SandboxTimeoutError, match=r"past timeout_seconds=0\.5; .*state kept"):
            ex("print('before')\n" + code)
        assert ends_in_time(start)
        assert ex.state["_print_outputs"] == "before\n"
        assert ex("kept").output == 1


def test_code_that_does_not_stop_is_killed_and_the_error_says_that_state_is_lost():
    deaf = (
        "import signal, time\nprint('deaf')\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\ntime.sleep(1000)"
    )
    with executor(SHARP, timeout_seconds=0.3, interrupt_grace_seconds=0.2) as ex:
        ex("lost = 1")
        before = ex.pid
        start = time.monotonic()
        with pytest.raises(SandboxTimeoutError) as caught:
            ex(deaf)
        assert ends_in_time(start)
        assert str(caught.value) == (
            "code ran past timeout_seconds=0.3, did not stop within interrupt_grace_seconds=0.2 "
            "and was killed; its state is lost, the next call starts in a new process"
        )
        assert ex.state["_print_outputs"] == "deaf\n"
        assert before is not None
        assert eventually(lambda: gone(before))
        with pytest.raises(ProgramFailedError, match="NameError"):
            ex("lost")


def test_interrupt_from_another_thread_keeps_the_state():
    started = threading.Event()
    with executor(timeout_seconds=60, on_output=lambda text: started.set()) as ex:
        ex("kept = 1")
        watcher = threading.Thread(target=lambda: (started.wait(30), ex.interrupt()))
        watcher.start()
        start = time.monotonic()
        with pytest.raises(
            InterpreterError, match=r"interrupted by interrupt\(\); its state is kept"
        ):
            ex("print('started')\nfor i in range(10**12): pass")
        watcher.join()
        assert ends_in_time(start)
        assert ex("kept").output == 1
        ex.interrupt()  # nothing runs: nothing happens
        assert ex("kept").output == 1


def test_cleanup_ends_a_call_in_another_thread():
    ex_errors: list[BaseException] = []
    started = threading.Event()
    with executor(timeout_seconds=60, on_output=lambda text: started.set()) as ex:
        pid = ex.pid

        def run() -> None:
            try:
                ex("print('started')\nimport time\ntime.sleep(1000)")
            except Exception as error:
                ex_errors.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        started.wait(30)
        ex.cleanup()
        thread.join(GENEROUS)
    assert [type(error) for error in ex_errors] == [ExecutorClosedError]
    assert pid is not None
    assert eventually(lambda: gone(pid))


def test_the_clock_stands_still_while_the_host_works():
    with executor(timeout_seconds=0.5) as ex:
        ex.send_tools({"slow": lambda: time.sleep(1.0)})
        assert ex("slow()\n'done'").output == "done"


def test_memory_is_limited_and_the_state_survives():
    with executor(memory="256m") as ex:
        assert ex.confinement["in_force"]["memory"].startswith("268435456 bytes")
        with pytest.raises(ProgramFailedError, match="MemoryError"):
            ex("kept = []\nfor i in range(100): kept.append('x' * 50_000_000)")
        # Address space that the template had reserved and not used counts as its own: up to 64 MB.
        assert ex("n = len(kept)\nkept = None\nn").output * 50_000_000 < 2**28 + 64e6


def test_processor_time_is_limited():
    with executor(cpu_seconds=1, timeout_seconds=60) as ex:
        with pytest.raises(
            SandboxDiedError, match=r"was ended by SIGXCPU \(over its processor time"
        ):
            ex("for i in range(10**12): pass")
        # It is counted from each call's start, so idle calls do not add up.
        assert ex("1").output == 1


def test_files_are_limited_in_size():
    with executor(["pathlib"], file_size="1m") as ex:
        with pytest.raises(ProgramFailedError, match="File too large"):
            ex("import pathlib\npathlib.Path('big').write_bytes(b'x' * 2_000_000)")
        assert ex("pathlib.Path('small').write_bytes(b'x' * 1000)").output == 1000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout_seconds": 0}, "timeout_seconds=0: give a finite number"),
        ({"memory": "lots"}, "memory='lots': give bytes, or text such as '512m'"),
        ({"memory": -1}, "memory=-1: give bytes"),
        ({"require": ["gravity"]}, "no such measure; there are"),
        ({"open_files": 3}, "imports need 32 or more"),
        ({"max_tool_calls": 0}, "max_tool_calls=0: give a whole number"),
        ({"tool_placement": {"a": "sandbox"}}, "calls tools on the host only"),
        ({"network": True, "require": "all"}, "network=True gives the network"),
    ],
)
def test_arguments_that_cannot_work_are_errors_at_once(options, message):
    with pytest.raises(ConfigurationError, match=message), executor(**options):
        pass
