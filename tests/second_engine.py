"""An engine beside the one that all tests share, which a test may kill."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from background import eventually

from smolagents_fork.errors import EngineUnavailableError
from smolagents_fork.sandboxes.docker.engine import connect, disconnect
from smolagents_fork.sandboxes.docker.engine_address import EngineAddress

__all__ = ["LONG_SECONDS", "SecondEngine", "second_engine"]

#: Only detects hangs.
LONG_SECONDS = 120


@dataclass
class SecondEngine:
    """An engine of its own, beside the one that all tests share.

    Attributes:
        address: of its socket.
        process: the engine's.
        folder: of its files.
    """

    address: str
    process: subprocess.Popen[bytes]
    folder: Path


def started_engine(folder: Path) -> SecondEngine:
    """Start an engine in a network namespace of its own.

    An engine without a bridge removes docker0 where it runs, which is another engine's.
    """
    address = f"unix://{folder}/sock"
    command = [
        "unshare",
        "--net",
        "dockerd",
        "--data-root",
        f"{folder}/data",
        "--exec-root",
        f"{folder}/exec",
    ]
    command += ["--pidfile", f"{folder}/pid", "--host", address, "--bridge", "none"]
    command += ["--iptables=false", "--ip6tables=false", "--ip-forward=false"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    return SecondEngine(address, process, folder)


def answers(address: str) -> bool:
    try:
        disconnect(connect(EngineAddress(address)))
    except EngineUnavailableError:
        return False
    return True


def processes_of(folder: Path) -> list[int]:
    """List the processes that have the folder's name in their command."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.fsencode(folder) in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


@contextlib.contextmanager
def second_engine(image: str) -> Iterator[SecondEngine]:
    """Have an engine with one image; nothing of it is left. A skip says why there can be none.

    Args:
        image: of the shared engine.
    """
    if os.geteuid() or not all(map(shutil.which, ("unshare", "dockerd", "docker"))):
        pytest.skip("a second engine needs root, unshare, dockerd and docker")
    networks = os.listdir("/sys/class/net")
    folder = Path(tempfile.mkdtemp(prefix="engine-"))
    engine = started_engine(folder)
    try:
        up = eventually(lambda: engine.process.poll() is not None or answers(engine.address), 60)
        if not up or engine.process.poll() is not None:
            pytest.skip(f"no second engine here: {(folder / 'log').read_text()[-300:]}")
        copy = f"docker save {image} | docker --host {engine.address} load"
        subprocess.run(["sh", "-c", copy], check=True, capture_output=True, timeout=LONG_SECONDS)
        assert {"docker0"} & {*networks} <= {*os.listdir("/sys/class/net")}
        yield engine
    finally:
        engine.process.kill()
        engine.process.wait(LONG_SECONDS)
        for pid in processes_of(folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert eventually(lambda: not processes_of(folder), LONG_SECONDS)
        for line in reversed(Path("/proc/mounts").read_text().splitlines()):
            place = line.split()[1]
            if place.startswith(f"{folder}/"):
                subprocess.run(["umount", "-l", place], check=False, timeout=60)
        shutil.rmtree(folder, ignore_errors=True)
