"""kill -9 of the engine: its containers end with their lease, though nobody closes their input."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from background import eventually

from smolagents_fork.errors import EngineUnavailableError
from smolagents_fork.sandboxes.docker.engine import connect, disconnect
from smolagents_fork.sandboxes.docker.engine_address import EngineAddress
from smolagents_fork.sandboxes.docker.images.image_plans import BASE_IMAGE_VARIABLE

LEASE_SECONDS = 4
LONG_SECONDS = 120

HOST = """
import time
from smolagents_fork import DockerEngine
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.provisioner import SandboxSpec
options = ContainerOptions(container_run_kwargs={{"command": ["sleep", "600"]}})
provisioner = DockerEngine({address!r}).connect(options)
sandbox = provisioner.start(SandboxSpec({image!r}, lease_seconds={lease}))
print("ready", flush=True)
time.sleep(600)
"""


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


def ended(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"


def processes_of(folder: Path) -> list[int]:
    """List the processes that have the folder's name in their command."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.fsencode(folder) in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


@pytest.fixture
def second_engine(base_image: str) -> Iterator[SecondEngine]:
    """An engine with the base image; nothing of it is left."""
    if os.geteuid() or not all(map(shutil.which, ("unshare", "dockerd", "docker"))):
        pytest.skip("a second engine needs root, unshare, dockerd and docker")
    if not base_image:
        pytest.skip(f"a second engine without a network needs {BASE_IMAGE_VARIABLE}")
    networks = os.listdir("/sys/class/net")
    folder = Path(tempfile.mkdtemp(prefix="engine-"))
    engine = started_engine(folder)
    try:
        up = eventually(lambda: engine.process.poll() is not None or answers(engine.address), 60)
        if not up or engine.process.poll() is not None:
            pytest.skip(f"no second engine here: {(folder / 'log').read_text()[-300:]}")
        copy = f"docker save {base_image} | docker --host {engine.address} load"
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


@pytest.mark.slow
@pytest.mark.limit(300)
def test_killed_engine_leaves_no_container_after_the_lease(second_engine, base_image):
    program = HOST.format(address=second_engine.address, image=base_image, lease=LEASE_SECONDS)
    host = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    client = connect(EngineAddress(second_engine.address))
    try:
        assert host.stdout.readline() == "ready\n"
        (container,) = client.containers.list()
        first = client.api.inspect_container(container.id)["State"]["Pid"]
        assert not ended(first)
        second_engine.process.kill()
        second_engine.process.wait(LONG_SECONDS)
        # Its main process is not the engine's child, and its input stays open.
        assert eventually(lambda: ended(first), LEASE_SECONDS + LONG_SECONDS)
        assert host.poll() is None
    finally:
        disconnect(client)
        host.kill()
        host.wait(LONG_SECONDS)
        host.stdout.close()
