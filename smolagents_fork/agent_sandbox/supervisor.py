"""Main process of the agent image: runs programs for the host, one at a time.

It listens on the sandbox's loopback, as a kernel gateway does, so that a provisioner reaches it in
the same way. Each connection is one run. When the run ends, or its connection does, every process
that has come from it is killed, those that left its session included: the supervisor is the
subreaper of the sandbox, so orphans become its children.

Settings come from the environment: KG_IP, KG_PORT and KG_AUTH_TOKEN, as for a gateway.
"""

from __future__ import annotations

import contextlib
import ctypes
import hmac
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from smolagents_fork.agent_sandbox.run_frames import (
    ADDRESS_VARIABLE,
    OUTPUT_BYTES,
    Frame,
    FrameBuffer,
    Kind,
    from_host,
    pack,
    read_block,
    write_block,
)
from smolagents_fork.codec import decode, encode
from smolagents_fork.errors import ForkError

__all__ = ["main"]

_PR_SET_CHILD_SUBREAPER = 36
# A peer that says nothing is none of the host's: it connects, sends its token and the job.
_GREETING_SECONDS = 30.0
# What a killed process tree takes to be gone; a process in the kernel's hands cannot be waited for.
_KILL_SECONDS = 5.0
# How long the rest of the output may take after everything that could write it was killed.
_OUTPUT_SECONDS = 5.0
# A program that does not read the answer to its call must not keep the supervisor.
_ANSWER_SECONDS = 60
_MODEL_SOCKET = "model.sock"


def main() -> None:
    """Serve runs until the process is killed."""
    address = os.environ.pop("KG_IP", "127.0.0.1"), int(os.environ.pop("KG_PORT", "8888"))
    token = os.environ.pop("KG_AUTH_TOKEN", "")
    # Orphans of a program become children of this process.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with socket.create_server(address, backlog=16) as server:
        while True:
            connection, _ = server.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                try:
                    _serve(connection, token)
                except (OSError, ForkError) as error:
                    sys.stderr.write(f"supervisor: {type(error).__name__}: {error}\n")
                finally:
                    kill_descendants()
                    reap()


def kill_descendants() -> None:
    """Kill every process that has come from this one.

    A tree that does not end takes the supervisor with it, and the sandbox with that.
    """
    end = time.monotonic() + _KILL_SECONDS
    while alive := _descendants():
        for pid in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > end:
            sys.stderr.write(f"supervisor: {len(alive)} processes do not end\n")
            os._exit(1)
        time.sleep(0.005)


