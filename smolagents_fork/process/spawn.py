"""The host's side of templates and children: start, frames under deadlines, how a child ended."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import mmap
import os
import select
import signal
import site
import socket
import struct
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..errors import ExecutorStartError, ProtocolError, SandboxDiedError
from ..limits import Deadline
from .frames import Frame, FrameReader, Kind, packed

__all__ = ["Child", "Layout", "layout_for", "spawn", "stop_templates"]

LOG_SIZE = 64 * 1024
_LOG_LENGTH = struct.Struct("=I")
_EXIT = struct.Struct("!i")
_KEPT_STDERR = 8 * 1024
# How long the template may take to import everything; a cold disk is slow.
_TEMPLATE_SECONDS = 60.0
_BOOTSTRAP = (
    "import json, sys\n"
    "fd, path, names = json.loads(sys.argv[1])\n"
    "sys.path[:] = path\n"
    "from smolagents_fork.process import template\n"
    "template.preload(names)\n"
    "template.main(fd)\n"
)
# Importing these takes long, and forking afterwards is safe.
_WORTH_PRELOADING = ("numpy", "pandas")


@dataclass(frozen=True)
class Layout:
    """Where children find their modules.

    Attributes:
        path: their ``sys.path``.
        readable: what they may read.
        listable: folders whose names they may list, since imports look there.
        preload: modules the template imports for them.
    """

    path: tuple[str, ...]
    readable: tuple[str, ...]
    listable: tuple[str, ...]
    preload: tuple[str, ...]


def layout_for(imports: Iterable[str], extra_readable: Iterable[str] = ()) -> Layout:
    """The layout for children that may import ``imports``.

    Only the standard library, what is installed, this package and the named modules are readable:
    the folder of a project holds more than its modules.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    root = os.path.dirname(package)
    installed = [os.path.abspath(p) for p in sys.path if p and _is_library(p)]
    modules: dict[str, str] = {}
    for name in {name.split(".")[0] for name in imports if name and name != "*"}:
        for origin in _origins(name):
            if not any(origin.startswith(folder + os.sep) for folder in installed):
                modules[origin] = os.path.dirname(origin)
    system = [
        sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), "/lib", "/lib64", "/usr/lib",
        "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo", "/usr/share/fonts", "/etc/fonts",
        "/etc/ld.so.cache", "/etc/localtime", "/etc/mime.types", "/proc/cpuinfo", "/proc/meminfo",
        "/sys/devices/system",
    ]  # fmt: skip
    listable = [root, *modules.values()]
    preload = [name for name in _WORTH_PRELOADING if name in set(imports)]
    return Layout(
        path=tuple(dict.fromkeys([*installed, root, *modules.values()])),
        readable=tuple(dict.fromkeys([*installed, package, *modules, *system, *extra_readable])),
        listable=tuple(dict.fromkeys(listable)),
        preload=tuple(preload),
    )


def _is_library(folder: str) -> bool:
    folder = os.path.abspath(folder)
    if os.path.basename(folder) in ("site-packages", "dist-packages") or folder.endswith(".zip"):
        return True
    stdlib = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    known = {*stdlib, *(os.path.join(p, "lib-dynload") for p in stdlib), *site.getsitepackages()}
    return folder in known


def _origins(name: str) -> list[str]:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    if spec.submodule_search_locations:
        return [os.path.abspath(place) for place in spec.submodule_search_locations]
    return [os.path.abspath(spec.origin)] if spec.has_location and spec.origin else []


