"""The process that keeps a container's lease, as a process of this machine: no engine is needed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from smolagents_fork.sandboxes.containers.first_process import FIRST_PROCESS

# Only to see that nothing hangs.
PROMPT_SECONDS = 60
# Whoever starts it may ignore what can be ignored, as a shell does for its jobs.
IGNORING = ["sh", "-c", 'trap "" INT QUIT USR1; exec "$@"', "sh"]


@pytest.fixture
def first_process():
    """Starts one; whatever is left of it is ended after the test.

    It is not process 1 here, whose end the system makes the end of all others: its main process,
    which leads a session of its own, outlives it.
    """
    started = []
    mark = f"FIRST_PROCESS_TEST={uuid.uuid4().hex}"

    def start(*command, lease=1, program=FIRST_PROCESS, env=os.environ, **keywords):
        name, _, value = mark.partition("=")
        process = subprocess.Popen(
            [*IGNORING, sys.executable, "-I", "-S", "-c", program, str(lease), *command],
            stdin=subprocess.PIPE,
            env={**env, name: value},
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **keywords},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()  # first, or it would start more
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        process.wait(PROMPT_SECONDS)
    while left := processes_with(mark):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def processes_with(variable):
    """The processes that have a variable in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if variable.encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


@pytest.mark.parametrize(
    ("script", "code", "told"),
    [
        ("exit 0", 0, b"0"),
        ("exit 7", 7, b"7"),
        ("kill -KILL $$", 137, b"-9"),
        ("kill -TERM $$", 143, b"-15"),
    ],
)
def test_ends_with_its_main_process_and_tells_its_end(first_process, script, code, told):
    process = first_process("sh", "-c", script, lease=600)
    assert process.stdout.readline().startswith(b"\x1eend %b " % told)
    assert process.wait(PROMPT_SECONDS) == code


def asked(process, request):
    """The first process's answer to a line."""
    process.stdin.write(request + b"\n")
    process.stdin.flush()
    return process.stdout.readline()


def test_it_tells_whether_the_main_process_runs_is_stopped_or_has_ended(first_process):
    script = "echo ready; kill -STOP $$; exit 3"
    process = first_process("sh", "-c", script, lease=600)
    assert process.stderr.readline() == b"ready\n"
    end = time.monotonic() + PROMPT_SECONDS
    number = 1
    while asked(process, b"state %d" % number) != b"\x1eanswer %d T\n" % number:
        number += 1
        assert time.monotonic() < end
    (main,) = children_of(process.pid)
    os.kill(main, signal.SIGCONT)
    assert process.stdout.readline() == b"\x1eend 3 0\n"
    assert process.wait(PROMPT_SECONDS) == 3


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as numbers:
        return [int(number) for number in numbers.read().split()]


INTERRUPTED = """
import subprocess, sys, time
other = "trap 'echo other >&2; exit' INT; echo ready >&2; while :; do sleep 0.05; done"
try:
    # The other may be ready while this one still starts it.
    with subprocess.Popen(["sh", "-c", other]):
        time.sleep(600)
except KeyboardInterrupt:
    print("main", file=sys.stderr)
sys.exit(4)
"""


def test_interrupt_reaches_all_processes_of_the_group(first_process):
    process = first_process(sys.executable, "-c", INTERRUPTED, lease=600)
    assert process.stderr.readline() == b"ready\n"
    assert asked(process, b"interrupt 7").startswith(b"\x1eanswer 7 ")
    assert process.wait(PROMPT_SECONDS) == 4
    assert sorted(process.stderr.read().split()) == [b"main", b"other"]


def test_lines_that_are_no_requests_only_renew_the_lease(first_process):
    process = first_process("sleep", "600", lease=600)
    process.stdin.write(b"\n\xff\xfe\none two three\n" + b"x" * 10_000 + b"\n")
    assert asked(process, b"state 1").startswith(b"\x1eanswer 1 ")


def test_socket_that_cannot_be_connected_to_is_told(first_process, tmp_path):
    code = "import os; assert 'KG_CLIENT_FD' not in os.environ"
    variables = {**os.environ, "KG_CLIENT_SOCKET": str(tmp_path / "absent")}
    process = first_process(sys.executable, "-c", code, lease=600, env=variables)
    assert process.stdout.readline() == b"\x1eunreachable No such file or directory\n"
    assert process.wait(PROMPT_SECONDS) == 0


