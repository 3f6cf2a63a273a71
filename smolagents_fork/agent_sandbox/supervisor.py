"""Programs in a sandbox, which its kernel runs one at a time, each in a process of its own.

The kernel imports this module and calls :func:`run`, whose arguments are functions of the host. It
forwards what a program prints, as it does for every process that it starts. When a program ends, or
is interrupted, every process that has come from it is killed, those that left its session included:
the kernel is their subreaper, so orphans become its children.

A program that calls the host's model connects to a socket for each call, sends its request, and
reads the answer; both are messages of :mod:`multiprocessing.connection`. The kernel passes one call
on at a time, without reading it; other calls wait for their turn.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]  # ipykernel requires it

from smolagents_fork.agent_sandbox import ADDRESS_VARIABLE, ANSWER_FILE, PROGRAM_FILE
from smolagents_fork.codec import DEFAULT_MAX_BYTES, encode

__all__ = ["run"]

_PR_SET_CHILD_SUBREAPER = 36
# Variables by which the kernel displays figures; a program has no kernel.
_OF_THE_KERNEL = ("MPLBACKEND", "PLOTLY_RENDERER")
# Killed first when memory is short, before the kernel.
_HIGHEST_OOM_SCORE = "1000"
_STANDARD_OUTPUT = 1
# What a killed process tree takes to be gone; a process in the system's hands cannot be waited for.
_KILL_SECONDS = 5.0
# Longest time until the end of a program is noticed.
_POLL_SECONDS = 0.05
_MAIN = "smolagents_fork.agent_sandbox.program_main"


def run(
    get_job: Callable[[], dict[str, Any]], call_model: Callable[[bytes], bytes] | None = None
) -> tuple[int, bytes | None]:
    """Run a program to its end and return its exit code and its answer. In the main thread.

    Args:
        get_job: returns the program's ``files``, content by relative path, and its ``environment``.
        call_model: answers a call of the host's model; ``None``: the program has no such model.
    """
    interrupted = threading.Event()

    def interrupt(*_: object) -> None:
        interrupted.set()
        _kill_descendants()

    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with (
            tempfile.TemporaryDirectory(prefix="agent-run-", ignore_cleanup_errors=True) as folder,
            socket.socket(socket.AF_UNIX) as server,
        ):
            job = get_job()
            root = Path(folder)
            for name, data in job["files"].items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            environment = {k: v for k, v in os.environ.items() if k not in _OF_THE_KERNEL}
            environment |= {"PYTHONUNBUFFERED": "1", **job["environment"]}
            if call_model is not None:
                address = environment[ADDRESS_VARIABLE] = str(root / "model.sock")
                server.bind(address)
                server.listen()
            try:
                process = _start_process(str(root / PROGRAM_FILE), environment)
                if interrupted.is_set():
                    process.kill()
                if call_model is not None:
                    _serve_calls(process, server, call_model)
                code = process.wait()
            finally:
                _kill_descendants()
                _reap_children()
            return code, _answer(root / ANSWER_FILE)
    finally:
        signal.signal(signal.SIGINT, before)


def _start_process(path: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start the program at a path."""
    process = subprocess.Popen(
        [sys.executable, "-m", _MAIN, path],
        stdin=subprocess.DEVNULL,
        stdout=_STANDARD_OUTPUT,
        # The same pipe: two would lose the order in which the program printed.
        stderr=_STANDARD_OUTPUT,
        env=environment,
        start_new_session=True,
    )
    with contextlib.suppress(OSError):
        Path(f"/proc/{process.pid}/oom_score_adj").write_text(_HIGHEST_OOM_SCORE)
    return process


def _serve_calls(
    process: subprocess.Popen[bytes], server: socket.socket, call_model: Callable[[bytes], bytes]
) -> None:
    """Pass calls of the model on to the host, and the answers back, until the program ends."""
    while process.poll() is None:
        if not select.select([server], (), (), _POLL_SECONDS)[0]:
            continue
        connection, _ = server.accept()
        with Connection(connection.detach()) as caller, contextlib.suppress(OSError, EOFError):
            request = caller.recv_bytes()
            try:
                answer = call_model(request)
            except Exception as error:  # the host's refusal
                answer = encode({"error": [type(error).__name__, str(error)]})
            caller.send_bytes(answer)


def _answer(path: Path) -> bytes | None:
    if not path.is_file():
        return None
    with path.open("rb") as file:
        data: bytes = file.read(DEFAULT_MAX_BYTES)
    return data


def _kill_descendants() -> None:
    """Kill every process that has come from this one.

    A tree that does not end takes the kernel with it, and the sandbox with that.
    """
    end = time.monotonic() + _KILL_SECONDS
    while alive := [*filter(_is_alive, psutil.Process().children(recursive=True))]:
        for process in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        if time.monotonic() > end:
            os.write(2, b"the processes of a program do not end\n")
            os._exit(1)
        time.sleep(0.005)


def _is_alive(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


def _reap_children() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
