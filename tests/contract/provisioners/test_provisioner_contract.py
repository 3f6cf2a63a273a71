"""Promises of the provisioner protocol, on real kernels."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from background import at_once, eventually, running

from smolagents_fork.errors import ExecutorError, ProtocolError
from smolagents_fork.jupyter.gateway_api import create_kernel
from smolagents_fork.jupyter.websocket import TimedSocket
from smolagents_fork.sandboxes.provisioner import FileTooLarge, Sandbox

#: For a start on a machine that does other work; quiet, it takes less than a second.
START_SECONDS = 180


def kernel_of(sandbox: Sandbox, token: str = "token") -> str:
    sock = TimedSocket(sandbox.open_stream(timeout=START_SECONDS))
    try:
        return create_kernel(sock, token=token, timeout=START_SECONDS)
    finally:
        sock.close()


def path_in(sandbox: Sandbox, name: str) -> str:
    return f"{sandbox.spec.workdir}/{name}"


def test_stream_reaches_a_gateway_that_gives_kernels(place):
    sandbox = place.start()
    assert kernel_of(sandbox) != kernel_of(sandbox)


def test_gateway_asks_for_the_token_of_the_spec(place):
    sandbox = place.start(gateway_token="this one")
    with pytest.raises(ProtocolError, match="answered 40"):
        kernel_of(sandbox, token="another")
    kernel_of(sandbox, token="this one")


def test_streams_are_independent(place):
    sandbox = place.start()
    one, other = (sandbox.open_stream(timeout=START_SECONDS) for _ in range(2))
    one.close()
    sock = TimedSocket(other)
    assert create_kernel(sock, token="token", timeout=START_SECONDS)
    sock.close()


def test_files_go_in_and_come_out(place):
    sandbox = place.start()
    for name, data in (
        ("empty", b""),
        ("small", b"one\ntwo"),
        ("a/new folder/ä", bytes(range(256))),
        ("large", bytes(range(256)) * 12_000),
    ):
        sandbox.write_file(path_in(sandbox, name), data)
        assert sandbox.read_file(path_in(sandbox, name), 10_000_000) == data
        assert sandbox.read_file(path_in(sandbox, name), max(1, len(data))) == data
    sandbox.write_file(path_in(sandbox, "large"), b"shorter")
    assert sandbox.read_file(path_in(sandbox, "large"), 7) == b"shorter"


def test_file_errors_say_why(place):
    sandbox = place.start()
    sandbox.write_file(path_in(sandbox, "folder/file"), b"0123456789")
    with pytest.raises(FileTooLarge, match="more than 9 bytes"):
        sandbox.read_file(path_in(sandbox, "folder/file"), 9)
    with pytest.raises(ExecutorError, match="No such file"):
        sandbox.read_file(path_in(sandbox, "missing"), 9)
    with pytest.raises(ExecutorError, match="folder"):
        sandbox.write_file(path_in(sandbox, "folder"), b"")
    assert sandbox.read_file(path_in(sandbox, "folder/file"), 10) == b"0123456789"


def test_status_of_what_runs(place):
    sandbox = place.start()
    kernel_of(sandbox)
    status = sandbox.status()
    assert (status.running, status.exit_code, status.out_of_memory) == (True, None, False)
    assert sandbox.engine_responds()


def test_stats_are_of_gateway_and_kernel(place):
    sandbox = place.start()
    kernel_of(sandbox)
    stats = sandbox.stats()
    assert stats.memory_bytes > 20 << 20
    assert stats.memory_limit_bytes == 1500 << 20
    assert stats.cpu_seconds > 0
    assert stats.pids is not None
    assert stats.pids > 2


def test_ours_are_those_that_are_there(place):
    before = set(place.provisioner.ours())
    one, other = place.start(), place.start()
    assert set(place.provisioner.ours()) - before == {one.id, other.id}
    one.remove()
    assert place.provisioner.wait_until_removed(120)
    assert set(place.provisioner.ours()) - before == {other.id}


def test_removed_sandbox_is_gone_and_says_so(place):
    sandbox = place.start()
    kernel_of(sandbox)
    sandbox.write_file(path_in(sandbox, "file"), b"1")
    at_once(*[sandbox.remove] * 3)
    assert place.provisioner.wait_until_removed(120)
    sandbox.remove()
    assert not sandbox.status().running
    for use in (
        lambda: sandbox.open_stream(timeout=1),
        sandbox.stats,
        lambda: sandbox.read_file(path_in(sandbox, "file"), 9),
        lambda: sandbox.write_file(path_in(sandbox, "file"), b"2"),
    ):
        with pytest.raises((ExecutorError, OSError)):
            use()


def test_stream_ends_when_the_sandbox_is_removed(place):
    sandbox = place.start()
    sock = TimedSocket(sandbox.open_stream(timeout=START_SECONDS))
    assert create_kernel(sock, token="token", timeout=START_SECONDS)
    ended = threading.Event()

    def read() -> None:
        sock.settimeout(120)
        try:
            while sock.recv(1000):
                pass
        except OSError:
            pass
        ended.set()

    with running(read, stop=sock.close):
        sandbox.remove()
        assert eventually(ended.is_set)
    sock.close()


def test_what_cannot_be_started_is_an_error_and_leaves_nothing(place):
    before = place.provisioner.ours()
    with pytest.raises(ExecutorError, match="no-such-image"):
        place.start(image="no-such-image")
    assert place.provisioner.wait_until_removed(120)
    assert place.provisioner.ours() == before


def test_closing_leaves_sandboxes_and_may_be_repeated(place):
    other: Any = place.make()
    sandbox = other.start(place.spec)
    try:
        kernel_of(sandbox)
        other.close()
        other.close()
        assert place.provisioner.ours() or sandbox.status().running
    finally:
        sandbox.remove()
        assert other.wait_until_removed(120)
