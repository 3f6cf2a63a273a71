"""Attacks on what the kernel counts for all processes of a user, run by a user of its own.

Each function is an attack by several children; it returns what their host and a neighbour find. The
module is a program: the argument names the function, whose result is printed as JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from confined_attacks import raw_executor

from smolagents_fork import ProcessExecutor
from smolagents_fork.errors import ForkError
from smolagents_fork.proc_table import process_table

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


def at_once(actions: list[Callable[[], Any]]) -> list[Any]:
    """Call functions at the same time; return their results, an error as its text."""
    found: list[Any] = [None] * len(actions)

    def act(place: int) -> None:
        try:
            found[place] = actions[place]()
        except (ForkError, OSError, RuntimeError) as error:
            found[place] = f"{type(error).__name__}: {error}"

    threads = [threading.Thread(target=act, args=(place,)) for place in range(len(actions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


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
        at_once([started])  # takes the spare, which was forked under the usual limit
        (found["of the child"],) = at_once([started])
        resource.setrlimit(resource.RLIMIT_NOFILE, few)
        (found["of the host"],) = at_once([started])
        taken = []
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.dup(0))
        (found["open files"],) = at_once([started])
        for number in taken:
            os.close(number)
        found["others"] = [one("6 * 7").output for one in (victim, attacker)]
    return found


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))
