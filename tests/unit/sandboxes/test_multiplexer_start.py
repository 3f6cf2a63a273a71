"""Connections that are carried again after each loss of their stream."""

from __future__ import annotations

import logging
import socket

import pytest

from smolagents_fork.errors import ExecutorStartError
from smolagents_fork.sandboxes.multiplexer_start import CarriedConnections


class ProxyDouble:
    def __init__(self):
        self.streams = []

    def serve(self, listener):
        raise AssertionError("nothing has sent a listener")

    def serve_stream(self, stream):
        self.streams.append(stream)


@pytest.fixture
def kernel():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours


def failing(_seconds):
    raise ConnectionError("it has ended")


def test_first_multiplexer_that_does_not_start_closes_the_kernels_stream(kernel):
    proxy = ProxyDouble()
    told = "the multiplexer of connections in sandbox x did not start: it has ended"
    with pytest.raises(ExecutorStartError, match=told):
        CarriedConnections(proxy, failing, "sandbox x").serve_beside(kernel, 5)
    assert kernel.fileno() == -1
    assert proxy.streams == []


def test_later_multiplexer_that_does_not_start_is_logged(kernel, caplog):
    proxy, results = ProxyDouble(), [kernel, None]

    def open_multiplexer(seconds):
        return results.pop(0) or failing(seconds)

    carried = CarriedConnections(proxy, open_multiplexer, "sandbox x")
    with caplog.at_level(logging.WARNING, "smolagents_fork"):
        carried.serve_beside(kernel, 5)
        assert caplog.text == ""
        carried.serve_beside(kernel, 5)
    assert "allowed_hosts= are not reached from it any more" in caplog.text
    assert kernel.fileno() != -1
    assert proxy.streams == [kernel]
