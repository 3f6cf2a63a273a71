"""Calls of the host's model, passed on by the supervisor in a process of the test's own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

psutil = pytest.importorskip("psutil")

#: Runs a job with a host that answers each call with the length of its request.
KERNEL = """
import json, os, signal, sys, threading
from smolagents_fork.agent_sandbox import supervisor
job = json.loads(sys.argv[1])
job["files"] = {name: text.encode() for name, text in job["files"].items()}
# As a kernel has it, also where this process was started with the signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
asked = []
def call_model(request):
    asked.append(request.decode())
    return b"%d" % len(request)
if sys.argv[3:]:
    threading.Timer(float(sys.argv[3]), os.kill, (os.getpid(), signal.SIGINT)).start()
code, answer = supervisor.run(lambda: job, *([call_model] if sys.argv[2] == "model" else []))
ending = [code, answer and answer.decode()]
threads = [one.name for one in threading.enumerate() if one.name != "MainThread"]
left = [one.name() for one in supervisor.psutil.Process().children(recursive=True)]
handler = signal.getsignal(signal.SIGINT) is signal.default_int_handler
sys.stderr.write(json.dumps([ending, asked, threads, left, handler]))
"""
CALL = """
import os
from multiprocessing.connection import Client
def connect():
    return Client(os.environ["SMOLAGENTS_FORK_HOST_MODEL"], "AF_UNIX")
"""


def run(program: str, *arguments: str, model: bool = False) -> tuple[list[Any], list[Any], str]:
    """Return how a program ended, what it asked, and what it printed. Nothing of it is left."""
    job = {"files": {"program.py": program}, "environment": {}}
    ended = subprocess.run(
        [sys.executable, "-c", KERNEL, json.dumps(job), "model" if model else "", *arguments],
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    ending, asked, threads, left, handler = json.loads(ended.stderr)
    assert (threads, left, handler) == ([], [], True)
    return ending, asked, ended.stdout


def test_calls_are_passed_on_one_at_a_time() -> None:
    ending, asked, printed = run(
        CALL + "one, other = connect(), connect()\n"
        "other.send_bytes(b'bb')\n"
        "one.send_bytes(b'a')\n"
        "print(other.recv_bytes(), one.recv_bytes())\n"
        "try: one.recv_bytes()\n"
        "except EOFError: print('end')",
        model=True,
    )
    assert printed == "b'2' b'1'\nend\n"
    assert (ending, asked) == ([0, None], ["a", "bb"])


def test_calls_that_the_program_has_dropped_keep_no_other_call_from_the_host() -> None:
    # One that was never made, one whose answer is not read, and one that ends with the program.
    ending, asked, printed = run(
        CALL + "connect().close()\n"
        "one = connect()\n"
        "one.send_bytes(b'a')\n"
        "one.close()\n"
        "other, last = connect(), connect()\n"
        "other.send_bytes(b'bb')\n"
        "print(other.recv_bytes())",
        model=True,
    )
    assert (ending, printed) == ([0, None], "b'2'\n")
    assert asked == ["a", "bb"]


def test_program_that_waits_for_the_model_can_be_interrupted() -> None:
    # The first connection sends no request, so that the call of the second one waits.
    ending, asked, _ = run(
        CALL + "one, other = connect(), connect()\nother.send_bytes(b'a')\nother.recv_bytes()",
        "2",
        model=True,
    )
    assert (ending, asked) == ([-9, None], [])


def test_program_without_a_model_has_no_address_of_one() -> None:
    _, _, printed = run("import os\nprint('SMOLAGENTS_FORK_HOST_MODEL' in os.environ)")
    assert printed == "False\n"
