"""Attacks on what the kernel counts for all processes of a user, each run by a user of its own.

Each test is an attack by several children: their host and a neighbour go on. They are run by
``test_process_user_counts.py``, one in a process.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import re
import resource
import signal
import threading
from contextlib import ExitStack
from typing import Any

import few_watches
import pytest
from background import at_once
from confined_attacks import raw_executor

from smolagents_fork import ProcessExecutor
from smolagents_fork.errors import ExecutorStartError, ForkError
from smolagents_fork.process.spawn import stop_fork_servers
from smolagents_fork.system.proc_table import process_table

#: Sends descriptors over sockets of its own from many threads, until the kernel refuses.
IN_FLIGHT = """
import array, os, socket, threading
kept, sent, refusals = [], [], []
def fill():
    while True:
        a, b = socket.socketpair()
        kept.append((a, b))
        a.setblocking(False)
        while True:
            try:
                a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                    array.array("i", [a.fileno()] * 253))])
                sent.append(253)
            except BlockingIOError:
                break
            except OSError as error:
                refusals.append(os.strerror(error.errno))
                return
threads = [threading.Thread(target=fill) for _ in range(30)]
[one.start() for one in threads]
[one.join() for one in threads]
sum(sent), sorted(set(refusals))
"""

#: Adds watches for many files under many numbers to many instances, as many as ``most``.
WATCHES = """
import os, select, socket
instances = [select.epoll() for _ in range(40)]
files = [end for _ in range(40) for end in socket.socketpair()]
numbers = [os.dup(0) for _ in range(90)]
added, refusal = 0, ""
try:
    for file in files:
        for number in numbers:
            os.dup2(file.fileno(), number)
            for instance in instances:
                if added < most:
                    instance.register(number, select.EPOLLIN)
                    added += 1
except OSError as error:
    refusal = os.strerror(error.errno)
added, refusal
"""
#: Fills the table of descriptors with one end of each pipe, from many threads.
PIPES = """
import os, threading
kept, refusals = [], []
def fill():
    while True:
        try:
            ends = os.pipe()
        except OSError as error:
            refusals.append(os.strerror(error.errno))
            return
        kept.append(ends[0])
        os.close(ends[1])
threads = [threading.Thread(target=fill) for _ in range(20)]
[one.start() for one in threads]
[one.join() for one in threads]
len(kept), sorted(set(refusals))
"""
#: Starts threads that wait, as many as possible.
THREADS = """
import threading
threading.stack_size(1 << 16)
gate, made = threading.Event(), []
try:
    while len(made) < 250:
        one = threading.Thread(target=gate.wait, daemon=True)
        one.start()
        made.append(one)
    refusal = ""
except RuntimeError as error:
    refusal = str(error)
len(made), refusal
"""
#: Signals to oneself that stay pending.
SIGNALS = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN})
for _ in range(5000):
    os.kill(os.getpid(), signal.SIGRTMIN)
with open("/proc/self/status") as file:
    queued = file.read().split("SigQ:")[1].split()[0]
queued
"""
#: What ordinary programs need of all this.
ORDINARY = """
import asyncio, os, threading
async def work():
    return await asyncio.to_thread(int, "42")
ends = os.pipe()
os.write(ends[1], b"x")
os.read(ends[0], 1).decode(), asyncio.run(work())
"""


def attackers(stack: ExitStack, count: int, **options: Any) -> list[ProcessExecutor]:
    """Start the executors of the attackers."""
    options = {"timeout_seconds": 120, **options}
    return [stack.enter_context(raw_executor(**options)) for _ in range(count)]


def attack(executors: list[ProcessExecutor], code: str) -> list[Any]:
    """Run an attack in all executors at the same time; return their results."""
    return at_once(*[lambda one=one: one(code).output for one in executors])  # type: ignore[misc]


def start() -> Any:
    """Start an executor, and return what it computes."""
    with ProcessExecutor([], None) as executor:
        return executor("6 * 7").output


def test_descriptors_in_flight_stop_no_start() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    usual = (min(300, hard), hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, usual)
    with ExitStack() as stack:
        victim = stack.enter_context(ProcessExecutor([], None))
        found = attack(attackers(stack, 2), IN_FLIGHT)
        # The attack is real: the kernel refuses a process with the limit of a child.
        assert sum(count for count, _ in found) > 300
        assert {text for _, texts in found for text in texts} == {
            "Too many references: cannot splice"
        }
        assert at_once(*[start] * 5) == [42] * 5
        victim.restart()
        assert victim("6 * 7").output == 42
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == usual


def test_shortage_is_named_and_waives_nothing() -> None:
    advice = (
        "Too many references: cannot splice; close executors and try again, or raise the limit on "
        "descriptors in flight of the user (ulimit -Hn)"
    )
    few = (200, 200)  # fewer than there are in flight
    with ExitStack() as stack:
        victim = stack.enter_context(ProcessExecutor([], None))
        (attacker,) = attackers(stack, 1)
        attacker(IN_FLIGHT)
        resource.prlimit(process_table()[attacker.pid or 0].parent, resource.RLIMIT_NOFILE, few)
        with pytest.raises(ExecutorStartError) as of_child:
            start()
        assert f"child failed: {advice}" in str(of_child.value)
        resource.setrlimit(resource.RLIMIT_NOFILE, few)
        with pytest.raises(ExecutorStartError) as of_host:
            start()
        assert str(of_host.value) == f"the child cannot be started: {advice}"
        assert "allow_missing" not in f"{of_child.value}{of_host.value}"
        # No fork server was ended.
        assert [one("6 * 7").output for one in (victim, attacker)] == [42, 42]


