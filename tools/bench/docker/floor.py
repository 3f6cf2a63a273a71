"""The floors of the Docker executor: what its parts take alone, in the same image."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ..floor_program import FloorError, FloorProgram
from ..timings import time_repeatedly
from .sides import memory

__all__ = ["answering_run", "driver", "echo", "kernel_memory", "socket_copies", "start_kernel"]

_DRIVER = Path(__file__).with_name("kernel_driver.py")
_CONNECTION = "/tmp/bench-kernel.json"
_KERNEL = [
    "python", "-m", "ipykernel_launcher", "-f", _CONNECTION, "--IPKernelApp.transport=ipc",
    "--IPKernelApp.ip=/tmp/bench-kernel", "--HistoryManager.enabled=False",
]  # fmt: skip
_ECHO = """
import socket, sys
pair, data = socket.socket(fileno=0), bytearray(int(sys.argv[1]))
while True:
    view = memoryview(data)
    while view:
        count = pair.recv_into(view)
        if not count: sys.exit()
        view = view[count:]
    pair.sendall(data)
"""
_SECONDS = 60.0


def answering_run(client: Any, image: str) -> float:
    """Return the seconds until a bare container's Python has imported ipykernel and answers.

    Args:
        client: docker-py's.
        image: of the container.
    """
    program = "import ipykernel.kernelapp; print(1 + 1)"
    began = time.perf_counter()
    container = client.containers.create(image, ["python", "-c", program], network_mode="none")
    try:
        output = container.attach(stdout=True, stream=True)
        container.start()
        answer = next(output)
        seconds = time.perf_counter() - began
    finally:
        container.remove(force=True)
    if answer.strip() != b"2":
        raise FloorError(f"a bare container of {image} answered {answer!r}")
    return seconds


def start_kernel(client: Any, container: str) -> None:
    """Start a second kernel in a container; it ends with the container."""
    exec_id = client.api.exec_create(container, _KERNEL, stdout=False, stderr=False)["Id"]
    client.api.exec_start(exec_id, detach=True)


def driver(container: str) -> FloorProgram:
    """Return a client in the container that drives its bare kernel over ZeroMQ."""
    program = ["python", "-c", _DRIVER.read_text("utf-8"), _CONNECTION]
    return FloorProgram(["docker", "exec", "-i", container, *program])


def echo(container: str) -> FloorProgram:
    """Return a program in the container that answers at once."""
    return FloorProgram(["docker", "exec", "-i", container, "sh", "-c", "echo ready; exec cat"])


def kernel_memory(client: Any, image: str) -> int:
    """Return the bytes of a container in which only a kernel runs, after its first call.

    Args:
        client: docker-py's.
        image: of the container.
    """
    container = client.containers.run(
        image, _KERNEL, network_mode="none", detach=True, tmpfs={"/tmp": "mode=1777"},
        environment={"HOME": "/tmp", "IPYTHONDIR": "/tmp/ipython"},
    )  # fmt: skip
    try:
        with driver(container.id) as client_inside:
            client_inside.ask("call")
        return memory(client, container.id)
    finally:
        container.remove(force=True)


def socket_copies(size: int, count: int) -> list[float]:
    """Return the seconds for bytes into another process and back, through a pair of sockets.

    Args:
        size: in bytes.
        count: of runs.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen([sys.executable, "-c", _ECHO, str(size)], stdin=theirs.fileno())
    data, back = os.urandom(size), bytearray(size)

    def both_ways() -> None:
        ours.sendall(data)
        view = memoryview(back)
        while view:
            view = view[ours.recv_into(view) :]

    ours.settimeout(_SECONDS)
    with process, ours:
        both_ways()  # the first one waits for the start
        return time_repeatedly(both_ways, count)