def test_main_process_that_cannot_be_started_is_named(first_process):
    process = first_process("/no/such/program", lease=600)
    assert process.wait(PROMPT_SECONDS) == 127
    assert b"/no/such/program" in process.stderr.read()


def test_main_process_has_neither_the_input_nor_other_handling_of_signals(first_process):
    show = "sed -n 's/^Sig\\(Ign\\|Blk\\|Cgt\\)/&/p' /proc/self/status; cat; echo end of input"
    process = first_process("sh", "-c", show, lease=600)
    assert process.wait(PROMPT_SECONDS) == 0
    *masks, end = process.stderr.read().decode().splitlines()
    assert end == "end of input"
    reserved = 0b11 << 31  # signals 32 and 33, which are the C library's own
    found = {line.split()[0]: int(line.split()[1], 16) & ~reserved for line in masks}
    assert found == {"SigBlk:": 0, "SigIgn:": 0, "SigCgt:": 0}


def after_its_start(pause):
    """The first process, that has nothing to do for a while when its main process has begun."""
    begin = "main=os.fork()\n"
    assert FIRST_PROCESS.count(begin) == 1
    return FIRST_PROCESS.replace(begin, f"{begin}if main: time.sleep({pause})\n")


@pytest.mark.parametrize("pause", [0, 1])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_are_passed_on(first_process, number, pause):
    script = f"trap 'echo got; exit 9' {int(number)}; echo ready; while :; do sleep 0.05; done"
    process = first_process("sh", "-c", script, lease=600, program=after_its_start(pause))
    assert process.stderr.readline() == b"ready\n"
    process.send_signal(number)
    assert process.wait(PROMPT_SECONDS) == 9
    assert process.stderr.read() == b"got\n"


OVER = b"the host process has not been heard of for %d s: the lease is over\n"


def test_end_of_the_input_ends_it_when_the_lease_is_over(first_process):
    process = first_process("sleep", "600")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1.5)  # longer than the lease: the input is open, and was never written to
    closed = time.monotonic()
    process.stdin.close()
    assert process.wait(PROMPT_SECONDS) == 137
    assert time.monotonic() - closed >= 1
    assert process.stderr.readline() == OVER % 1


@pytest.mark.parametrize("is_open", [True, False])
def test_renewed_lease_lasts_its_time_whatever_becomes_of_the_input(first_process, is_open):
    process = first_process("sleep", "600", lease=2)
    renewed = time.monotonic()
    process.stdin.write(b"\n")
    process.stdin.flush()
    if not is_open:
        process.stdin.close()
    assert process.wait(PROMPT_SECONDS) == 137
    assert time.monotonic() - renewed >= 2
    assert process.stderr.readline() == OVER % 2


def test_renewals_that_came_while_it_was_stopped_count(first_process):
    process = first_process("sh", "-c", "echo ready; sleep 600", lease=5)
    assert process.stderr.readline() == b"ready\n"
    process.stdin.write(b"\n")
    process.stdin.flush()
    process.send_signal(signal.SIGSTOP)
    time.sleep(6)
    process.stdin.write(b"\n")
    process.stdin.flush()
    process.send_signal(signal.SIGCONT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    assert process.wait(PROMPT_SECONDS) == 137


def test_output_that_nobody_reads_does_not_keep_it(first_process):
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        with contextlib.suppress(BlockingIOError):
            while os.write(writing, b"x" * 65_536):
                pass
        os.set_blocking(writing, True)
        process = first_process("sleep", "600", stdout=subprocess.DEVNULL, stderr=writing)
        process.stdin.close()
        assert process.wait(PROMPT_SECONDS) == 137
    finally:
        os.close(reading)
        os.close(writing)


def test_usage_is_that_of_the_control_group(first_process):
    process = first_process("sleep", "60", lease=PROMPT_SECONDS)
    words = asked(process, b"usage 1").split()
    assert words[:2] == [b"\x1eanswer", b"1"]
    memory, microseconds, count = map(int, words[3:])
    assert memory >= 0
    assert microseconds >= 0
    assert count > 0
