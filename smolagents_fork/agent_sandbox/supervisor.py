"""Programs in a sandbox, which its kernel runs one at a time, each in a process of its own.

The kernel imports this module and calls :func:`run`, whose arguments are functions of the host.
When a program ends, or is interrupted, every process that has come from it is killed, those that
left its session included: the kernel is their subreaper, so orphans become its children.

A program that calls the host's model connects to a socket for each call, sends its request, and
reads the pieces of the answer; all are messages of :mod:`multiprocessing.connection`. The kernel
passes them on without reading them.
"""

from __future__ import annotations

import codecs
import contextlib
import ctypes
import os
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import psutil  # type: ignore[import-untyped]  # ipykernel requires it

from smolagents_fork.agent_sandbox import ADDRESS_VARIABLE, ANSWER_FILE, PROGRAM_FILE
from smolagents_fork.codec import DEFAULT_MAX_BYTES, encode

__all__ = ["run"]

_PR_SET_CHILD_SUBREAPER = 36
# Variables by which the kernel displays figures; a program has no kernel.
_OF_THE_KERNEL = ("MPLBACKEND", "PLOTLY_RENDERER")
# Killed first when memory is short, before the kernel.
_HIGHEST_OOM_SCORE = "1000"
_OUTPUT_BYTES = 1 << 16
# What a killed process tree takes to be gone; a process in the system's hands cannot be waited for.
_KILL_SECONDS = 5.0
# Longest time that the server takes to notice the end of a program.
_ACCEPT_SECONDS = 0.05
_MAIN = "smolagents_fork.agent_sandbox.program_main"


class Model(NamedTuple):
    """Functions of the host by which a program calls its model; see :class:`.ModelService`."""

    begin_call: Callable[[bytes], int]
    fetch_answer: Callable[[int], list[bytes | None]]
    drop_call: Callable[[int], None]


def run(get_job: Callable[[], dict[str, Any]], *model: Callable[..., Any]) -> tuple[int, Any]:
    """Run a program to its end and return its exit code and its answer. In the main thread.

    Args:
        get_job: returns the program's ``files``, content by relative path, and its ``environment``.
        *model: functions of a :class:`Model`; none where the program has no model of the host's.
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
            contextlib.ExitStack() as stack,
        ):
            job = get_job()
            root = Path(folder)
            for name, data in job["files"].items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            environment = {k: v for k, v in os.environ.items() if k not in _OF_THE_KERNEL}
            environment |= {"PYTHONUNBUFFERED": "1", **job["environment"]}
            if model:
                address = environment[ADDRESS_VARIABLE] = str(root / "model.sock")
                stack.enter_context(_calls_served(address, Model(*model)))
            code = _run_process(str(root / PROGRAM_FILE), environment, interrupted.is_set)
            return code, _answer(root / ANSWER_FILE)
    finally:
        signal.signal(signal.SIGINT, before)


def _run_process(path: str, environment: dict[str, str], interrupted: Callable[[], bool]) -> int:
    """Run the program at a path, print its output, and return its exit code."""
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", _MAIN, path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            # One pipe: two would lose the order in which the program printed.
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        with contextlib.suppress(OSError):
            Path(f"/proc/{process.pid}/oom_score_adj").write_text(_HIGHEST_OOM_SCORE)
        if interrupted():
            process.kill()

        def end_processes() -> None:
            process.wait()
            # What the program left running ends with it, and lets go of its output.
            _kill_descendants()

        end = threading.Thread(target=end_processes, daemon=True)
        end.start()
        assert process.stdout is not None
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        with process.stdout as output:
            while data := os.read(output.fileno(), _OUTPUT_BYTES):
                sys.stdout.write(decoder.decode(data))
        sys.stdout.write(decoder.decode(b"", True))
        end.join()
        return process.returncode
    finally:
        _kill_descendants()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


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
    while alive := [one for one in psutil.Process().children(recursive=True) if _is_alive(one)]:
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


@contextlib.contextmanager
def _calls_served(address: str, model: Model) -> Iterator[None]:
    """Serve calls of the model for the block, each in a thread, and wait for their ends."""

    class Call(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            _pass_on(Connection(self.request.detach()), model)

    with socketserver.ThreadingUnixStreamServer(address, Call) as server:
        accepting = threading.Thread(target=server.serve_forever, args=(_ACCEPT_SECONDS,))
        accepting.start()
        try:
            yield
        finally:
            server.shutdown()
            accepting.join()


def _pass_on(caller: Connection, model: Model) -> None:
    """Pass a call on to the host, and the pieces of its answer back."""
    number = 0
    with caller, contextlib.suppress(OSError, EOFError):  # the program has dropped the call
        try:
            number = model.begin_call(caller.recv_bytes())
            # The program has nothing more to send: what can be read is the end of its connection.
            while not caller.poll():
                for piece in model.fetch_answer(number):
                    if piece is None:
                        return
                    caller.send_bytes(piece)
        except (OSError, EOFError):
            raise
        except Exception as error:  # the host's refusal
            caller.send_bytes(encode({"error": ["RuntimeError", str(error)]}))
    if number:
        with contextlib.suppress(Exception):  # the run is over
            model.drop_call(number)