def files_of_child() -> str:
    """Return the limits on files in force in a new child."""
    with ProcessExecutor([], None, memory="8g") as executor:
        assert not executor.confinement["missing"]
        return str(executor.confinement["in_force"]["files"])


def test_lower_limits_of_the_host_are_in_force_or_named() -> None:
    def limit(files: int) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        stop_fork_servers()

    for kind, most in ((resource.RLIMIT_AS, 3 << 30), (resource.RLIMIT_FSIZE, 100_000_000)):
        resource.setrlimit(kind, (most, most))
    # Lower than what the executor asks for, so there is nothing to waive.
    for files, in_force in ((400, 147), (30, 30)):
        limit(files)
        assert files_of_child() == f"{in_force} descriptors, 100000000 bytes a file"
    advice = (
        "Too many open files; close executors and try again, or raise the limit on open files "
        "(ulimit -n)"
    )
    for files, words in (
        (24, rf"the fork server \(process \d+\) could not start a child: {re.escape(advice)}"),
        (16, rf"the fork server did not start within 60\.0 s: the fork server failed: "
             rf"{re.escape(advice)}"),
    ):  # fmt: skip
        limit(files)
        with pytest.raises(ExecutorStartError) as caught:
            files_of_child()
        assert re.fullmatch(words, str(caught.value))


def test_failed_starts_keep_no_descriptor() -> None:
    """Start executors with one descriptor more at a time, until one starts."""
    with ProcessExecutor([], None) as executor:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (120, hard))
        taken: list[int] = []
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.dup(0))
        found: list[Any] = []
        while taken and 42 not in found:
            try:
                found.append(start())
            except ForkError as error:
                found.append(str(error))
            os.close(taken.pop())
        for number in taken:
            os.close(number)
        *errors, last = found
        assert last == executor("6 * 7").output == 42
        assert 0 < len(errors) < 20
        assert set(errors) == {
            "the child cannot be started: Too many open files; close executors and try again, or "
            "raise the limit on open files (ulimit -n)"
        }


def test_watches_of_epoll_are_shared() -> None:
    with ExitStack() as stack:
        hostile = attackers(stack, 4, preload=("few_watches",))
        neighbour = stack.enter_context(raw_executor(preload=("few_watches",)))
        for one in hostile:
            one.send_variables({"most": 60_000})
        found = attack(hostile, WATCHES)
        counts = [count for count, _ in found]
        assert {refusal for _, refusal in found} == {"No space left on device"}
        assert sum(counts) < few_watches.WATCHES * 9 // 10, "some are left"
        assert min(counts) > few_watches.WATCHES // 10, "each has a share"
        for _ in range(100):
            assert neighbour(ORDINARY).output == ("x", 42)
        assert asyncio.run(asyncio.sleep(0, "runs")) == "runs"
        for one in hostile:  # what a child had ends with it
            one.restart()
        assert [one(ORDINARY).output for one in hostile] == [("x", 42)] * 4


def test_pipes_leave_those_of_others_their_size() -> None:
    with ExitStack() as stack:
        hostile = attackers(stack, 8)
        neighbour = stack.enter_context(raw_executor())
        found = attack(hostile, PIPES)
        assert min(count for count, _ in found) >= 4
        # One that is far ahead of the others comes to its own limit on descriptors first.
        refusals = {text for _, texts in found for text in texts}
        assert refusals - {"Too many open files"} == {"Too many open files in system"}
        _, writer = os.pipe()
        assert fcntl.fcntl(writer, 1032) == 65_536  # F_GETPIPE_SZ
        assert neighbour(ORDINARY).output == ("x", 42)


def attack_with_threads(own_threads: int) -> list[Any]:
    """Have children start all threads that they can; the host starts some, and executors."""
    with ExitStack() as stack:
        found = attack(attackers(stack, 4), THREADS)
        gate = threading.Event()
        try:
            for _ in range(own_threads):
                threading.Thread(target=gate.wait).start()
        finally:
            gate.set()
        assert at_once(*[start] * 3) == [42, 42, 42]
    return found


def test_threads_leave_the_host_its_own() -> None:
    resource.setrlimit(resource.RLIMIT_NPROC, (600, 600))
    found = attack_with_threads(60)
    assert 300 < sum(count for count, _ in found) < 450  # of ulimit -u 600
    assert "can't start new thread" in {refusal for _, refusal in found}


def test_pending_signals_leave_the_host_its_own() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN})  # before there are threads
    with ExitStack() as stack:
        found = attack(attackers(stack, 3), SIGNALS)
        assert sum(int(text.split("/")[0]) for text in found) <= 128 * 1.1
        for _ in range(500):
            os.kill(os.getpid(), signal.SIGRTMIN)
        with open("/proc/self/status", encoding="ascii") as file:
            queued = file.read().split("SigQ:")[1].split()[0]
        assert int(queued.split("/")[0]) >= 500
        assert start() == 42


def test_threads_leave_the_container_its_own() -> None:
    """With a limit of 300 processes."""
    assert sum(count for count, _ in attack_with_threads(40)) < 225
