"""Host side of a confined Deno process: frames in and out under deadlines, limits, and its exit."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
from collections.abc import Sequence

from ..deadline import Deadline
from ..errors import ExecutorStartError, ProtocolError, SandboxDiedError
from ..guest.frame_stream import FrameStream
from ..guest.frames import Body, Frame, Kind
from ..guest.guest_process import GuestProcess, exit_text
from ..system.forks import forget, keep_open
from ..system.host_pipe import HostPipe
from ..system.shortages import shortage_text
from .deno_binary import BARE_ENVIRONMENT
from .guest_inventory import record_guest

__all__ = ["DenoProcess", "answer_of"]

_KEPT_STDERR = 4000
# Memory of the engine itself, beside that of a program: compiled code, stacks, its own heap.
_ENGINE_BYTES = 256 << 20
# Signal -> usual cause, where it differs from that of other processes.
_CAUSES = {
    "SIGSEGV": "a crash of the engine, or a stack overflow",
    "SIGTRAP": "the engine ended itself, mostly when out of memory",
}


class DenoProcess(GuestProcess):
    """A Deno process, started by the constructor.

    Only one thread at a time may call the methods other than :meth:`interrupt` and :meth:`kill`.

    Args:
        command: Command from :func:`confined_command`.
        kinds: frames that it may send -> most bytes of a body.
        stop_file: file in which it finds the run to stop; removed with the process. ``""``: none.

    Raises:
        ExecutorStartError: the program cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        kinds: dict[Kind, int],
        stop_file: str,
    ) -> None:
        self._closed = False
        self._lock = threading.RLock()
        self._stderr = b""
        self._stop_requests = 0
        self._stop_file = stop_file
        self._record = ""
        self._stop = -1
        try:
            with contextlib.ExitStack() as failed, contextlib.ExitStack() as theirs:
                if stop_file:
                    failed.callback(os.unlink, stop_file)
                    self._stop = os.open(stop_file, os.O_WRONLY)
                    failed.callback(os.close, self._stop)
                self._data, far = socket.socketpair()
                failed.enter_context(self._data)
                data = theirs.enter_context(far).fileno()
                self._errors, errors = os.pipe()
                failed.callback(os.close, self._errors)
                theirs.callback(os.close, errors)
                self._host_pipe = failed.enter_context(contextlib.closing(HostPipe()))
                self._process = subprocess.Popen(
                    command,
                    stdin=data,
                    stdout=data,
                    stderr=errors,
                    env=BARE_ENVIRONMENT,
                    cwd="/",
                    start_new_session=True,
                    pass_fds=self._host_pipe.inherited,
                )
                # Until then it has nothing to run, and ends when it can read nothing.
                self._host_pipe.watch(self._process.pid)
                failed.pop_all()
        except OSError as error:
            self._closed = True
            raise ExecutorStartError(f"Deno cannot be started: {shortage_text(error)}") from None
        self.pid = self._process.pid
        if stop_file:
            self._record = record_guest(stop_file, self.pid)
        keep_open((self._data, self._process))
        os.set_blocking(self._errors, False)
        super().__init__(FrameStream(self._data, kinds))
        self._stream.watch(self._errors)

    # -- frames --

    def turn(self, seconds: float) -> Frame | None:
        """Send what the process reads, and return a frame that is complete.

        Raises:
            SandboxDiedError: the process has ended.
            ProtocolError: the process sent an invalid or unexpected frame.
        """
        try:
            frame = self._stream.turn(seconds)
        except OSError:
            raise self.death() from None
        if frame is None:
            self._read_errors()
        return frame

    def _read_errors(self) -> None:
        if self._errors < 0:
            return
        with contextlib.suppress(OSError):
            data = os.read(self._errors, 1 << 16)
            self._stderr = (self._stderr + data)[-_KEPT_STDERR:]
            if not data:
                self._stream.unwatch(self._errors)
                os.close(self._errors)
                self._errors = -1

    # -- limits --

    def confine(self, memory: int | None) -> None:
        """Limit what the process may use from now on, where the system has such limits.

        Args:
            memory: bytes the code may use; ``None`` for no limit.
        """
        import resource

        prlimit = getattr(resource, "prlimit", None)
        if prlimit is None:
            return  # macOS: the engine's own limits remain
        with contextlib.suppress(ProcessLookupError):
            # The program may not write files, and neither may the engine.
            prlimit(self.pid, resource.RLIMIT_FSIZE, (0, 0))
            prlimit(self.pid, resource.RLIMIT_CORE, (0, 0))
            if memory is not None:
                # Writable memory, not the address space, of which the engine reserves terabytes.
                most = self._writable_bytes() + memory + _ENGINE_BYTES
                prlimit(self.pid, resource.RLIMIT_DATA, (most, most))

    def _writable_bytes(self) -> int:
        try:
            with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
                lines = dict(line.split(":", 1) for line in file)
            return int(lines["VmData"].split()[0]) * 1024
        except (OSError, KeyError, ValueError) as error:
            raise ExecutorStartError(f"no memory figures of process {self.pid}: {error}") from None

    # -- the end --

    @property
    def ended(self) -> bool:
        """True if the process is known to have ended."""
        return self._closed or self._process.poll() is not None

    def death(self) -> SandboxDiedError:
        """Return the error that describes the exit; a process still running is killed."""
        try:
            code = self._process.wait(0.5)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait(5.0)
            return SandboxDiedError(
                f"Deno process {self.pid} closed its output and was killed", cause="connection"
            )
        before = None
        while self._errors >= 0 and before != self._stderr:
            before = self._stderr
            self._read_errors()
        text = self._stderr.decode("utf-8", "replace").strip()
        ending = f"Deno process {self.pid} {exit_text(code, _CAUSES)}"
        cause = "signal" if code < 0 else "exit"
        return SandboxDiedError(f"{ending}: {text}" if text else ending, cause=cause)

    def interrupt(self, run: int) -> None:
        """Stop the program of ``run``; any thread may call this, any number of times."""
        with self._lock, contextlib.suppress(OSError):
            if not self._closed and self._stop >= 0:
                self._stop_requests += 1
                # In one write, and different each time: the guest notices a change.
                os.pwrite(self._stop, f"{run} {self._stop_requests}".ljust(32).encode(), 0)

    def kill(self) -> None:
        """Kill the process; any thread may call this."""
        with self._lock:
            if not self._closed:
                self._process.kill()

    def close(self) -> None:
        """Kill the process and release all resources. Idempotent."""
        with self._lock:
            if self._closed:
                return
            self.kill()
            self._closed = True
        self._process.wait()
        forget((self._data, self._process))
        self._data.close()
        self._host_pipe.close()
        for number in (self._errors, self._stop):
            if number >= 0:
                os.close(number)
        self._errors = self._stop = -1
        for path in filter(None, (self._stop_file, self._record)):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)


def answer_of(
    process: DenoProcess, kind: Kind, body: Body, expected: Kind, deadline: Deadline, limit: str
) -> bytes:
    """Send a frame to a process that starts, and return the body of its answer.

    Args:
        process: has no program yet.
        kind: Kind of the frame.
        body: Body of the frame.
        expected: kind of the answer.
        deadline: Deadline for the process to answer.
        limit: Name of the option that sets the deadline, for the message.

    Raises:
        SandboxDiedError: the process has ended.
        ProtocolError: it did not answer by the deadline, or otherwise.
    """
    process.put(kind, 0, body)
    while not deadline.expired():
        frame = process.turn(deadline.at_most(1.0))
        if frame is not None and frame.kind is expected:
            return bytes(frame.body)
        if frame is not None and frame.kind is not Kind.OUTPUT:
            raise ProtocolError(f"a {frame.kind.name} frame instead of {expected.name}")
    raise ProtocolError(f"the guest did not answer in {limit}={deadline.seconds}")
