"""Code that does not end, or does not want to."""

from __future__ import annotations

import contextlib
import re
import threading
import time

import docker
import pytest
from background import eventually, running
from docker_waiting import first_print, set_options

from smolagents_fork.errors import (
    ExecutorStartError,
    SandboxDiedError,
    SandboxTimeoutError,
)
from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.jupyter import channel


@pytest.fixture(scope="module")
def limited(image):
    """One executor whose code has a second."""
    with DockerExecutor(timeout_seconds=1, interrupt_grace_seconds=60) as executor:
        yield executor


@pytest.mark.parametrize("code", ["re.match(r'(a+)+$', 'a' * 40 + 'b')", "3 ** 10 ** 9"])
def test_c_code_that_keeps_the_interpreter_lock_is_interrupted(limited, code):
    limited("import re; kept = 5")
    with pytest.raises(SandboxTimeoutError, match="it was interrupted and its state kept"):
        limited(code)
    assert limited("kept").output == 5


def test_kernel_in_c_code_is_busy_and_not_lost(make, monkeypatch):
    # Shorter than the code: the silence after which the connection of another process is lost.
    monkeypatch.setattr(channel, "_UNREACHABLE_AFTER_SECONDS", 3.0)
    monkeypatch.setattr(channel, "_LOST_AFTER_SECONDS", 4.0)
    executor = make(timeout_seconds=120)
    code = "began = time.monotonic()\nwhile time.monotonic() < began + 5: sum(range(2 * 10 ** 8))"
    executor("import time")
    executor(code)
    assert executor("time.monotonic() - began >= 5").output is True


def test_interrupt_stops_processes_of_the_program_too(limited):
    limited("import os, subprocess; kept = 5")
    with pytest.raises(SandboxTimeoutError, match="its state kept"):
        limited("subprocess.run(['sleep', '600'])")
    left = (
        "[one for one in os.listdir('/proc') if one.isdigit()"
        " and b'sleep' in open(f'/proc/{one}/cmdline', 'rb').read().split(b'\\0')]"
    )
    assert limited(left).output == []
    assert limited("kept").output == 5


def test_on_death_fail_says_why_the_next_call_does_not_work(make):
    executor = make(on_death="fail")
    with pytest.raises(SandboxDiedError):
        executor("import os; os._exit(3)")
    for _ in range(2):
        with pytest.raises(
            SandboxDiedError, match=r"exit code 3.*on_death='fail': call restart\(\)"
        ):
            executor("1")
    executor.restart()
    assert executor("1").output == 1


def test_start_that_hangs_has_a_deadline_and_leaves_nothing(image, engine):
    before = {summary["Id"] for summary in engine.api.containers(all=True)}
    with pytest.raises(ExecutorStartError) as caught:
        DockerExecutor(
            startup_timeout_seconds=2, container_run_kwargs={"command": ["sleep", "120"]}
        )
    assert "did not start in startup_timeout_seconds=2.0: " in str(caught.value)
    assert "sandbox running" in str(caught.value)
    (name,) = re.findall("in sandbox ([0-9a-f]+) ", str(caught.value))
    assert not any(full.startswith(name) for full in before)
    assert eventually(
        lambda: not [c for c in engine.api.containers(all=True) if c["Id"].startswith(name)]
    )


def test_stream_for_which_no_time_is_left_is_a_timeout(limited):
    limited("1")
    sandbox = limited._connection.sandbox
    with pytest.raises(TimeoutError, match="the kernel did not connect in time"):
        sandbox.open_stream(timeout=0)


def test_background_thread_does_not_hold_up_or_mix_into_later_calls(make):
    executor = make(timeout_seconds=20)
    executor(
        "import threading, time\n"
        "def noise():\n"
        "    while True:\n"
        "        print('noise')\n"
        "        time.sleep(0.01)\n"
        "threading.Thread(target=noise, daemon=True).start()"
    )
    time.sleep(0.5)
    assert executor("6 * 7").output == 42


# Stops the program that joins the engine's stream to the gateway, and speaks in its place: the
# beginning of a message of a gigabyte, and then a byte now and then, so that there is never silence
# and never an end.
TRICKLE = """
import os, signal, struct, time
relay = None
while relay is None:
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as line:
                if b"relay: " in line.read():
                    relay = int(name)
        except OSError:
            pass
    time.sleep(0.01)
print("before", flush=True)
while not os.path.exists("GO"):
    time.sleep(0.01)
stream = os.open(f"/proc/{relay}/fd/1", os.O_WRONLY)
os.kill(relay, signal.SIGSTOP)
os.write(stream, b"\\x82\\x7f" + struct.pack(">Q", 1 << 30))
while True:
    os.write(stream, b"x" * SIZE)
    time.sleep(PAUSE)
"""


@pytest.mark.parametrize(
    ("size", "pause"), [(1, 0.1), (65_536, 0.001)], ids=["bytes now and then", "a flood"]
)
def test_message_without_an_end_does_not_outlast_the_time_limit(make, size, pause):
    executor = make(interrupt_grace_seconds=1, transport="exec")
    code = TRICKLE.replace("SIZE", str(size)).replace("PAUSE", str(pause))
    # On a busy machine the shorter limits may be over before the program is told to go on.
    for seconds in (2, 10, 40):
        set_options(executor, timeout_seconds=seconds)
        go = f"/tmp/go-{seconds}"
        begun, over = first_print(executor), threading.Event()

        def let_it_go(container=executor.container, go=go, begun=begun, over=over):
            # Once what it has printed is here: it cannot come any more when the relay is stopped.
            if eventually(lambda: begun.is_set() or over.is_set()):
                with contextlib.suppress(docker.errors.APIError):  # removed already
                    container.exec_run(["touch", go])

        with running(let_it_go, stop=over.set):
            with pytest.raises(SandboxTimeoutError) as caught:
                executor(code.replace("GO", go))
            over.set()
        if "did not stop" in str(caught.value):
            break
    assert "did not stop within interrupt_grace_seconds=1" in str(caught.value)
    assert executor.state["_print_outputs"].startswith("before")
    assert executor("1").output == 1


def test_time_of_on_output_counts_as_the_codes(make):
    executor = make(timeout_seconds=1, on_output=lambda _text: time.sleep(2))
    executor("kept = 1")
    with pytest.raises(SandboxTimeoutError, match="state kept"):
        executor("print('a', flush=True)\nimport time\ntime.sleep(50)")
    assert executor("kept").output == 1
