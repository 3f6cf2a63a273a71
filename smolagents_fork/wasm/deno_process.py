"""A confined Deno process as its host sees it: frames in and out, limits, and its end."""

from __future__ import annotations

import codecs
import contextlib
import math
import os
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence

from ..deadline import Deadline
from ..errors import ExecutorStartError, ProtocolError, SandboxDiedError
from ..guest.frames import Body, Frame, FrameReader, Kind, body_size, packed
from ..guest.guest_process import remaining_text
from .deno_binary import BARE_ENVIRONMENT

__all__ = ["DenoProcess", "body_of"]

_KEPT_STDERR = 4000
#: What the engine may use besides the memory of a program: compiled code, stacks, its own heap.
_ENGINE_BYTES = 256 << 20

# What is open, so that garbage collection finds it by its owner only: of an executor in a
# cycle, as every agent's is, it could take these first, which Python reports as not closed.
_open: set[socket.socket | subprocess.Popen[bytes]] = set()


class DenoProcess:
    """A Deno process, started by the constructor.

    Every method but :meth:`interrupt` and :meth:`kill` belongs to one thread at a time.

    Args:
        command: from :func:`confined_command`.
        kinds: frames that are taken from it, and the longest body of each.
        stop_file: where it looks for the run that is to stop; removed with the process. ``""``
            for nowhere.

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
        self._reader = FrameReader(kinds)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._stderr = b""
        self._wishes = 0
        self._cpu_seconds: float | None = None
        self._stop_file = stop_file
        self._stop = os.open(stop_file, os.O_WRONLY) if stop_file else -1
        self._data, theirs = socket.socketpair()
        self._errors, their_errors = os.pipe()
        try:
            self._process = subprocess.Popen(
                command,
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=their_errors,
                env=BARE_ENVIRONMENT,
                cwd=tempfile.gettempdir(),
                start_new_session=True,
            )
        except OSError as error:
            self._closed = True
            self._close_ends()
            raise ExecutorStartError(f"Deno cannot be started: {error}") from error
        finally:
            theirs.close()
            os.close(their_errors)
        self.pid = self._process.pid
        _open.update((self._data, self._process))
        self._data.setblocking(False)
        os.set_blocking(self._errors, False)

    # -- frames --

    def send(self, kind: Kind, run: int, body: Body, deadline: Deadline) -> None:
        """Send a frame.

        Raises:
            SandboxDiedError: the process is gone.
            ProtocolError: it has not taken the frame by the deadline.
        """
        if kind is Kind.RUN and self._cpu_seconds is not None:
            self._limit_cpu(self._cpu_seconds)
        rest = memoryview(packed(kind, run, body))
        while rest:
            try:
                rest = rest[self._data.send(rest) :]
            except BlockingIOError:
                if not self._wait(select.POLLOUT, deadline.at_most(1.0)) and deadline.expired():
                    size = body_size(body)
                    raise ProtocolError(
                        f"Deno took {size - len(rest)} of {size} bytes in "
                        f"{deadline.seconds} s and then no more"
                    ) from None
            except OSError as error:
                raise self.death() from error

    def receive(self, seconds: float) -> Frame | None:
        """The next frame, or none after ``seconds`` without a whole one.

        Raises:
            SandboxDiedError: the process is gone.
            ProtocolError: what came is not a frame that may come here.
        """
        end = time.monotonic() + seconds
        while True:
            wanted = self._reader.wanted
            try:
                data = self._data.recv(min(wanted, 1 << 20)) if wanted else b""
            except BlockingIOError:
                left = end - time.monotonic()
                if left <= 0 or not self._wait(select.POLLIN, left):
                    return None
                continue
            except OSError as error:
                raise self.death() from error
            if wanted and not data:
                raise self.death()
            frame = self._reader.feed(data)
            if frame is not None:
                return frame

    def _wait(self, event: int, seconds: float) -> bool:
        """Wait for the connection; what Deno says on standard error is read meanwhile."""
        if self._closed:
            return True  # by another thread: whoever uses the connection is told so
        poll = select.poll()
        poll.register(self._data, event)
        if self._errors >= 0:
            poll.register(self._errors, select.POLLIN)
        ready = poll.poll(max(0.0, seconds) * 1000)
        if any(number == self._errors for number, _ in ready):
            self._read_errors()
        return bool(ready)

    def _read_errors(self) -> None:
        with contextlib.suppress(OSError):
            data = os.read(self._errors, 1 << 16)
            self._stderr = (self._stderr + data)[-_KEPT_STDERR:]
            if not data:
                os.close(self._errors)
                self._errors = -1

    def text_of(self, frame: Frame) -> str:
        """The text of an OUTPUT frame."""
        return self._decoder.decode(frame.body)

    def text_in_log(self) -> str:
        """Nothing: every print is a frame at once."""
        return ""

    def remaining_text(self) -> str:
        """All text that is left of a process that has ended, or is about to."""
        return remaining_text(self, self._decoder)

    # -- limits --

    def confine(self, memory: int | None, cpu_seconds: float | None) -> None:
        """Limit what the process may use from now on, where the system has such limits.

        Args:
            memory: bytes the code may use; ``None`` for no limit.
            cpu_seconds: processor time of one run, for a run that outlives its host; ``None`` for
                no limit.
        """
        self._cpu_seconds = cpu_seconds
        import resource

        prlimit = getattr(resource, "prlimit", None)
        if prlimit is None:
            return  # macOS: the engine's own limits remain
        with contextlib.suppress(ProcessLookupError):
            # It has no permission to write; what the engine itself may want to keep, neither.
            prlimit(self.pid, resource.RLIMIT_FSIZE, (0, 0))
            prlimit(self.pid, resource.RLIMIT_CORE, (0, 0))
            if memory is not None:
                # Not the address space, of which the engine reserves terabytes: what it may write.
                most = self._writable_bytes() + memory + _ENGINE_BYTES
                prlimit(self.pid, resource.RLIMIT_DATA, (most, most))

    def _limit_cpu(self, seconds: float) -> None:
        import resource

        prlimit = getattr(resource, "prlimit", None)
        if prlimit is None:
            return
        with contextlib.suppress(OSError, ValueError):  # it may have ended
            with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
                fields = file.read().rpartition(")")[2].split()
            used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            _, hard = prlimit(self.pid, resource.RLIMIT_CPU)
            prlimit(self.pid, resource.RLIMIT_CPU, (math.ceil(used + seconds), hard))

    def _writable_bytes(self) -> int:
        try:
            with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
                lines = dict(line.split(":", 1) for line in file)
            return int(lines["VmData"].split()[0]) * 1024
        except (OSError, KeyError, ValueError) as error:
            raise ExecutorStartError(f"no memory figures of process {self.pid}: {error}") from error

    # -- the end --

    @property
    def ended(self) -> bool:
        """Tell whether the process is known to be gone."""
        return self._closed or self._process.poll() is not None

    def death(self) -> SandboxDiedError:
        """The error that says how the process ended; one that has not is killed."""
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
        words = self._stderr.decode("utf-8", "replace").strip()
        ending = f"Deno process {self.pid} {_end_in_words(code)}"
        cause = "signal" if code < 0 else "exit"
        return SandboxDiedError(f"{ending}: {words}" if words else ending, cause=cause)

    def interrupt(self, run: int) -> None:
        """Have the program of ``run`` stopped; from any thread, as often as one likes."""
        with self._lock, contextlib.suppress(OSError):
            if not self._closed and self._stop >= 0:
                self._wishes += 1
                # In one piece, and another text each time: the guest looks for a change.
                os.pwrite(self._stop, f"{run} {self._wishes}".ljust(32).encode(), 0)

    def kill(self) -> None:
        """Have the process killed; from any thread."""
        with self._lock:
            if not self._closed:
                self._process.kill()

    def close(self) -> None:
        """Kill the process and let go of everything. Idempotent."""
        with self._lock:
            if self._closed:
                return
            self.kill()
            self._closed = True
        self._process.wait()
        self._close_ends()
        _open.difference_update((self._data, self._process))

    def _close_ends(self) -> None:
        self._data.close()
        for number in (self._errors, self._stop):
            if number >= 0:
                os.close(number)
        self._errors = self._stop = -1
        if self._stop_file:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._stop_file)


def _end_in_words(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = {
        "SIGKILL": " (by the kernel for want of memory, or by somebody)",
        "SIGXCPU": " (over its processor time)",
        "SIGTRAP": " (the engine gave up, mostly for want of memory)",
        "SIGSEGV": " (a crash of the engine, or a stack overflow)",
    }.get(name, "")
    return f"was ended by {name}{hint}"


def body_of(process: DenoProcess, kind: Kind, deadline: Deadline) -> bytes:
    """The body of the one frame that ``process`` is to send by the deadline."""
    while not deadline.expired():
        frame = process.receive(deadline.at_most(1.0))
        if frame is not None and frame.kind is kind:
            return bytes(frame.body)
    raise ProtocolError(f"no {kind.name} frame within {deadline.seconds} s")
