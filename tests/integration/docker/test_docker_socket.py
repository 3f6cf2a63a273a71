"""The gateway connects to a socket of this machine where it can, and nothing else can use that."""

from __future__ import annotations

import glob
import os

import pytest

from smolagents_fork.folders.user_folder import temporary_folder
from smolagents_fork.sandboxes.docker import create_arguments
from smolagents_fork.sandboxes.docker.streams.gateway_socket import SOCKET_PATH, GatewaySocket


@pytest.fixture
def opened(monkeypatch) -> list[GatewaySocket]:
    """The sockets that are opened during the test."""
    made, real = [], GatewaySocket.open

    def remembered() -> GatewaySocket | None:
        made.append(real())
        return made[-1]

    monkeypatch.setattr(GatewaySocket, "open", remembered)
    return made


def ignored(_socket, _path) -> None:
    """Take a path that is not used."""


def processes(executor) -> str:
    return str(executor.container.top(ps_args="-eo pid,args")["Processes"])


def own_folders() -> list[str]:
    return glob.glob(os.path.join(os.path.dirname(temporary_folder("x")), "s*"))


def test_no_process_stands_between_host_and_gateway(make, opened):
    executor = make()
    assert executor("1+1").output == 2
    assert len(opened) == 1
    assert "relay: " not in processes(executor)
    assert own_folders() == []


def test_code_finds_a_file_that_nobody_listens_on(make):
    executor = make()
    code = f"""
import os, socket
found = []
for attempt in (
    lambda: socket.socket(socket.AF_UNIX).connect({SOCKET_PATH!r}),
    lambda: os.chmod({SOCKET_PATH!r}, 0o777),
    lambda: os.remove({SOCKET_PATH!r}),
    lambda: open({SOCKET_PATH!r} + "-other", "w"),
):
    try:
        attempt()
    except OSError as error:
        found.append(type(error).__name__)
[*found, "KG_CLIENT_SOCKET" in os.environ]
"""
    refused, *others, known = executor(code).output
    assert refused == "ConnectionRefusedError"
    assert len(others) == 3
    assert known is False


def test_mount_is_beside_those_of_the_user(make, tmp_path):
    (tmp_path / "given").write_text("content")
    tmp_path.chmod(0o755)
    executor = make(volumes={str(tmp_path): {"bind": "/data", "mode": "ro"}})
    assert executor("open('/data/given').read()").output == "content"
    assert "relay: " not in processes(executor)


@pytest.mark.parametrize("reason", ["no mount", "no connection"])
def test_engine_that_does_not_allow_it_has_a_relay(make, opened, monkeypatch, reason):
    if reason == "no mount":
        path = property(lambda _socket: "/absent/s", ignored)
        monkeypatch.setattr(GatewaySocket, "path", path, raising=False)
    else:
        given = create_arguments._socket_arguments

        def elsewhere(*arguments, **keywords) -> dict:
            made = given(*arguments, **keywords)
            return {**made, "environment": {**made["environment"], "KG_CLIENT_SOCKET": "/absent"}}

        monkeypatch.setattr(create_arguments, "_socket_arguments", elsewhere)
    executor = make()
    assert executor("1+1").output == 2
    assert "relay: " in processes(executor)
    assert len(opened) == 1
    assert own_folders() == []


def test_other_transports_open_no_socket(make, opened):
    assert make(transport="exec")("1+1").output == 2
    assert opened == []
