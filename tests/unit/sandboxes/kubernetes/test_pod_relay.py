"""The relay of a pod, in a process of this machine, with the connections of a cluster."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import subprocess
import threading

import pytest
from background import eventually

from smolagents_fork.sandboxes.kubernetes.streams.pod_relay import relay_command
from smolagents_fork.sandboxes.kubernetes.streams.resumable import Endpoint

KEEP = 300.0


class Exec:
    """An exec of the relay, as the host has it: an endpoint over its input and output."""

    def __init__(self, end: Endpoint, name: str, port: int, seconds: float, keep: float) -> None:
        self.end = end
        self.process = subprocess.Popen(
            relay_command(name, port, seconds, keep),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        os.set_blocking(self.process.stdout.fileno(), False)
        end.connected()

    def step(self) -> None:
        data = self.end.outgoing()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(bytes(data))
            self.process.stdin.flush()
        data.clear()
        self.end.feed(self.process.stdout.read(65536) or b"")

    def until(self, condition) -> None:
        def stepped() -> bool:
            self.step()
            return condition()

        assert eventually(stepped)

    def cut(self) -> None:
        """End it as a lost connection does."""
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def gateway():
    """A server that sends back what it gets, and the number of its connections that are open."""
    served = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    served.append(connection)
                    threading.Thread(target=echo, args=(connection,), daemon=True).start()

        def echo(connection: socket.socket) -> None:
            with contextlib.suppress(OSError), connection:
                while data := connection.recv(65536):
                    connection.sendall(data)
            served.remove(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1], served
        server.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def start(gateway):
    port, _ = gateway
    started: list[Exec] = []
    name = secrets.token_hex(8)
    end = Endpoint()

    def build(seconds: float, keep: float = KEEP, end: Endpoint = end) -> Exec:
        started.append(Exec(end, name, port, seconds, keep))
        return started[-1]

    yield build
    end.abandon()
    for one in started:
        one.cut()


def test_stream_goes_on_over_another_exec(start, gateway):
    end = (first := start(60)).end
    end.push(b"before")
    first.until(lambda: bytes(end.arrived) == b"before")
    first.cut()
    end.push(b" and after")
    second = start(0)
    second.until(lambda: bytes(end.arrived) == b"before and after")
    assert len(gateway[1]) == 1
    end.finish()
    second.until(lambda: not gateway[1])


def test_ended_stream_leaves_no_process_and_cannot_be_continued(start, gateway):
    first = start(60)
    first.until(lambda: first.end.connected_once)
    first.end.finish()
    first.until(lambda: not gateway[1])
    second = start(0, end=Endpoint())
    assert second.process.wait(60) == 1
    assert second.process.stderr.read() == b"relay: the stream has ended\n"


def test_abandoned_stream_ends_by_itself(start, gateway):
    first = start(60, keep=1.0)
    first.until(lambda: first.end.connected_once)
    first.cut()
    assert eventually(lambda: not gateway[1])


def test_gateway_that_does_not_listen_is_named():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    one = Exec(Endpoint(), secrets.token_hex(8), port, 0.2, KEEP)
    assert one.process.wait(60) == 1
    said = one.process.stderr.read().decode()
    assert said == f"relay: the kernel gateway does not listen on port {port}\n"
    one.cut()
