"""The end of the proxy's thread."""

from __future__ import annotations

import socket
import threading

from smolagents_fork.network import host_proxy
from smolagents_fork.network.access_record import AccessRecord
from smolagents_fork.network.hosts.host_policy import AllowedHost, HostPolicy
from smolagents_fork.network.proxied_connection import ProxyLimits


def test_listener_is_closed_where_the_application_ends_right_after_its_executor(monkeypatch):
    thread = host_proxy._ProxyThread()
    monkeypatch.setattr(host_proxy, "_thread", thread)
    limits = ProxyLimits()
    record = AccessRecord(limits.call_bytes, "ProcessExecutor", None)
    policy = HostPolicy([AllowedHost("example.org")], "ProcessExecutor")
    proxy = host_proxy.SandboxProxy(policy, limits, record)
    listener = socket.create_server(("127.0.0.1", 0))
    proxy.serve(listener)
    blocked, ended = threading.Event(), threading.Event()

    def block():
        blocked.set()
        ended.wait()

    thread.call(lambda: thread.call(block))  # when the listener is served
    assert blocked.wait(30)
    # Both requests come in one turn of the loop.
    proxy.close()
    threading.Timer(0.2, ended.set).start()
    thread.stop()
    assert listener.fileno() == -1
