"""A provisioner whose sandboxes are plain processes: a real gateway and kernel, not confined.

It shows that no caller of the protocol needs Docker. An image is the path of a Python that has the
packages of ``docker/jupyter/requirements.txt``.
"""

from __future__ import annotations

import contextlib
import os
import resource
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ports import free_port

from smolagents_fork.errors import ExecutorError, ExecutorStartError, FileTooLargeError
from smolagents_fork.results import ExecutorStats, FileInfo
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.engine_protocol import Note, no_note
from smolagents_fork.sandboxes.provisioner import (
    ImageSpec,
    Report,
    SandboxSpec,
    SandboxStatus,
)
from smolagents_fork.sandboxes.resource_limits import parse_size
from tools.paths import ROOT

__all__ = ["ProcessEngine", "ProcessProvisioner", "ProcessSandbox"]

GATEWAY = ROOT / "docker" / "jupyter" / "kernel_server.py"
LOG_LINES = 8


class ProcessSandbox:
    """One gateway process, and the kernels it starts."""

    def __init__(self, spec: SandboxSpec) -> None:
        self.id = uuid.uuid4().hex[:12]
        self.spec = spec
        self.gateway_token = secrets.token_urlsafe(24)
        self._folder = Path(tempfile.mkdtemp(prefix="kernel-"))
        self._port = free_port()
        self._removed = threading.Event()
        self._log = self._folder / "log"
        Path(spec.workdir).mkdir(parents=True, exist_ok=True)
        environment = {
            "PATH": f"{Path(spec.image).parent}:{os.environ['PATH']}",
            "HOME": spec.workdir,
            "TMPDIR": str(self._folder),
            "JUPYTER_RUNTIME_DIR": str(self._folder / "jupyter"),
            "IPYTHONDIR": str(self._folder / "ipython"),
            "KG_IP": "127.0.0.1",
            "KG_PORT": str(self._port),
            "KG_AUTH_TOKEN": self.gateway_token,
            **spec.environment,
        }
        try:
            with self._log.open("wb") as log:
                self._process = subprocess.Popen(
                    [spec.image, str(GATEWAY)],
                    cwd=spec.workdir,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    preexec_fn=self._limit,
                )
        except OSError as error:
            shutil.rmtree(self._folder)
            raise ExecutorStartError(f"image {spec.image!r}: {error}") from error

    def _limit(self) -> None:
        if self.spec.limits.memory is not None:
            size = parse_size(self.spec.limits.memory) or 0
            resource.setrlimit(resource.RLIMIT_AS, (size, size))

    def open_stream(self, *, timeout: float) -> socket.socket:
        end = time.monotonic() + timeout
        while True:
            if self._removed.is_set():
                raise ExecutorError(f"sandbox {self.id} has been removed")
            try:
                return socket.create_connection(("127.0.0.1", self._port), timeout=5)
            except OSError:
                if time.monotonic() > end or self._process.poll() is not None:
                    raise
                time.sleep(0.02)

    def engine_responds(self) -> bool:
        return True

    def status(self) -> SandboxStatus:
        lines: tuple[str, ...] = ()
        with contextlib.suppress(OSError):
            lines = tuple(self._log.read_text("utf-8", "replace").splitlines()[-LOG_LINES:])
        code = self._process.poll()
        if code is None:
            return SandboxStatus("running", log_lines=lines)
        return SandboxStatus("ended", 128 - code if code < 0 else code, log_lines=lines)

    def stats(self) -> ExecutorStats:
        if self._process.poll() is not None:
            raise ExecutorError(f"sandbox {self.id} has ended")
        memory = cpu = pids = 0.0
        tick = os.sysconf("SC_CLK_TCK")
        for pid in _processes_of(self._folder):
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                pids += int(fields[17])
                cpu += (int(fields[11]) + int(fields[12])) / tick
                memory += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
        limit = self.spec.limits.memory
        return ExecutorStats(
            memory_bytes=int(memory),
            memory_limit_bytes=None if limit is None else parse_size(limit),
            cpu_seconds=cpu,
            pids=int(pids),
        )

    def write_file(self, path: str, pieces: Iterable[bytes], size: int) -> None:
        self._check_there()
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            part = Path(path).parent / f".{secrets.token_hex(8)}.part"
            part.write_bytes(b"".join(pieces))
            if Path(path).is_dir():
                part.unlink()
                raise IsADirectoryError("it is a folder")
            part.replace(path)
        except OSError as error:
            raise ExecutorError(str(error)) from error

    def make_folder(self, path: str) -> None:
        self._check_there()
        try:
            Path(path).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ExecutorError(str(error)) from error

    def read_file(self, path: str, max_bytes: int) -> bytes:
        self._check_there()
        try:
            with open(path, "rb") as file:
                data = file.read(max_bytes + 1)
        except OSError as error:
            raise ExecutorError(str(error)) from error
        if len(data) > max_bytes:
            raise FileTooLargeError(f"it has more than {max_bytes} bytes")
        return data

    def list_files(self, path: str) -> list[FileInfo]:
        self._check_there()
        top = Path(path)
        if not top.exists():
            raise ExecutorError("No such file or directory")
        found = sorted(top.rglob("[!.]*")) if top.is_dir() else [top]
        return [FileInfo(str(p), p.stat().st_size) for p in found if p.is_file()]

    def _check_there(self) -> None:
        if self._removed.is_set() or self._process.poll() is not None:
            raise ExecutorError(f"sandbox {self.id} has ended")

    @property
    def there(self) -> bool:
        """Tell whether its main process runs."""
        return self._process.poll() is None

    def remove(self) -> None:
        if self._removed.is_set():
            return
        self._removed.set()
        # First the gateway, which starts kernels until it ends; then the kernels.
        self._process.kill()
        self._process.wait()
        end = time.monotonic() + 10
        while (started := _processes_of(self._folder)) and time.monotonic() < end:
            for pid in started:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        shutil.rmtree(self._folder, ignore_errors=True)


class ProcessProvisioner:
    """Starts :class:`ProcessSandbox`."""

    def __init__(self) -> None:
        self._sandboxes: list[ProcessSandbox] = []

    def prepare_image(self, spec: ImageSpec, *, report: Report, rebuild: bool = False) -> str:
        if spec.image is None or not Path(spec.image).is_file():
            raise ExecutorStartError(f"image {spec.image!r}: not the path of a Python")
        return spec.image

    def start(self, spec: SandboxSpec) -> ProcessSandbox:
        sandbox = ProcessSandbox(spec)
        self._sandboxes.append(sandbox)
        return sandbox

    def ours(self) -> list[str]:
        return [sandbox.id for sandbox in self._sandboxes if sandbox.there]

    def wait_until_removed(self, timeout: float) -> bool:
        return True

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class ProcessEngine:
    """This machine as an engine."""

    password: str = field(default="", repr=False)
    name = "process"

    @property
    def refused_options(self) -> dict[str, str]:
        return {"volumes": "a process has all folders of this machine"}

    def network_remedy(self, options: ContainerOptions, owner: str) -> str:
        return ""

    def connect(self, options: ContainerOptions, *, note: Note = no_note) -> ProcessProvisioner:
        return ProcessProvisioner()


def _processes_of(folder: Path) -> list[int]:
    """List the processes whose environment names ``folder``: a sandbox's gateway and kernels."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.fsencode(folder) in (process / "environ").read_bytes():
                found.append(int(process.name))
    return found
