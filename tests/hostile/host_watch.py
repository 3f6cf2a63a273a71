"""Resources of a host that child processes must not reach or change, and checks of them."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hostile_canary
from attacks import SHARED_FOLDERS
from background import eventually

#: Seconds that killed processes may need to disappear, on a busy machine.
GONE_SECONDS = 20.0


class HostWatch:
    """Resources of the host that programs attack, and a snapshot of them.

    An executor created in :meth:`own_folders` has its folders in :attr:`sandboxes`, separate from
    those of other processes.
    """

    def __init__(self) -> None:
        self.marker = f"hostile-canary-{secrets.token_hex(6)}"
        self.key = secrets.randbits(30) | 1 << 30
        self.root = Path(tempfile.mkdtemp(prefix="hostile-host-"))
        self.tree = self.root / "tree"
        self.sandboxes = self.root / "sandboxes"
        self.secret_file = self.tree / "secret"
        (self.tree / "folder").mkdir(parents=True)
        self.sandboxes.mkdir()
        self.secret_file.write_text(hostile_canary.SECRET)
        self.secret_file.chmod(0o600)
        self.file = self.tree / "file"
        self.file.write_text("nothing to see\n")
        with contextlib.suppress(OSError):
            os.setxattr(self.secret_file, "user.canary", b"kept")
        self.inherited = os.open(self.secret_file, os.O_WRONLY)
        os.set_inheritable(self.inherited, True)
        (self.tree / "link").symlink_to(self.file)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.local = socket.socket(socket.AF_UNIX)
        self.local.bind(str(self.tree / "socket"))
        self.abstract = socket.socket(socket.AF_UNIX)
        self.abstract.bind("\0" + self.marker)
        self.datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.datagrams.bind(str(self.tree / "datagram"))
        for one in (self.local, self.abstract):
            one.listen()
        for one in (self.listener, self.local, self.abstract, self.datagrams):
            one.setblocking(False)
        self.victim = subprocess.Popen(
            [sys.executable, "-c", "import time\nwhile True: time.sleep(60)"],
            start_new_session=True,
        )
        os.environ["HOSTILE_SECRET"] = hostile_canary.SECRET
        #: All children so far.
        self.children: set[int] = set()

    @contextlib.contextmanager
    def own_folders(self) -> Iterator[None]:
        """Make temporary folders be created in :attr:`sandboxes`."""
        before, tempfile.tempdir = tempfile.tempdir, str(self.sandboxes)
        try:
            yield
        finally:
            tempfile.tempdir = before

    def facts(self) -> dict[str, Any]:
        """Return the targets that a program is given."""
        return {
            "pid": os.getpid(),
            "neighbour": self.victim.pid,
            "tree": str(self.tree),
            "canary": str(self.secret_file),
            "file": str(self.file),
            "library": json.__file__,
            "home": os.path.expanduser("~"),
            "files": [_identity(self.inherited)],
            "stream": str(self.tree / "socket"),
            "datagram": str(self.tree / "datagram"),
            "abstract": self.marker,
            "port": self.listener.getsockname()[1],
            "marker": self.marker,
            "key": self.key,
            "address": id(hostile_canary.SECRET),
        }

    def snapshot(self) -> dict[str, Any]:
        """Return the state that must be the same afterwards."""
        marks: dict[str, Any] = {}
        for path in sorted([self.tree, *self.tree.rglob("*"), Path(json.__file__)]):
            found = path.lstat()
            name = f"file {os.path.relpath(path, self.root)}"
            # The last value changes with any attribute other than the contents.
            marks[name] = (
                oct(found.st_mode), found.st_uid, found.st_gid, found.st_size, found.st_nlink,
                found.st_mtime_ns, found.st_ctime_ns,
            )  # fmt: skip
            if path.is_file() and not path.is_symlink():
                marks[f"contents of {name}"] = path.read_bytes()
        marks["names with the marker"] = [str(path) for path in self._marked()]
        marks["connections"] = [
            number
            for number, one in enumerate((self.listener, self.local, self.abstract))
            if _accepts(one)
        ]
        marks["datagram"] = b""
        with contextlib.suppress(BlockingIOError):
            marks["datagram"] = self.datagrams.recv(100)
        marks["system V"] = [
            line
            for kind in ("shm", "sem", "msg")
            for line in _lines(f"/proc/sysvipc/{kind}")
            if str(self.key) in line.split()
        ]
        marks["victim"] = self._victim()
        marks["this process"] = (
            os.getcwd(), os.getpriority(os.PRIO_PROCESS, 0), sorted(os.sched_getaffinity(0)),
            [str(signal.getsignal(number)) for number in signal.valid_signals()],
            [resource.getrlimit(n) for n in (resource.RLIMIT_AS, resource.RLIMIT_NOFILE)],
        )  # fmt: skip
        return marks

    def _marked(self) -> list[Path]:
        found: list[Path] = []
        for folder in (*SHARED_FOLDERS, os.path.expanduser("~")):
            with contextlib.suppress(OSError):
                found += [path for path in Path(folder).iterdir() if self.marker in path.name]
        return found

    def _victim(self) -> Any:
        pid = self.victim.pid
        if self.victim.poll() is not None:
            return f"ended with {self.victim.returncode}"
        fields = _lines(f"/proc/{pid}/stat")[0].rpartition(")")[2].split()
        # Whether it is alive, its group, its priority and its scheduling policy.
        kept = [fields[n] for n in (1, 2, 3, 15, 16, 38)]
        limits, cores = _lines(f"/proc/{pid}/limits"), sorted(os.sched_getaffinity(pid))
        return [fields[0] in "SR", *kept, *limits, *cores]

    def left_behind(self, folder: str | None, pid: int | None) -> list[str]:
        """Return processes and folders of children, except the current child and its folder.

        Waits for processes that are being killed.
        """
        # The child's files are in a folder of it, in those of its user and of this process.
        kept = Path(folder or self.sandboxes / "none" / "none").parent

        def found() -> list[str]:
            processes = [f"process {n}" for n in self._processes() if n != pid]
            return processes + [f"folder {path}" for path in _beside(kept, self.sandboxes)]

        return [] if eventually(lambda: not found(), GONE_SECONDS) else found()

    def _processes(self) -> list[int]:
        """Find processes that are a child, or belong to the session or folder of one."""
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            with contextlib.suppress(OSError, IndexError):
                fields = _lines(f"/proc/{name}/stat")[0].rpartition(")")[2].split()
                folder = os.readlink(f"/proc/{name}/cwd") if fields[0] != "Z" else ""
                inside = folder.startswith(str(self.sandboxes))
                if inside or self.children & {int(name), int(fields[3])}:
                    found.append(int(name))
        return found

    def close(self) -> None:
        """Release all resources."""
        os.environ.pop("HOSTILE_SECRET", None)
        for one in (self.listener, self.local, self.abstract, self.datagrams):
            one.close()
        os.close(self.inherited)
        self.victim.kill()
        self.victim.wait(60)
        for path in [self.root, *self._marked()]:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()


def _beside(kept: Path, folder: Path) -> Iterator[Path]:
    """Yield what is in a folder and is neither on the way to another path nor in it."""
    for path in folder.iterdir():
        if path != kept and kept.is_relative_to(path):
            yield from _beside(kept, path)
        elif path != kept:
            yield path


def open_things() -> dict[str, int]:
    """Count resources that every child could leak."""
    return {
        "threads": threading.active_count(),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "children": len(_lines(f"/proc/self/task/{os.getpid()}/children")[0].split()),
    }


def _identity(number: int) -> list[int]:
    # The numbers of a pipe and of a file of a disk may be equal.
    file = os.fstat(number)
    return [file.st_dev, file.st_ino]


def _accepts(one: socket.socket) -> bool:
    try:
        connection, _ = one.accept()
    except BlockingIOError:
        return False
    connection.close()
    return True


def _lines(path: str) -> list[str]:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().splitlines() or [""]
