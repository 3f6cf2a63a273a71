"""Programs run by the supervisor, here in a process of the test's own instead of a kernel."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

psutil = pytest.importorskip("psutil")

#: Runs a job with an exchange that answers each request twice: with it, and with its end.
KERNEL = """
import json, os, signal, sys, threading
from smolagents_fork.agent_sandbox import supervisor
job = json.loads(sys.argv[1])
job["files"] = {name: text.encode() for name, text in job["files"].items()}
# As a kernel has it, also where this process was started with the signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
asked, waiting = [], []
def exchange(number, request, is_waiting):
    asked.append([number, request.decode() if isinstance(request, bytes) else request])
    if isinstance(request, bytes):
        waiting.extend([(number, request, False), (number, b"end", True)])
    if is_waiting:
        answers, waiting[:] = waiting[:], []
        return answers
    return []
if sys.argv[2:]:
    threading.Timer(float(sys.argv[2]), os.kill, (os.getpid(), signal.SIGINT)).start()
ending = supervisor.run(lambda: job, exchange)
ending["answer"] = ending["answer"] and ending["answer"].decode()
threads = [one.name for one in threading.enumerate() if one.name != "MainThread"]
left = [one.name() for one in supervisor.psutil.Process().children(recursive=True)]
handler = signal.getsignal(signal.SIGINT) is signal.default_int_handler
sys.stderr.write(json.dumps([ending, asked, threads, left, handler]))
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
    program: str, *arguments: str, answer_file: str = "", max_request_bytes: int = 0
) -> tuple[dict[str, Any], list[Any], str]:
    """Return how a program ended, what it asked, and what it printed; nothing of it is left."""
    job = {
        "argv": ["{run}/program.py", "{run}"],
        "files": {"program.py": program, "folder/data": "data"},
        "environment": {"SECRET": "x"},
        "answer_file": answer_file,
        "max_answer_bytes": 5,
        "max_request_bytes": max_request_bytes,
    }
    ended = subprocess.run(
        [sys.executable, "-c", KERNEL, json.dumps(job), *arguments],
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    ending, asked, threads, left, handler = json.loads(ended.stderr)
    assert (threads, left, handler) == ([], [], True)
    return ending, asked, ended.stdout


def test_program_gets_files_and_secrets_and_leaves_an_answer() -> None:
    ending, asked, printed = run(
        "import os, sys\n"
        "folder = sys.argv[1]\n"
        "print(open(f'{folder}/folder/data').read(), os.environ['SECRET'])\n"
        "print('error \N{EURO SIGN}', file=sys.stderr)\n"
        "open(f'{folder}/out', 'w').write('answer')\n"
        "sys.exit(3)",
        answer_file="out",
    )
    assert ending == {"exit_code": 3, "answer": "answe"}
    assert (asked, printed) == ([], "data x\nerror \N{EURO SIGN}\n")


def test_processes_that_a_program_leaves_end_with_it() -> None:
    ending, _, printed = run(
        "import subprocess\n"
        "subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "print('left')"
    )
    assert (ending, printed) == ({"exit_code": 0, "answer": None}, "left\n")


def test_interrupted_program_is_killed_with_what_it_started() -> None:
    ending, _, printed = run(
        "import signal, subprocess, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "print('begun')\n"
        "time.sleep(600)",
        "2",
    )
    assert ending == {"exit_code": -9, "answer": None}
    assert printed in ("begun\n", "")  # a busy machine may take longer to begin


def test_calls_are_passed_on_and_answered_until_their_end() -> None:
    ending, asked, printed = run(
        CALL + "one, other = call(), call()\n"
        "one.send_bytes(b'1')\n"
        "other.send_bytes(b'2')\n"
        "print(*[one.recv_bytes(), one.recv_bytes(), other.recv_bytes(), other.recv_bytes()])",
        max_request_bytes=10,
    )
    assert printed == "b'1' b'end' b'2' b'end'\n"
    assert ending["exit_code"] == 0
    assert sorted(text for _, text in asked if isinstance(text, str)) == ["1", "2"]


def test_dropped_call_and_size_of_a_long_one_are_told_to_the_host() -> None:
    _, asked, _ = run(
        CALL + "long = call()\n"
        "long.send_bytes(b'x' * 11)\n"
        "long.close()\n"
        "other = call()\n"
        "other.send_bytes(b'2')\n"
        "other.recv_bytes()",
        max_request_bytes=10,
    )
    assert asked.index([1, 11]) < asked.index([1, None])


def test_program_without_a_model_has_no_address_of_one() -> None:
    _, _, printed = run("import os\nprint('SMOLAGENTS_FORK_HOST_MODEL' in os.environ)")
    assert printed == "False\n"
