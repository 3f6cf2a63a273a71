"""Programs in a sandbox, which its kernel runs one at a time, each in a process of its own.

The kernel imports this module and calls :func:`run`, whose arguments are functions of the host.
When a program ends, or is interrupted, every process that has come from it is killed, those that
left its session included: the kernel is their subreaper, so orphans become its children.

A program that calls the host's model connects to a socket for each call, sends its request, and
reads the pieces of the answer; both are messages of :mod:`multiprocessing.connection`. The kernel
passes them on without reading them.
"""

from __future__ import annotations

import codecs
import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]  # ipykernel requires it

from smolagents_fork.agent_sandbox import ADDRESS_VARIABLE

__all__ = ["run"]

_PR_SET_CHILD_SUBREAPER = 36
# Variables by which the kernel displays figures; a program has no kernel.
_OF_THE_KERNEL = ("MPLBACKEND", "PLOTLY_RENDERER")
# Killed first when memory is short, before the kernel.
_HIGHEST_OOM_SCORE = "1000"
_OUTPUT_BYTES = 1 << 16
# What a killed process tree takes to be gone; a process in the system's hands cannot be waited for.
_KILL_SECONDS = 5.0

_Exchange = Callable[[int, Any, bool], Sequence[tuple[int, bytes, bool]]]


def run(get_job: Callable[[], dict[str, Any]], exchange: _Exchange) -> dict[str, Any]:
    """Run a program to its end and return its exit code and its answer. In the main thread.

    Args:
        get_job: returns ``argv`` of the interpreter, in which ``{run}`` is the folder of ``files``
            (content by relative path); ``environment``; ``answer_file``, empty for none, with
            ``max_answer_bytes``; and ``max_request_bytes`` for the model, 0 without one.
        exchange: gives the host a call's number and its request, or the size of one that is too
            long, or ``None`` when the program has dropped the call (0: for no call); and whether
            to wait for answers. Returns them: the number, a piece, and whether it is the last of
            the call.
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
            if job["max_request_bytes"]:
                address = environment[ADDRESS_VARIABLE] = str(root / "model.sock")
                stack.enter_context(_calls_served(address, exchange, job["max_request_bytes"]))
            argv = [part.replace("{run}", folder) for part in job["argv"]]
            code = _run_process(argv, environment, interrupted.is_set)
            return {"exit_code": code, "answer": _answer(root, job)}
    finally:
        signal.signal(signal.SIGINT, before)


def _run_process(
    argv: Sequence[str], environment: dict[str, str], interrupted: Callable[[], bool]
) -> int:
    """Run the interpreter, print its output, and return its exit code."""
    try:
        process = subprocess.Popen(
            [sys.executable, *argv],
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


def _answer(root: Path, job: dict[str, Any]) -> bytes | None:
    path = root / job["answer_file"]
    if not path.is_file():
        return None
    with path.open("rb") as file:
        data: bytes = file.read(job["max_answer_bytes"])
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
def _calls_served(address: str, exchange: _Exchange, max_bytes: int) -> Iterator[None]:
    """Serve calls of the model in a thread for the block, and wait for its end."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(16)
        thread = threading.Thread(target=_serve_calls, args=(listener, exchange, max_bytes))
        thread.start()
        try:
            yield
        finally:
            # Closing alone would not wake the thread.
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def _serve_calls(listener: socket.socket, exchange: _Exchange, max_bytes: int) -> None:
    """Pass requests and answers on, until the listener is shut down or the host serves no more."""
    callers: dict[Connection, int] = {}
    last = 0

    def pass_on(number: int, request: object, is_waiting: bool) -> None:
        for answered, piece, is_last in exchange(number, request, is_waiting):
            for caller in [one for one, its in callers.items() if its == answered]:
                if is_last:
                    callers[caller] = 0
                with contextlib.suppress(OSError):  # it has gone, and is read next
                    caller.send_bytes(piece)

    try:
        while True:
            events: list[tuple[int, object]] = []
            for ready in wait([listener, *callers], 0 if any(callers.values()) else None):
                if not isinstance(ready, Connection):
                    callers[Connection(listener.accept()[0].detach())] = 0
                    continue
                request: object = None
                with contextlib.suppress(EOFError, OSError):
                    request = ready.recv_bytes()
                if request is None:
                    ready.close()
                    number = callers.pop(ready)
                else:
                    last += 1
                    number = callers[ready] = last
                if isinstance(request, bytes) and len(request) > max_bytes:
                    request = len(request)
                if number:
                    events.append((number, request))
            if any(callers.values()) and not events:
                events.append((0, None))
            for event in events:
                # Only the last waits: a call is not to wait for the answer to another.
                pass_on(*event, event is events[-1] and any(callers.values()))
    except Exception:
        pass  # the run is over: the callers read the end of their streams
    finally:
        for caller in callers:
            caller.close()