class _Template:
    """A running template, as the host sees it."""

    def __init__(self, layout: Layout) -> None:
        self.owner = os.getpid()
        self._lock = threading.Lock()
        ours, theirs = socket.socketpair()
        try:
            arguments = json.dumps([theirs.fileno(), list(layout.path), list(layout.preload)])
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-X", "utf8", "-c", _BOOTSTRAP, arguments],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()], env=_ENVIRONMENT, cwd="/", start_new_session=True,
            )  # fmt: skip
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._control = ours
        ours.settimeout(_TEMPLATE_SECONDS)
        try:
            ready = ours.recv(1)
        except OSError:
            ready = b""
        stderr: Any = self.process.stderr
        if ready != b"R":
            self.process.kill()
            words = stderr.read(_KEPT_STDERR).decode(errors="replace").strip()
            self.close()
            raise ExecutorStartError(
                f"the template process did not come up within {_TEMPLATE_SECONDS} s: {words}"
            )
        stderr.close()

    def fork(self, request: bytes, descriptors: list[int]) -> int | None:
        """Ask for a child; its process number, or none when this template is gone."""
        with self._lock:
            try:
                socket.send_fds(self._control, [request], descriptors)
                answer = self._control.recv(4, socket.MSG_WAITALL)
            except OSError:
                return None
        return int(struct.unpack("!I", answer)[0]) if len(answer) == 4 else None

    def close(self) -> None:
        """End the template, and with it any child."""
        if self.owner != os.getpid():
            return  # a fork of the host has no part in it
        self._control.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5)
        if self.process.stderr is not None:
            self.process.stderr.close()


# One thread each for numerical libraries: children are confined to one, and threads do not survive
# a fork.
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MPLBACKEND": "agg",
}
_templates: dict[tuple[Any, ...], _Template] = {}
_templates_lock = threading.Lock()


def _template(layout: Layout, renew: _Template | None = None) -> _Template:
    key = (layout.path, layout.preload)
    with _templates_lock:
        found = _templates.get(key)
        if found is not None and (found is renew or found.owner != os.getpid()):
            found.close()
            found = None
        if found is None:
            found = _templates[key] = _Template(layout)
        return found


def stop_templates() -> None:
    """End every template of this process; the next child starts a new one."""
    with _templates_lock:
        for template in _templates.values():
            template.close()
        _templates.clear()


atexit.register(stop_templates)


def spawn(layout: Layout, bounds: dict[str, Any], kinds: dict[Kind, int]) -> Child:
    """Fork a child from the warm template, which is started if it is not there.

    Args:
        layout: where the child finds its modules; decides which template.
        bounds: fields of ``confinement.Bounds`` but those of the layout.
        kinds: frames that are taken from the child.

    Raises:
        ExecutorStartError: no template, or no child.
    """
    bounds = {**bounds, "readable": layout.readable, "listable": layout.listable}
    request = json.dumps(bounds).encode()
    template = _template(layout)
    for attempt in (1, 2):
        child = _forked(template, request, kinds)
        if child is not None:
            return child
        if attempt == 1:
            # It had gone away after a long idle time, or something has killed it.
            template = _template(layout, renew=template)
    raise ExecutorStartError("the template process ends before it forks a child")


def _forked(template: _Template, request: bytes, kinds: dict[Kind, int]) -> Child | None:
    with contextlib.ExitStack() as stack:
        data, their_data = socket.socketpair()
        status, their_status = socket.socketpair()
        output, their_output = os.pipe()
        log = _shared_file()
        theirs = [their_data.fileno(), their_status.fileno(), their_output, log]
        for end in (their_data, their_status):
            stack.callback(end.close)
        for number in (their_output, log):
            stack.callback(os.close, number)
        memory = mmap.mmap(log, LOG_SIZE)
        child = Child(data, status, output, memory, kinds)
        pid = None
        try:
            pid = template.fork(request, theirs)
        finally:
            if pid is None:
                child.close()
        if pid is None:
            return None
        child.pid = pid
        return child