def reap() -> None:
    """Reap every child that has ended: orphans, since a run's program has been waited for."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if entry.isdigit():
                stat = Path("/proc", entry, "stat").read_bytes()
                # The name, in parentheses, may have anything in it; state and parent follow.
                state, parent = stat[stat.rindex(b")") + 2 :].split(None, 2)[:2]
                if state != b"Z":
                    children.setdefault(int(parent), []).append(int(entry))
    found: list[int] = []
    todo = [os.getpid()]
    while todo:
        todo += (below := children.get(todo.pop(), []))
        found += below
    return found


def _serve(connection: socket.socket, token: str) -> None:
    buffer = FrameBuffer(from_host())
    connection.settimeout(_GREETING_SECONDS)
    frames = _frames(connection, buffer)
    first = next(frames, None)
    if first is None:
        return
    if first.kind is not Kind.TOKEN or not hmac.compare_digest(first.body, token.encode()):
        return
    job = next(frames, None)
    if job is None or job.kind is not Kind.RUN:
        return
    connection.settimeout(None)
    Run(connection, frames).carry_out(decode(job.body, path="job"))


def _frames(connection: socket.socket, buffer: FrameBuffer) -> Iterator[Frame]:
    while True:
        data = connection.recv(1 << 20)
        if not data:
            return
        yield from buffer.feed(data)


class Run:
    """One program, and the connection to the host for it.

    Args:
        connection: for what is sent.
        frames: that still come from the host.
    """

    def __init__(self, connection: socket.socket, frames: Iterator[Frame]) -> None:
        self._connection = connection
        self._frames = frames
        self._send_lock = threading.Lock()
        self._calls_lock = threading.Lock()
        self._calls: dict[int, socket.socket] = {}
        self._last_call = 0
        self._folder = Path(tempfile.mkdtemp(prefix="agent-run-"))

    def carry_out(self, job: dict[str, Any]) -> None:
        """Run the job's program to its end, and report it.

        Args:
            job: ``files`` by relative path, ``argv`` behind the interpreter, ``environment``,
                ``model`` (whether the host serves one), ``result`` (a file's name, or none).
        """
        try:
            for name, data in job["files"].items():
                path = self._folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            with contextlib.ExitStack() as stack:
                environment = {**os.environ, "PYTHONUNBUFFERED": "1", **job["environment"]}
                if job["model"]:
                    address = self._folder / _MODEL_SOCKET
                    listener = stack.enter_context(socket.socket(socket.AF_UNIX))
                    listener.bind(str(address))
                    listener.listen(16)
                    # Closing alone would leave the thread in accept().
                    stack.callback(_shut, listener, socket.SHUT_RDWR)
                    environment[ADDRESS_VARIABLE] = str(address)
                    _in_thread(self._take_calls, listener)
                argv = [part.replace("{run}", str(self._folder)) for part in job["argv"]]
                process = subprocess.Popen(
                    [sys.executable, *argv],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    # One pipe: two would lose the order in which the program printed.
                    stderr=subprocess.STDOUT,
                    env=environment,
                    start_new_session=True,
                )
                self._follow(process, job)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _follow(self, process: subprocess.Popen[bytes], job: dict[str, Any]) -> None:
        assert process.stdout is not None
        pump = _in_thread(self._forward, process.stdout.fileno())
        taker = _in_thread(self._take_replies, process)
        code = process.wait()
        # What the program left running ends with it, and lets go of its output.
        kill_descendants()
        reap()
        pump.join(_OUTPUT_SECONDS)
        result = self._folder / job["result"] if job["result"] else None
        if result is not None and result.is_file():
            self._send(Kind.RESULT, 0, result.read_bytes())
        self._send(Kind.ENDED, 0, encode({"exit_code": code}))
        # The host closes the connection when it has read everything.
        _shut(self._connection, socket.SHUT_WR)
        taker.join(_OUTPUT_SECONDS)
        _shut(self._connection, socket.SHUT_RDWR)
        taker.join(_OUTPUT_SECONDS)

    def _forward(self, descriptor: int) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(descriptor, OUTPUT_BYTES):
                self._send(Kind.OUTPUT, 0, data)

    def _take_replies(self, process: subprocess.Popen[bytes]) -> None:
        try:
            for frame in self._frames:
                if frame.kind is Kind.REPLY:
                    self._pass_on(frame)
        except (OSError, ForkError):
            pass
        finally:
            # The host has gone, or given the run up.
            if process.poll() is None:
                kill_descendants()

    def _pass_on(self, frame: Frame) -> None:
        with self._calls_lock:
            caller = self._calls.get(frame.number)
        if caller is not None:
            try:
                write_block(caller, frame.body)
            except OSError:
                self._forget(frame.number)

    def _take_calls(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                caller, _ = listener.accept()
                _in_thread(self._take_call, caller)

    def _take_call(self, caller: socket.socket) -> None:
        number = None
        try:
            request = read_block(caller)
            if request is None:
                return
            # Only for sending: the answer may be long in coming.
            patience = struct.pack("ll", _ANSWER_SECONDS, 0)
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, patience)
            with self._calls_lock:
                self._last_call += 1
                number = self._last_call
                self._calls[number] = caller
            self._send(Kind.CALL, number, request)
            # A caller says nothing more; the end of its stream says that it has what it wants.
            caller.recv(1)
        except OSError:
            pass
        finally:
            if number is not None:
                self._forget(number)
                with contextlib.suppress(OSError):
                    self._send(Kind.CANCEL, number)
            caller.close()

    def _forget(self, number: int) -> None:
        with self._calls_lock:
            self._calls.pop(number, None)

    def _send(self, kind: Kind, number: int = 0, body: bytes = b"") -> None:
        with self._send_lock:
            self._connection.sendall(pack(kind, number, body))


def _shut(connection: socket.socket, how: int) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(how)


def _in_thread(function: Any, *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


if __name__ == "__main__":
    main()
