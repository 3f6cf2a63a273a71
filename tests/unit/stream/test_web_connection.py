"""Connections to servers of the web."""

from __future__ import annotations

import gc
import http.client
import socket
import threading
import warnings

import pytest

from smolagents_fork.deadline import Deadline
from smolagents_fork.stream.web_connection import connect


def test_connection_to_a_proxy_that_hangs_up_is_closed():
    def hang_up():
        connection, _ = listener.accept()
        with connection:
            connection.recv(65_536)

    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        proxy = threading.Thread(target=hang_up)
        proxy.start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(http.client.RemoteDisconnected):
            connect("http://host.invalid", proxy=address, context=None, deadline=Deadline(30))
        proxy.join()
        gc.collect()
    assert [str(one.message) for one in caught if "unclosed" in str(one.message)] == []