def _shared_file() -> int:
    if hasattr(os, "memfd_create"):
        number: int = os.memfd_create("output", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            number = os.dup(file.fileno())
    os.ftruncate(number, LOG_SIZE)
    return number


class Child:
    """A child as the host sees it: frames in and out under deadlines, and its end.

    Every method but :meth:`interrupt` and :meth:`kill` belongs to one thread at a time.
    """

    def __init__(
        self,
        data: socket.socket,
        status: socket.socket,
        output: int,
        log: mmap.mmap,
        kinds: dict[Kind, int],
    ) -> None:
        self.pid = 0
        self.exit_code: int | None = None
        self._data = data
        self._status = status
        self._output: int | None = output
        self._log = log
        self._reader = FrameReader(kinds)
        self._stderr = b""
        self._closed = False
        data.setblocking(False)
        status.setblocking(False)
        os.set_blocking(output, False)

    def send(self, kind: Kind, run: int, body: bytes, deadline: Deadline) -> None:
        """Send a frame.

        Raises:
            SandboxDiedError: the child is gone.
            ProtocolError: it has not taken the frame by the deadline.
        """
        rest = memoryview(packed(kind, run, body))
        while rest:
            try:
                rest = rest[self._data.send(rest) :]
            except BlockingIOError:
                left = deadline.remaining()
                _, ready, _ = select.select([], [self._data], [], 1.0 if left is None else left)
                if not ready and deadline.expired():
                    raise ProtocolError(
                        f"the child took {len(body) - len(rest)} of {len(body)} bytes in "
                        f"{deadline.seconds} s and then no more"
                    ) from None
            except OSError as error:
                raise self.death() from error

    def receive(self, seconds: float) -> Frame | None:
        """The next frame, or none after ``seconds`` without a whole one.

        Raises:
            SandboxDiedError: the child is gone.
            ProtocolError: what came is no frame that may come here.
        """
        end = time.monotonic() + seconds
        while True:
            wanted = self._reader.wanted
            try:
                data = self._data.recv(min(wanted, 1 << 20)) if wanted else b""
            except BlockingIOError:
                left = end - time.monotonic()
                if left <= 0 or not self._wait(left):
                    return None
                continue
            except OSError as error:
                raise self.death() from error
            if wanted and not data:
                raise self.death()
            frame = self._reader.feed(data)
            if frame is not None:
                return frame

    def _wait(self, seconds: float) -> bool:
        watched: list[Any] = [self._data, self._status]
        if self._output is not None:
            watched.append(self._output)
        ready, _, _ = select.select(watched, [], [], seconds)
        if self._output in ready:
            self._read_output()
        if self._status in ready:
            self._read_status()
            if self._data not in ready:
                # Nobody can write to it any more, unless the program gave it away.
                raise self.death()
        return bool(ready)

    def _read_output(self) -> None:
        if self._output is None:
            return
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._output, 1 << 16)
            self._stderr = (self._stderr + data)[-_KEPT_STDERR:]
            if not data:
                os.close(self._output)
                self._output = None

    def _read_status(self) -> None:
        if self.exit_code is None:
            with contextlib.suppress(OSError):
                data = self._status.recv(_EXIT.size)
                self.exit_code = (
                    _EXIT.unpack(data)[0] if len(data) == _EXIT.size else -signal.SIGKILL
                )

    @property
    def ended(self) -> bool:
        """Whether the child is known to be gone."""
        self._read_status()
        return self.exit_code is not None

    def death(self, seconds: float = 2.0) -> SandboxDiedError:
        """The error that says how the child ended; waits ``seconds`` for its exit code."""
        end = time.monotonic() + seconds
        while self.exit_code is None and time.monotonic() < end:
            select.select([self._status], [], [], max(0.0, end - time.monotonic()))
            self._read_status()
        if self.exit_code is None:
            self.kill()
            return SandboxDiedError(f"process {self.pid} closed its connection and was killed")
        self._read_output()
        words = self._stderr.decode("utf-8", "replace").strip()
        return SandboxDiedError(
            f"process {self.pid} {_end_in_words(self.exit_code)}" + (f": {words}" if words else "")
        )

    def last_words(self) -> str:
        """What was printed and had not been sent when the child ended."""
        length = _LOG_LENGTH.unpack_from(self._log, 0)[0]
        begin = _LOG_LENGTH.size
        length = min(length, LOG_SIZE - begin)  # the child may have written anything
        return self._log[begin : begin + length].decode("utf-8", "replace")

    def interrupt(self) -> None:
        """Have the program stopped; from any thread."""
        with contextlib.suppress(OSError):
            self._status.send(b"I")

    def kill(self) -> None:
        """Have the process killed, and all it started; from any thread."""
        with contextlib.suppress(OSError):
            self._status.send(b"K")

    def close(self) -> None:
        """Kill the child and let go of everything. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self.kill()
        self._data.close()
        self._status.close()
        if self._output is not None:
            os.close(self._output)
            self._output = None
        self._log.close()


def _end_in_words(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = {
        "SIGXCPU": " (over its processor time)",
        "SIGKILL": " (by the kernel for want of memory, or by somebody)",
        "SIGSEGV": " (a crash in native code, or a stack overflow)",
    }.get(name, "")
    return f"was ended by {name}{hint}"
