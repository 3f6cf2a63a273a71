"""Whatever ends, it is noticed at once, with its cause, and nothing hangs."""

from __future__ import annotations

import contextlib
import gc
import re

import docker
import pytest
from background import acting, eventually
from docker_waiting import first_print
from smolagents.utils import AgentError

from smolagents_fork.errors import ExecutorError, SandboxDiedError
from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.sandboxes import removals

# Says something into the container's log, as a library that crashes does, and stays.
SLEEP = (
    "print('before', flush=True)\n"
    "import os, time\n"
    "os.write(2, b'last words of the program\\n')\n"
    "time.sleep(600)"
)


def kill_inside(executor, words):
    """Kill the container's process whose command line has ``words``, from outside of the kernel."""
    script = (
        "import os,sys\n"
        "for p in os.listdir('/proc'):\n"
        "    if p.isdigit() and int(p) not in (1, os.getpid()):\n"
        "        line = open(f'/proc/{p}/cmdline','rb').read()\n"
        f"        if {words!r}.encode() in line: os.kill(int(p), 9)\n"
    )
    with contextlib.suppress(docker.errors.NotFound):  # where the container has gone with it
        executor.container.exec_run(["python3", "-c", script])


def died(executor, action, code=SLEEP, cause="exit"):
    """The words of a call's error when ``action`` is carried out as soon as it has printed.

    The code runs longer than a test may, unless its end is noticed.
    """
    with acting(first_print(executor).is_set, action), pytest.raises(ExecutorError) as caught:
        executor(code)
    assert isinstance(caught.value, SandboxDiedError), repr(caught.value)
    assert caught.value.cause == cause
    return str(caught.value)


def tells_of_the_log(message):
    """The engine removes the log with the container; the last lines are there all the same."""
    told = message.partition("; last log lines: ")[2].partition("; the code may have run")[0]
    return "last words of the program" in told.split(" | ")


@pytest.fixture(scope="module")
def mortal(image):
    """An executor that dies in every test, and works on in the next: that is part of the test."""
    with DockerExecutor(timeout_seconds=1200) as executor:
        executor.send_variables({"given": 5})
        yield executor


def test_exit_of_the_kernel(mortal):
    code = "print('before', flush=True)\nimport os, time\nt = time.time()\nos._exit({})"
    for number in (1, 7):
        with pytest.raises(SandboxDiedError) as caught:
            mortal(code.format(number))
        message = str(caught.value)
        assert caught.value.cause == "exit"
        assert re.match("sandbox [0-9a-f]{12} ended: sandbox ended", message)
        assert f"exit code {number};" in message
        assert "out of memory" not in message
        assert "its state is lost" in message
        assert mortal.state["_print_outputs"] == "before\n"
        assert mortal("given").output == 5


def test_kernel_killed(mortal):
    message = died(mortal, lambda: kill_inside(mortal, "kernel_server.py"), cause="signal")
    assert "exit code 137 (SIGKILL); last log lines: " in message
    assert tells_of_the_log(message)
    assert "out of memory" not in message
    assert mortal("given").output == 5


def test_killed_relay_loses_nothing(make):
    executor = make(transport="exec")
    executor("runs = 0")
    code = "runs += 1\nprint('begun', flush=True)\nimport time; time.sleep(2)\nruns"
    with acting(first_print(executor).is_set, lambda: kill_inside(executor, "relay: ")):
        assert executor(code).output == 1
    assert executor("runs").output == 1


# No log at all, as when the engine has removed it before it is asked for.
NO_LOG = {"log_config": {"type": "none", "config": {}}}
MUCH = (
    "import os\n"
    "for _ in range(8): os.write(2, b'x' * 999_999 + b'\\n')\n"  # more than is buffered unread
    "None"
)


def test_last_words_do_not_depend_on_the_engines_log(make, engine):
    executor = make(container_run_kwargs=NO_LOG, timeout_seconds=1200)
    assert executor(MUCH).output is None
    name = executor.container.name
    message = died(executor, lambda: engine.api.kill(name), cause="signal")
    assert "ended: sandbox ended" in message
    assert "exit code 137" in message
    assert tells_of_the_log(message)


def test_container_removed_from_outside(mortal, engine):
    mortal("1")
    name = mortal.container.name
    message = died(mortal, lambda: engine.api.remove_container(name, force=True), cause="signal")
    assert "exit code 137" in message
    assert mortal("given").output == 5


def test_no_connection_is_left_for_garbage_collection_to_close(image, proxy):
    gc.disable()
    try:
        with DockerExecutor() as executor:
            executor.put_file(b"x", "f")
            assert executor.get_file("f") == b"x"
        assert removals.wait_until_tried(120)
        assert proxy.accepted
        assert eventually(lambda: proxy.closed_by_client == proxy.accepted)
    finally:
        gc.enable()


def test_engine_that_goes_away_in_mid_call(make, proxy):
    executor = make(timeout_seconds=1200, lease_seconds=5)
    assert proxy.asked(f"^POST /.*containers/{executor.container.id}/attach\\?")
    message = died(executor, proxy.close)
    assert "unknown: the engine does not answer" in message
    executor.cleanup()


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("quit(1)", "1"),
        ("exit()", None),
        ("import asyncio\nawait asyncio.sleep(0)\nraise SystemExit", None),
    ],
)
def test_leaving_ends_the_step_and_the_kernel_stays(shared, code, status):
    shared("kept = 'yes'")
    if status is None:
        assert (shared(code).output, shared(code).logs) == (None, "")
    else:
        with pytest.raises(AgentError, match=rf"SystemExit: {status} \(exit status {status}\)"):
            shared(code)
    assert shared("kept").output == "yes"
