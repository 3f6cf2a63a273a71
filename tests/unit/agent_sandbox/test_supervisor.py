"""Programs run by the supervisor, here in a process of the test's own instead of a kernel."""

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
    if request == b"refused":
        raise ValueError("not this one")
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
    job = {
        "files": {"program.py": program, "folder/data": "data"},
        "environment": {"SECRET": "x"},
    }
    ended = subprocess.run(
        [sys.executable, "-c", KERNEL, json.dumps(job), "model" if model else "", *arguments],
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    ending, asked, threads, left, handler = json.loads(ended.stderr)
    assert (threads, left, handler) == ([], [], True)
    return ending, asked, ended.stdout


def test_program_gets_files_and_secrets_and_leaves_an_answer() -> None:
    ending, asked, printed = run(
        "import os, sys\n"
        "folder = os.path.dirname(__file__)\n"
        "print(open(f'{folder}/folder/data').read(), os.environ['SECRET'])\n"
        "print('error \N{EURO SIGN}', file=sys.stderr)\n"
        "open(f'{folder}/answer', 'w').write('42')\n"
        "sys.exit(3)",
    )
    assert ending == [3, "42"]
    assert (asked, printed) == ([], "data x\nerror \N{EURO SIGN}\n")


def test_processes_that_a_program_leaves_end_with_it() -> None:
    ending, _, printed = run(
        "import subprocess\n"
        "subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "print('left')"
    )
    assert (ending, printed) == ([0, None], "left\n")


def test_interrupted_program_is_killed_with_what_it_started() -> None:
    ending, _, printed = run(
        "import signal, subprocess, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "print('begun')\n"
        "time.sleep(600)",
        "2",
    )
    assert ending == [-9, None]
    assert printed in ("begun\n", "")  # a busy machine may take longer to begin


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


def test_refusal_of_the_host_is_the_answer() -> None:
    _, asked, printed = run(
        CALL + "one = connect()\n"
        "one.send_bytes(b'refused')\n"
        "from smolagents_fork.codec import decode\n"
        "print(decode(one.recv_bytes()))",
        model=True,
    )
    assert printed == "{'error': ['ValueError', 'not this one']}\n"
    assert asked == []


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
