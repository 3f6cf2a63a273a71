"""Attacks on what the kernel counts for all processes of a user, run by a user of its own.

Each function is an attack by several children; it returns what their host and a neighbour find. The
module is a program: the argument names the function, whose result is printed as JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import background
from confined_attacks import raw_executor

from smolagents_fork import ProcessExecutor
from smolagents_fork.errors import ForkError
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


def result_or_error(action: Callable[[], Any]) -> Any:
    try:
        return action()
    except (ForkError, OSError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"


def at_once(actions: list[Callable[[], Any]]) -> list[Any]:
    """Call functions at the same time; return their results, an error as its text."""
    return background.at_once(*[partial(result_or_error, action) for action in actions])


def started() -> Any:
    """Start an executor, and return what it computes."""
    with ProcessExecutor([], None) as executor:
        return executor("6 * 7").output


def in_flight() -> dict[str, Any]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    usual = (min(300, hard), hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, usual)
    with ExitStack() as stack:
        victim = stack.enter_context(ProcessExecutor([], None))
        attackers = [stack.enter_context(raw_executor(timeout_seconds=120)) for _ in range(2)]
        attacks = at_once([lambda one=one: one(IN_FLIGHT).output for one in attackers])
        starts = at_once([started] * 5)
        victim.restart()
        return {
            "attacks": attacks,
            "starts": starts,
            "restarted": victim("6 * 7").output,
            "limit": resource.getrlimit(resource.RLIMIT_NOFILE) == usual,
        }


def shortage() -> dict[str, Any]:
    found: dict[str, Any] = {}
    with ExitStack() as stack:
        victim = stack.enter_context(ProcessExecutor([], None))
        attacker = stack.enter_context(raw_executor(timeout_seconds=120))
        attacker(IN_FLIGHT)
        few = (200, 200)  # fewer than there are in flight
        resource.prlimit(process_table()[attacker.pid or 0].parent, resource.RLIMIT_NOFILE, few)
        (found["of the child"],) = at_once([started])
        resource.setrlimit(resource.RLIMIT_NOFILE, few)
        (found["of the host"],) = at_once([started])
        found["others"] = [one("6 * 7").output for one in (victim, attacker)]
    return found


def attackers(stack: ExitStack, count: int, **options: Any) -> list[ProcessExecutor]:
    """Start the executors of the attackers."""
    options = {"timeout_seconds": 120, **options}
    return [stack.enter_context(raw_executor(**options)) for _ in range(count)]


def attacks(executors: list[ProcessExecutor], code: str) -> list[Any]:
    """Run an attack in all executors at the same time."""
    return at_once([lambda one=one: one(code).output for one in executors])  # type: ignore[misc]


def watches() -> dict[str, Any]:
    with ExitStack() as stack:
        hostile = attackers(stack, 4, preload=("few_watches",))
        neighbour = stack.enter_context(raw_executor(preload=("few_watches",)))
        for one in hostile:
            one.send_variables({"most": 60_000})
        return {
            "attacks": attacks(hostile, WATCHES),
            "neighbour": at_once([lambda: [neighbour(ORDINARY).output for _ in range(100)][-1]]),
            "host": asyncio.run(asyncio.sleep(0, "runs")),
            "next": at_once([lambda: next_child(hostile, ORDINARY)]),
        }


def next_child(hostile: list[ProcessExecutor], code: str) -> Any:
    """Run code in a new child, after those of the attackers have ended."""
    for one in hostile:
        one.restart()
    return [one(code).output for one in hostile][-1]


def pipes() -> dict[str, Any]:
    with ExitStack() as stack:
        hostile = attackers(stack, 8)
        neighbour = stack.enter_context(raw_executor())
        found = attacks(hostile, PIPES)
        _, writer = os.pipe()
        return {
            "attacks": found,
            "size": fcntl.fcntl(writer, 1032),  # F_GETPIPE_SZ
            "neighbour": at_once([lambda: neighbour(ORDINARY).output]),
        }


def threads() -> dict[str, Any]:
    resource.setrlimit(resource.RLIMIT_NPROC, (600, 600))
    return threads_beside_the_hosts(60)


def tasks() -> dict[str, Any]:
    return threads_beside_the_hosts(40)


def threads_beside_the_hosts(count: int) -> dict[str, Any]:
    """Have children start all threads that they can, and then the host some of its own."""
    with ExitStack() as stack:
        found = attacks(attackers(stack, 4), THREADS)
        gate = threading.Event()
        own = [threading.Thread(target=gate.wait) for _ in range(count)]
        started_threads = at_once([lambda: [one.start() for one in own] and len(own)])
        gate.set()
        return {"attacks": found, "host": started_threads, "starts": at_once([started] * 3)}


def own_limits() -> dict[str, Any]:
    """Start executors under limits of the host's own, each lower than the one before."""
    for kind, most in ((resource.RLIMIT_AS, 3 << 30), (resource.RLIMIT_FSIZE, 100_000_000)):
        resource.setrlimit(kind, (most, most))
    found: dict[str, Any] = {}
    for files in (400, 30, 24, 16):
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        stop_fork_servers()
        found[str(files)] = at_once([in_force])[0]
    return found


def in_force() -> Any:
    """Return the measures in force in a new child, but for those about the machine."""
    with ProcessExecutor([], None, memory="8g") as executor:
        assert not executor.confinement["missing"]
        return executor.confinement["in_force"]["files"]


def descriptors() -> dict[str, Any]:
    """Start executors with one descriptor more at a time, until one starts."""
    with ProcessExecutor([], None) as executor:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (120, hard))
        taken, found = [], []
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.dup(0))
        while taken and 42 not in found:
            try:
                found.append(started())
            except ForkError as error:
                found.append(str(error))
            os.close(taken.pop())
        for number in taken:
            os.close(number)
        return {"starts": found, "kept": executor("6 * 7").output}


def signals() -> dict[str, Any]:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN})  # before there are threads
    with ExitStack() as stack:
        hostile = attackers(stack, 3)
        found = attacks(hostile, SIGNALS)
        for _ in range(500):
            os.kill(os.getpid(), signal.SIGRTMIN)
        with open("/proc/self/status", encoding="ascii") as file:
            queued = file.read().split("SigQ:")[1].split()[0]
        return {"attacks": found, "host": queued, "starts": at_once([started])}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))
