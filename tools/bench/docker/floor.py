"""The floors of the Docker executor: what its parts take alone, in the same image."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from smolagents_fork.deadline import Deadline
from smolagents_fork.sandboxes.docker.streams.exec_stream import ExecStream, exec_stream
from smolagents_fork.sandboxes.docker.streams.hijacking import hijack

from ..companion import Companion, FloorError
from ..timings import repeated
from .sides import memory

__all__ = ["answering_run", "crossings", "driven_kernel", "kernel_memory", "socket_copies"]

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
    """Seconds until a bare container's Python has imported ipykernel and answers on its pipe.

    Args:
        client: docker-py's.
        image: of the container.
    """
    program = "import ipykernel.kernelapp; print(1 + 1)"
    began = time.perf_counter()
    container = client.containers.create(image, ["python", "-c", program], network_mode="none")
    try:
        path, query = f"/containers/{container.id}/attach", {"stdout": 1, "stderr": 1, "stream": 1}
        stream = ExecStream(hijack(client.api, path, query=query, seconds=_SECONDS))
        container.start()
        stream.settimeout(_SECONDS)
        answer = stream.recv(16)
        seconds = time.perf_counter() - began
        stream.close()
    finally:
        container.remove(force=True)
    if answer.strip() != b"2":
        raise FloorError(f"a bare container of {image} answered {answer!r}: {stream.stderr!r}")
    return seconds


@contextlib.contextmanager
def driven_kernel(client: Any, container: str) -> Iterator[Companion]:
    """Return a second kernel in a container, driven over ZeroMQ without a gateway.

    Args:
        client: docker-py's.
        container: its id; the kernel ends with it.
    """
    exec_id = client.api.exec_create(container, _KERNEL, stdout=False, stderr=False)["Id"]
    client.api.exec_start(exec_id, detach=True)
    with _companion(client, container, _driver()) as driver:
        yield driver


@contextlib.contextmanager
def crossings(client: Any, container: str) -> Iterator[Companion]:
    """Return a program that answers at once, on the pipes of an attached exec.

    Args:
        client: docker-py's.
        container: its id.
    """
    with _companion(client, container, ["sh", "-c", "echo ready; exec cat"]) as echo:
        yield echo


def kernel_memory(client: Any, image: str) -> int:
    """Bytes of a container in which only a kernel runs, after its first call.

    Args:
        client: docker-py's.
        image: of the container.
    """
    container = client.containers.run(
        image, _KERNEL, network_mode="none", detach=True, tmpfs={"/tmp": "mode=1777"},
        environment={"HOME": "/tmp", "IPYTHONDIR": "/tmp/ipython"},
    )  # fmt: skip
    try:
        exec_id, stream = _exec(client, container.id, _driver())
        with Companion("the kernel's driver", stream) as driver:
            driver.ask("call")
        deadline = Deadline(_SECONDS)
        while client.api.exec_inspect(exec_id)["Running"]:
            if deadline.expired():
                raise FloorError("the kernel's driver did not end")
            time.sleep(0.05)
        return memory(client, container.id)
    finally:
        container.remove(force=True)


def socket_copies(size: int, count: int) -> list[float]:
    """Seconds for bytes into another process and back, through a pair of sockets.

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
        return repeated(both_ways, count)


def _driver() -> list[str]:
    return ["python", "-c", _DRIVER.read_text("utf-8"), _CONNECTION]


def _companion(client: Any, container: str, argv: list[str]) -> Companion:
    _, stream = _exec(client, container, argv)
    return Companion(argv[0], stream)


def _exec(client: Any, container: str, argv: list[str]) -> tuple[str, ExecStream]:
    exec_id = client.api.exec_create(container, argv, stdin=True)["Id"]
    return exec_id, exec_stream(client.api, exec_id)
