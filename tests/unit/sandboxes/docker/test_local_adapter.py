"""Connections to a local engine's socket."""

from __future__ import annotations

import gc
import socket
import threading
import warnings

import pytest

from smolagents_fork.errors import EngineUnavailableError
from smolagents_fork.sandboxes.docker.engine import check_answers, connect, disconnect
from smolagents_fork.sandboxes.docker.engine_address import EngineAddress


def answer_ping(listener):
    connection, _ = listener.accept()
    with connection:
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nOK")


def test_connection_that_is_refused_is_closed(tmp_path):
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        engine = threading.Thread(target=answer_ping, args=(listener,))
        engine.start()
        client = connect(EngineAddress(f"unix://{path}"))
        engine.join()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(EngineUnavailableError, match="Connection refused"):
            check_answers(client)
        gc.collect()
    disconnect(client)
    assert [str(one.message) for one in caught if "unclosed" in str(one.message)] == []
