"""Sockets to named pipes and SSH channels: which one is opened, and its end."""

from __future__ import annotations

import socket
import sys
import threading
from types import SimpleNamespace

import pytest
from background import eventually

from smolagents_fork.deadline import Deadline
from smolagents_fork.sandboxes.docker.streams import hijacking


class PipeError(Exception):
    """As pywintypes.error: no OSError, with number, function and words."""


class Pipe:
    """The near end of a connection without a descriptor, which ends in an error."""

    def __init__(self) -> None:
        self.near, self.far = socket.socketpair()
        self.opened = ""
        self.sendall = self.near.sendall
        self.settimeout = self.near.settimeout
        self.connect = self.exec_command = lambda opened: setattr(self, "opened", opened)

    def recv(self, size: int) -> bytes:
        data = self.near.recv(size)
        if not data:
            raise PipeError(109, "ReadFile", "The pipe has been ended.")
        return data

    def close(self) -> None:
        self.near.shutdown(socket.SHUT_RDWR)
        self.near.close()


@pytest.fixture
def pipe():
    made = Pipe()
    yield made
    made.near.close()
    made.far.close()


def no_threads() -> bool:
    names = ("smolagents-fork-receive", "smolagents-fork-send")
    return not [one for one in threading.enumerate() if one.name in names]


@pytest.mark.parametrize(
    ("address", "opened"),
    [
        ("http+docker://ssh", "docker system dial-stdio"),
        ("http+docker://localnpipe", r"\\.\pipe\docker_engine"),
    ],
)
def test_engine_is_reached_as_docker_py_reaches_it(pipe, monkeypatch, address, opened):
    transport = SimpleNamespace(open_session=lambda timeout: pipe)
    adapter = SimpleNamespace(
        ssh_client=SimpleNamespace(get_transport=lambda: transport),
        npipe_path=r"\\.\pipe\docker_engine",
    )
    module = SimpleNamespace(NpipeSocket=lambda: pipe)
    monkeypatch.setitem(sys.modules, "docker.transport.npipesocket", module)
    api = SimpleNamespace(base_url=address, get_adapter=lambda _url: adapter)
    with hijacking._connect(api, Deadline(60.0)) as sock:
        assert pipe.opened == opened
        sock.settimeout(60)
        sock.sendall(b"request")
        assert pipe.far.recv(100) == b"request"
        pipe.far.sendall(b"last")
        pipe.far.close()
        assert sock.recv(100) == b"last"
        assert sock.recv(100) == b""
    assert eventually(no_threads)
