"""Programs run by the supervisor, here in a process of the test's own instead of a kernel."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

psutil = pytest.importorskip("psutil")

#: Runs a job with a host that answers each request twice: with it, and with its length.
KERNEL = """
import json, os, signal, sys, threading
from smolagents_fork.agent_sandbox import supervisor
job = json.loads(sys.argv[1])
job["files"] = {name: text.encode() for name, text in job["files"].items()}
# As a kernel has it, also where this process was started with the signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
asked, dropped, answers = [], [], {}
def begin_call(request):
    if request == b"refused":
        raise ValueError("not this one")
    asked.append(request.decode())
    pieces = [[request], [], [b"%d" % len(request), None]]
    answers[len(asked)] = [] if request == b"wait" else pieces
    return len(asked)
def fetch_answer(number):
    return answers[number].pop(0) if answers[number] else []
if sys.argv[3:]:
    threading.Timer(float(sys.argv[3]), os.kill, (os.getpid(), signal.SIGINT)).start()
model = [begin_call, fetch_answer, dropped.append] if sys.argv[2] == "model" else []
code, answer = supervisor.run(lambda: job, *model)
ending = [code, answer and answer.decode()]
threads = [one.name for one in threading.enumerate() if one.name != "MainThread"]
left = [one.name() for one in supervisor.psutil.Process().children(recursive=True)]
handler = signal.getsignal(signal.SIGINT) is signal.default_int_handler
sys.stderr.write(json.dumps([ending, asked, dropped, threads, left, handler]))
"""
CALL = """
import os, socket
from multiprocessing.connection import Connection
def call():
    stream = socket.socket(socket.AF_UNIX)
    stream.connect(os.environ["SMOLAGENTS_FORK_HOST_MODEL"])
    return Connection(stream.detach())
"""


def run(
    program: str, *arguments: str, model: bool = False
) -> tuple[list[Any], list[Any], list[Any], str]:
    """Return how a program ended, what it asked and dropped, and what it printed.

    Nothing of it is left.
    """
    job = {
        "files": {"program.py": program, "folder/data": "data"},
        "environment": {"SECRET": "x"},
    }
    ended = subprocess.run(
        [sys.executable, "-c", KERNEL, json.dumps(job), "model" if model else "", *arguments],
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    ending, asked, dropped, threads, left, handler = json.loads(ended.stderr)
    assert (threads, left, handler) == ([], [], True)
    return ending, asked, dropped, ended.stdout


def test_program_gets_files_and_secrets_and_leaves_an_answer() -> None:
    ending, asked, _, printed = run(
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
    ending, _, _, printed = run(
        "import subprocess\n"
        "subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "print('left')"
    )
    assert (ending, printed) == ([0, None], "left\n")


def test_interrupted_program_is_killed_with_what_it_started() -> None:
    ending, _, _, printed = run(
        "import signal, subprocess, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "print('begun')\n"
        "time.sleep(600)",
        "2",
    )
    assert ending == [-9, None]
    assert printed in ("begun\n", "")  # a busy machine may take longer to begin


def test_calls_are_passed_on_and_answered_until_their_end() -> None:
    ending, asked, dropped, printed = run(
        CALL + "one, other = call(), call()\n"
        "one.send_bytes(b'a')\n"
        "other.send_bytes(b'bb')\n"
        "print(*[one.recv_bytes(), one.recv_bytes(), other.recv_bytes(), other.recv_bytes()])\n"
        "try: one.recv_bytes()\n"
        "except EOFError: print('end')",
        model=True,
    )
    assert printed == "b'a' b'1' b'bb' b'2'\nend\n"
    assert (ending[0], sorted(asked), dropped) == (0, ["a", "bb"], [])


def test_refusal_of_the_host_is_the_answer() -> None:
    _, asked, _, printed = run(
        CALL + "one = call()\n"
        "one.send_bytes(b'refused')\n"
        "from smolagents_fork.codec import decode\n"
        "print(decode(one.recv_bytes()))",
        model=True,
    )
    assert printed == "{'error': ['RuntimeError', 'not this one']}\n"
    assert asked == []


def test_calls_that_the_program_has_dropped_are_dropped_on_the_host() -> None:
    # One closed by a living program, and one that ends with it.
    _, asked, dropped, printed = run(
        CALL + "one, other, last = call(), call(), call()\n"
        "one.send_bytes(b'wait')\n"
        "one.close()\n"
        "other.send_bytes(b'2')\n"
        "print(other.recv_bytes())\n"
        "last.send_bytes(b'wait')",
        model=True,
    )
    assert printed == "b'2'\n"
    begun = [number for number, request in enumerate(asked, 1) if request == "wait"]
    assert sorted(set(dropped)) == begun


def test_program_without_a_model_has_no_address_of_one() -> None:
    _, _, _, printed = run("import os\nprint('SMOLAGENTS_FORK_HOST_MODEL' in os.environ)")
    assert printed == "False\n"
